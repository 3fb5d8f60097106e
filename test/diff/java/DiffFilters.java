import java.math.BigDecimal;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.filter.*;
import org.apache.hadoop.hbase.util.Pair;
import org.apache.hbase.thirdparty.com.google.gson.JsonArray;
import org.apache.hbase.thirdparty.com.google.gson.JsonElement;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;

/** HBase's filters from the JSON of src/model/filter_spec.ts; bytes are strings, one character (U+0000 … U+00FF) a byte. */
final class DiffFilters {
  private DiffFilters() {
  }

  /** The filter of a command: as JSON in `filter`, or in HBase's language in `filterText`; null for none. */
  static Filter of(JsonObject command) throws Exception {
    if (command.has("filterText")) {
      return new ParseFilter().parseFilterString(bytes(command.get("filterText")));
    }
    return command.has("filter") ? make(command.getAsJsonObject("filter")) : null;
  }

  private static byte[] bytes(JsonElement e) {
    return e == null || e.isJsonNull() ? null : e.getAsString().getBytes(StandardCharsets.ISO_8859_1);
  }

  private static boolean flag(JsonObject f, String name, boolean absent) {
    return f.has(name) ? f.get(name).getAsBoolean() : absent;
  }

  private static byte[][] all(JsonObject f, String name) {
    JsonArray list = f.getAsJsonArray(name);
    byte[][] all = new byte[list.size()][];
    for (int i = 0; i < all.length; i++) {
      all[i] = bytes(list.get(i));
    }
    return all;
  }

  private static CompareOperator operator(JsonObject f) {
    return CompareOperator.valueOf(f.get("operator").getAsString());
  }

  private static Filter make(JsonObject f) throws Exception {
    byte[] family = bytes(f.get("family"));
    byte[] qualifier = bytes(f.get("qualifier"));
    switch (f.get("type").getAsString()) {
      case "KeyOnlyFilter":
        return new KeyOnlyFilter(flag(f, "lenAsVal", false));
      case "FirstKeyOnlyFilter":
        return new FirstKeyOnlyFilter();
      case "FirstKeyValueMatchingQualifiersFilter":
        return firstMatching(f);
      case "PrefixFilter":
        return new PrefixFilter(bytes(f.get("prefix")));
      case "PageFilter":
        return new PageFilter(f.get("pageSize").getAsLong());
      case "InclusiveStopFilter":
        return new InclusiveStopFilter(bytes(f.get("stopRow")));
      case "RowFilter":
        return new RowFilter(operator(f), comparator(f));
      case "FamilyFilter":
        return new FamilyFilter(operator(f), comparator(f));
      case "QualifierFilter":
        return new QualifierFilter(operator(f), comparator(f));
      case "ValueFilter":
        return new ValueFilter(operator(f), comparator(f));
      case "DependentColumnFilter":
        return dependent(f, family, qualifier);
      case "SingleColumnValueFilter":
      case "SingleColumnValueExcludeFilter":
        return singleColumn(f, family, qualifier);
      case "ColumnValueFilter":
        return new ColumnValueFilter(family, qualifier, operator(f), comparator(f));
      case "ColumnPrefixFilter":
        return new ColumnPrefixFilter(bytes(f.get("prefix")));
      case "MultipleColumnPrefixFilter":
        return new MultipleColumnPrefixFilter(all(f, "prefixes"));
      case "ColumnRangeFilter":
        return new ColumnRangeFilter(bytes(f.get("min")), flag(f, "minInclusive", true), bytes(f.get("max")),
          flag(f, "maxInclusive", false));
      case "ColumnPaginationFilter":
        int limit = f.get("limit").getAsInt();
        return f.has("columnOffset") ? new ColumnPaginationFilter(limit, bytes(f.get("columnOffset")))
          : new ColumnPaginationFilter(limit, f.get("offset").getAsInt());
      case "ColumnCountGetFilter":
        return new ColumnCountGetFilter(f.get("limit").getAsInt());
      case "TimestampsFilter":
        List<Long> times = new ArrayList<>();
        f.getAsJsonArray("timestamps").forEach(e -> times.add(e.getAsLong()));
        return new TimestampsFilter(times, flag(f, "canHint", false));
      case "RandomRowFilter":
        return new RandomRowFilter(f.get("chance").getAsFloat());
      case "FuzzyRowFilter":
        return fuzzy(f);
      case "MultiRowRangeFilter":
        return ranges(f);
      case "SkipFilter":
        return new SkipFilter(make(f.getAsJsonObject("filter")));
      case "WhileMatchFilter":
        return new WhileMatchFilter(make(f.getAsJsonObject("filter")));
      case "FilterList":
        FilterList list = new FilterList(FilterList.Operator.valueOf(f.get("operator").getAsString()));
        for (JsonElement e : f.getAsJsonArray("filters")) {
          list.addFilter(make(e.getAsJsonObject()));
        }
        return list;
      default:
        throw new IllegalArgumentException("unknown filter " + f);
    }
  }

  @SuppressWarnings("deprecation")
  private static Filter firstMatching(JsonObject f) {
    Set<byte[]> qualifiers = new java.util.TreeSet<>(org.apache.hadoop.hbase.util.Bytes.BYTES_COMPARATOR);
    for (byte[] one : all(f, "qualifiers")) {
      qualifiers.add(one);
    }
    return new FirstKeyValueMatchingQualifiersFilter(qualifiers);
  }

  private static Filter dependent(JsonObject f, byte[] family, byte[] qualifier) throws Exception {
    boolean drops = flag(f, "dropDependentColumn", false);
    return f.has("comparator") ? new DependentColumnFilter(family, qualifier, drops, operator(f), comparator(f))
      : new DependentColumnFilter(family, qualifier, drops);
  }

  private static Filter singleColumn(JsonObject f, byte[] family, byte[] qualifier) throws Exception {
    SingleColumnValueFilter made = f.get("type").getAsString().equals("SingleColumnValueFilter")
      ? new SingleColumnValueFilter(family, qualifier, operator(f), comparator(f))
      : new SingleColumnValueExcludeFilter(family, qualifier, operator(f), comparator(f));
    made.setFilterIfMissing(flag(f, "filterIfMissing", false));
    made.setLatestVersionOnly(flag(f, "latestVersionOnly", true));
    return made;
  }

  private static Filter fuzzy(JsonObject f) {
    List<Pair<byte[], byte[]>> keys = new ArrayList<>();
    for (JsonElement e : f.getAsJsonArray("keys")) {
      JsonArray mask = e.getAsJsonObject().getAsJsonArray("mask");
      byte[] fixed = new byte[mask.size()];
      for (int i = 0; i < fixed.length; i++) {
        fixed[i] = mask.get(i).getAsByte();
      }
      keys.add(new Pair<>(bytes(e.getAsJsonObject().get("pattern")), fixed));
    }
    return new FuzzyRowFilter(keys);
  }

  private static Filter ranges(JsonObject f) {
    List<MultiRowRangeFilter.RowRange> ranges = new ArrayList<>();
    for (JsonElement e : f.getAsJsonArray("ranges")) {
      JsonObject range = e.getAsJsonObject();
      ranges.add(new MultiRowRangeFilter.RowRange(bytes(range.get("start")), flag(range, "startInclusive", true),
        bytes(range.get("stop")), flag(range, "stopInclusive", false)));
    }
    return new MultiRowRangeFilter(ranges);
  }

  private static ByteArrayComparable comparator(JsonObject f) throws Exception {
    JsonObject c = f.getAsJsonObject("comparator");
    byte[] value = bytes(c.get("value"));
    switch (c.get("type").getAsString()) {
      case "BinaryComparator":
        return new BinaryComparator(value);
      case "BinaryPrefixComparator":
        return new BinaryPrefixComparator(value);
      case "BinaryComponentComparator":
        return new BinaryComponentComparator(value, c.get("offset").getAsInt());
      case "BitComparator":
        return new BitComparator(value, BitComparator.BitwiseOp.valueOf(c.get("bitOperator").getAsString()));
      case "LongComparator":
        return new LongComparator(c.get("value").getAsLong());
      case "BigDecimalComparator":
        return new BigDecimalComparator(new BigDecimal(c.get("value").getAsString()));
      case "NullComparator":
        return new NullComparator();
      case "SubstringComparator":
        return new SubstringComparator(c.get("value").getAsString());
      case "RegexStringComparator":
        RegexStringComparator regex = c.has("flags")
          ? new RegexStringComparator(c.get("pattern").getAsString(), c.get("flags").getAsInt())
          : new RegexStringComparator(c.get("pattern").getAsString());
        if (c.has("charset")) {
          regex.setCharset(Charset.forName(c.get("charset").getAsString()));
        }
        return regex;
      default:
        throw new IllegalArgumentException("unknown comparator " + c);
    }
  }
}
