import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.formats.common.TimestampFormat;
import org.apache.flink.formats.json.debezium.DebeziumJsonDeserializationSchema;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.DataType;
import org.apache.flink.util.Collector;
import org.apache.flink.util.SimpleUserCodeClassLoader;
import org.apache.flink.util.UserCodeClassLoader;

/**
 * Reads lines of the change feed from standard input with flink-json's own reader of Debezium's format, which skips nothing and
 * fails on what it does not know. Arguments: the columns, all text. Prints each row that Flink makes of them: its kind and
 * the fields, between tabs.
 */
public final class ReadDebezium {
  public static void main(String[] columns) throws Exception {
    DataTypes.Field[] fields = new DataTypes.Field[columns.length];
    for (int i = 0; i < columns.length; i++) fields[i] = DataTypes.FIELD(columns[i], DataTypes.STRING());
    DataType type = DataTypes.ROW(fields);
    DebeziumJsonDeserializationSchema schema =
        new DebeziumJsonDeserializationSchema(
            type, List.of(), InternalTypeInfo.of(type.getLogicalType()), false, false, TimestampFormat.ISO_8601);
    schema.open(
        new DeserializationSchema.InitializationContext() {
          @Override
          public MetricGroup getMetricGroup() {
            return new UnregisteredMetricsGroup();
          }

          @Override
          public UserCodeClassLoader getUserCodeClassLoader() {
            return SimpleUserCodeClassLoader.create(ReadDebezium.class.getClassLoader());
          }
        });
    Collector<RowData> print =
        new Collector<RowData>() {
          @Override
          public void collect(RowData row) {
            StringBuilder line = new StringBuilder(row.getRowKind().shortString());
            for (int i = 0; i < columns.length; i++) {
              line.append('\t').append(row.isNullAt(i) ? "null" : row.getString(i).toString());
            }
            System.out.println(line);
          }

          @Override
          public void close() {}
        };
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      schema.deserialize(line.getBytes(StandardCharsets.UTF_8), print);
    }
  }
}
