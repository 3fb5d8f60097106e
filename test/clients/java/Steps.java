import static org.apache.hadoop.hbase.util.Bytes.toBytes;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.DoNotRetryIOException;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.NamespaceDescriptor;
import org.apache.hadoop.hbase.NamespaceExistException;
import org.apache.hadoop.hbase.TableExistsException;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.TableNotFoundException;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Append;
import org.apache.hadoop.hbase.client.AsyncConnection;
import org.apache.hadoop.hbase.client.BufferedMutator;
import org.apache.hadoop.hbase.client.CheckAndMutate;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Hbck;
import org.apache.hadoop.hbase.client.Increment;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.client.TableState;
import org.apache.hadoop.hbase.filter.PrefixFilter;
import org.apache.hadoop.hbase.filter.SingleColumnValueFilter;
import org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException;
import org.apache.hadoop.hbase.util.Bytes;

/** A day in the life of a client: Steps zk|rpc|master ADDRESS. Uses only what is in every client from 2.4 to 3.0. */
public final class Steps {
  private static final TableName T = TableName.valueOf("steps");
  private static final byte[] F = toBytes("f");
  private static final byte[] G = toBytes("g");
  private static final byte[] Q = toBytes("q");
  private static int passed;
  private static int failed;

  private interface Step {
    void run() throws Exception;
  }

  private static void step(String name, Step step) {
    try {
      step.run();
      passed++;
    } catch (Throwable error) {
      failed++;
      System.out.println("FAIL " + name + ": " + error);
      if (Boolean.getBoolean("steps.trace")) error.printStackTrace(System.out);
    }
  }

  private static void same(Object expected, Object actual) {
    if (!expected.equals(actual)) throw new AssertionError("not " + expected + " but " + actual);
  }

  private static void refused(Class<? extends Exception> type, Step step) throws Exception {
    try {
      step.run();
    } catch (Exception error) {
      Throwable cause = error;
      while (cause != null && !type.isInstance(cause)) cause = cause.getCause();
      if (cause == null) throw error;
      return;
    }
    throw new AssertionError("not refused with " + type.getSimpleName());
  }

  public static void main(String[] args) throws Exception {
    long begun = System.nanoTime();
    Configuration conf = configuration(args[0], args[1]);
    try (Connection connection = ConnectionFactory.createConnection(conf)) {
      Admin admin = connection.getAdmin();
      Table table = connection.getTable(T);
      tables(admin);
      rows(table);
      atomic(table);
      scans(table);
      batches(connection, table);
      regions(connection, admin, table);
      schema(admin, table);
      snapshots(connection, admin, table);
      cluster(admin);
      hbck(connection, admin);
      step("async", () -> async(conf));
      end(admin);
    }
    System.out.println((System.nanoTime() - begun) / 1_000_000 + " ms");
    System.out.println(passed + " passed, " + failed + " failed");
    System.exit(failed == 0 ? 0 : 1);
  }

  private static Configuration configuration(String registry, String address) {
    Configuration conf = HBaseConfiguration.create();
    conf.setInt("hbase.client.retries.number", 5);
    conf.setInt("hbase.client.operation.timeout", 30_000);
    if (System.getProperty("steps.compressor") != null) {
      conf.set("hbase.client.rpc.compressor", System.getProperty("steps.compressor"));
    }
    String[] hostAndPort = address.split(":");
    if (registry.equals("zk")) {
      conf.set("hbase.client.registry.impl", zkRegistry());
      conf.set("hbase.zookeeper.quorum", hostAndPort[0]);
      conf.set("hbase.zookeeper.property.clientPort", hostAndPort[1]);
    } else if (registry.equals("rpc")) {
      conf.set("hbase.client.registry.impl", "org.apache.hadoop.hbase.client.RpcConnectionRegistry");
      conf.set("hbase.client.bootstrap.servers", address);
    } else {
      conf.set("hbase.client.registry.impl", "org.apache.hadoop.hbase.client.MasterRegistry");
      conf.set("hbase.masters", address);
    }
    return conf;
  }

  private static String zkRegistry() {
    return "org.apache.hadoop.hbase.client.ZKConnectionRegistry";
  }

  private static TableDescriptor descriptor(TableName name) {
    return TableDescriptorBuilder.newBuilder(name)
        .setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(F).setMaxVersions(3).build())
        .setColumnFamily(ColumnFamilyDescriptorBuilder.of(G))
        .build();
  }

  private static void tables(Admin admin) {
    step("create", () -> admin.createTable(descriptor(T), new byte[][] { toBytes("g"), toBytes("p") }));
    step("exists", () -> same(true, admin.tableExists(T)));
    step("no such table", () -> same(false, admin.tableExists(TableName.valueOf("none"))));
    step("available", () -> same(true, admin.isTableAvailable(T)));
    step("enabled", () -> same(true, admin.isTableEnabled(T)));
    step("create twice", () -> refused(TableExistsException.class, () -> admin.createTable(descriptor(T))));
    step("list", () -> same(Arrays.asList(T), Arrays.asList(admin.listTableNames())));
    step("regions", () -> same(3, admin.getRegions(T).size()));
    step("descriptor", () -> {
      TableDescriptor found = admin.getDescriptor(T);
      same(3, found.getColumnFamily(F).getMaxVersions());
      same(1, found.getColumnFamily(G).getMaxVersions());
    });
    step("no descriptor", () -> refused(TableNotFoundException.class, () -> admin.getDescriptor(TableName.valueOf("none"))));
    step("namespace", () -> {
      admin.createNamespace(NamespaceDescriptor.create("ns").addConfiguration("k", "v").build());
      same("v", admin.getNamespaceDescriptor("ns").getConfigurationValue("k"));
      refused(NamespaceExistException.class, () -> admin.createNamespace(NamespaceDescriptor.create("ns").build()));
      admin.createTable(descriptor(TableName.valueOf("ns:t")));
      same(1, admin.listTableNamesByNamespace("ns").length);
    });
  }

  private static void rows(Table table) {
    step("put and get", () -> {
      table.put(new Put(toBytes("a")).addColumn(F, Q, toBytes("one")).addColumn(G, Q, toBytes("two")));
      Result result = table.get(new Get(toBytes("a")));
      same("one", Bytes.toString(result.getValue(F, Q)));
      same("two", Bytes.toString(result.getValue(G, Q)));
    });
    step("versions", () -> {
      for (long ts = 1; ts <= 4; ts++) table.put(new Put(toBytes("v")).addColumn(F, Q, ts, Bytes.toBytes(ts)));
      same(3, table.get(new Get(toBytes("v")).readAllVersions()).size());
      same(2L, Bytes.toLong(table.get(new Get(toBytes("v")).setTimestamp(2)).value()));
    });
    step("absent", () -> same(true, table.get(new Get(toBytes("none"))).isEmpty()));
    step("existence", () -> {
      boolean[] found = table.exists(Arrays.asList(new Get(toBytes("a")), new Get(toBytes("none"))));
      same(true, found[0]);
      same(false, found[1]);
    });
    step("unknown family", () -> refused(NoSuchColumnFamilyException.class,
        () -> table.get(new Get(toBytes("a")).addFamily(toBytes("x")))));
    step("delete", () -> {
      table.delete(new Delete(toBytes("a")).addColumns(G, Q));
      same(1, table.get(new Get(toBytes("a"))).size());
      table.delete(new Delete(toBytes("v")));
      same(true, table.get(new Get(toBytes("v"))).isEmpty());
    });
  }

  private static void atomic(Table table) {
    step("increment", () -> {
      same(5L, table.incrementColumnValue(toBytes("i"), F, Q, 5));
      Result result = table.increment(new Increment(toBytes("i")).addColumn(F, Q, 2).addColumn(F, toBytes("r"), 1));
      same(7L, Bytes.toLong(result.getValue(F, Q)));
    });
    step("append", () -> same("ab", Bytes.toString(appended(table, "a", "b").getValue(F, Q))));
    step("check and put", () -> {
      byte[] row = toBytes("c");
      same(true, table.checkAndMutate(row, F).qualifier(Q).ifNotExists().thenPut(new Put(row).addColumn(F, Q, toBytes("1"))));
      same(false, table.checkAndMutate(row, F).qualifier(Q).ifNotExists().thenPut(new Put(row).addColumn(F, Q, toBytes("2"))));
      same(true, table.checkAndMutate(CheckAndMutate.newBuilder(row).ifEquals(F, Q, toBytes("1"))
          .build(new Delete(row))).isSuccess());
    });
    step("check with a filter", () -> {
      byte[] row = toBytes("a");
      SingleColumnValueFilter filter = new SingleColumnValueFilter(F, Q, CompareOperator.EQUAL, toBytes("one"));
      same(true, table.checkAndMutate(CheckAndMutate.newBuilder(row).ifMatches(filter)
          .build(new Put(row).addColumn(G, Q, toBytes("three")))).isSuccess());
    });
    step("row mutations", () -> {
      byte[] row = toBytes("m");
      RowMutations mutations = new RowMutations(row);
      mutations.add(new Put(row).addColumn(F, Q, toBytes("x")));
      mutations.add(new Put(row).addColumn(G, Q, toBytes("y")));
      table.mutateRow(mutations);
      same(2, table.get(new Get(row)).size());
    });
  }

  private static Result appended(Table table, String first, String second) throws Exception {
    table.append(new Append(toBytes("p")).addColumn(F, Q, toBytes(first)));
    return table.append(new Append(toBytes("p")).addColumn(F, Q, toBytes(second)));
  }

  private static void scans(Table table) {
    step("fill", () -> {
      List<Put> puts = new ArrayList<>();
      for (int i = 0; i < 1000; i++) {
        puts.add(new Put(toBytes(String.format("%c%03d", 'a' + i % 26, i))).addColumn(F, toBytes("n"), Bytes.toBytes(i)));
      }
      table.put(puts);
    });
    step("scan", () -> same(1000, count(table, new Scan().addColumn(F, toBytes("n")))));
    step("scan in small steps", () -> same(1000, count(table, new Scan().addColumn(F, toBytes("n")).setCaching(7))));
    step("scan backwards", () -> {
      try (ResultScanner scanner = table.getScanner(new Scan().addColumn(F, toBytes("n")).setReversed(true))) {
        byte[] before = null;
        int rows = 0;
        for (Result result : scanner) {
          if (before != null && Bytes.compareTo(result.getRow(), before) >= 0) throw new AssertionError("order");
          before = result.getRow();
          rows++;
        }
        same(1000, rows);
      }
    });
    step("scan with limit", () -> same(11, count(table, new Scan().withStartRow(toBytes("b")).setLimit(11))));
    step("scan with filter", () -> same(38, count(table, new Scan().addColumn(F, toBytes("n")).setFilter(new PrefixFilter(toBytes("z"))))));
    step("scan a prefix", () -> same(39, count(table, new Scan().addColumn(F, toBytes("n")).setRowPrefixFilter(toBytes("b")))));
    step("scan in parts", () -> same(2, count(table, new Scan().withStartRow(toBytes("m")).withStopRow(toBytes("m"), true).setBatch(1))));
  }

  private static int count(Table table, Scan scan) throws Exception {
    int rows = 0;
    try (ResultScanner scanner = table.getScanner(scan)) {
      for (Result ignored : scanner) rows++;
    }
    return rows;
  }

  private static void batches(Connection connection, Table table) {
    step("batch", () -> {
      List<Row> actions = new ArrayList<>();
      actions.add(new Put(toBytes("z1")).addColumn(F, Q, toBytes("z")));
      actions.add(new Get(toBytes("a")));
      actions.add(new Increment(toBytes("i")).addColumn(F, Q, 1));
      actions.add(new Delete(toBytes("none")));
      Object[] results = new Object[4];
      table.batch(actions, results);
      same("one", Bytes.toString(((Result) results[1]).getValue(F, Q)));
      same(8L, Bytes.toLong(((Result) results[2]).getValue(F, Q)));
    });
    step("buffered puts", () -> {
      try (BufferedMutator mutator = connection.getBufferedMutator(T)) {
        for (int i = 0; i < 5000; i++) {
          mutator.mutate(new Put(toBytes("buffered" + i)).addColumn(G, Q, Bytes.toBytes(i)));
        }
      }
      same(5000, count(table, new Scan().addColumn(G, Q).setRowPrefixFilter(toBytes("buffered"))));
    });
    step("a large value", () -> {
      byte[] value = new byte[3_000_000];
      Arrays.fill(value, (byte) 7);
      table.put(new Put(toBytes("large")).addColumn(G, Q, value));
      same(value.length, table.get(new Get(toBytes("large"))).value().length);
      table.delete(new Delete(toBytes("large")));
    });
  }

  private static void regions(Connection connection, Admin admin, Table table) {
    step("locations", () -> {
      List<HRegionLocation> all = connection.getRegionLocator(T).getAllRegionLocations();
      same(3, all.size());
      same("g", Bytes.toString(connection.getRegionLocator(T).getRegionLocation(toBytes("h")).getRegion().getStartKey()));
    });
    step("split", () -> {
      RegionInfo first = admin.getRegions(T).get(0);
      admin.splitRegionAsync(first.getRegionName(), toBytes("c")).get(30, TimeUnit.SECONDS);
      same(4, admin.getRegions(T).size());
      same(1000, count(table, new Scan().addColumn(F, toBytes("n"))));
    });
    step("merge", () -> {
      List<RegionInfo> all = admin.getRegions(T);
      admin.mergeRegionsAsync(new byte[][] { all.get(0).getEncodedNameAsBytes(), all.get(1).getEncodedNameAsBytes() }, false)
          .get(30, TimeUnit.SECONDS);
      same(3, admin.getRegions(T).size());
      same(1000, count(table, new Scan().addColumn(F, toBytes("n"))));
    });
    step("flush and compact", () -> {
      admin.flush(T);
      admin.majorCompact(T);
      for (int i = 0; i < 100 && !admin.getCompactionState(T).toString().equals("NONE"); i++) Thread.sleep(50);
      same(1000, count(table, new Scan().addColumn(F, toBytes("n"))));
    });
  }

  private static void schema(Admin admin, Table table) {
    step("add a family", () -> {
      admin.addColumnFamily(T, ColumnFamilyDescriptorBuilder.of("h"));
      table.put(new Put(toBytes("a")).addColumn(toBytes("h"), Q, toBytes("new")));
      same("new", Bytes.toString(table.get(new Get(toBytes("a")).addFamily(toBytes("h"))).value()));
    });
    step("modify and drop it", () -> {
      admin.modifyColumnFamily(T, ColumnFamilyDescriptorBuilder.newBuilder(toBytes("h")).setMaxVersions(9).build());
      same(9, admin.getDescriptor(T).getColumnFamily(toBytes("h")).getMaxVersions());
      admin.deleteColumnFamily(T, toBytes("h"));
      same(false, admin.getDescriptor(T).hasColumnFamily(toBytes("h")));
    });
    step("modify the table", () -> {
      admin.modifyTable(TableDescriptorBuilder.newBuilder(admin.getDescriptor(T)).setValue("my", "own").build());
      same("own", admin.getDescriptor(T).getValue("my"));
    });
    step("a bad table", () -> refused(DoNotRetryIOException.class,
        () -> admin.createTable(TableDescriptorBuilder.newBuilder(TableName.valueOf("bad")).build())));
  }

  private static void snapshots(Connection connection, Admin admin, Table table) {
    TableName clone = TableName.valueOf("clone");
    step("snapshot and clone", () -> {
      admin.snapshot("s1", T);
      same(1, admin.listSnapshots().size());
      admin.cloneSnapshot("s1", clone);
      same(1000, count(connection.getTable(clone), new Scan().addColumn(F, toBytes("n"))));
    });
    step("restore", () -> {
      table.put(new Put(toBytes("later")).addColumn(F, Q, toBytes("later")));
      admin.disableTable(T);
      admin.restoreSnapshot("s1");
      admin.enableTable(T);
      same(false, table.exists(new Get(toBytes("later"))));
      admin.deleteSnapshot("s1");
      same(Collections.emptyList(), admin.listSnapshots());
    });
    step("truncate", () -> {
      admin.disableTable(clone);
      admin.truncateTable(clone, true);
      same(0, count(connection.getTable(clone), new Scan()));
    });
  }

  private static void cluster(Admin admin) {
    step("cluster metrics", () -> {
      same(1, admin.getClusterMetrics().getLiveServerMetrics().size());
      same(true, admin.getClusterMetrics().getHBaseVersion().startsWith("2.6"));
    });
    step("balancer", () -> {
      same(true, admin.balancerSwitch(false, true));
      same(false, admin.isBalancerEnabled());
      admin.balancerSwitch(true, true);
    });
  }

  private static void hbck(Connection connection, Admin admin) {
    step("hbck", () -> {
      String region = admin.getRegions(T).get(0).getEncodedName();
      try (Hbck hbck = connection.getHbck()) {
        same(true, hbck.runHbckChore());
        hbck.fixMeta();
        same(TableState.State.ENABLED, hbck.setTableStateInMeta(new TableState(T, TableState.State.DISABLED)).getState());
        same(true, admin.isTableDisabled(T));
        same(TableState.State.DISABLED, hbck.setTableStateInMeta(new TableState(T, TableState.State.ENABLED)).getState());
        same(1, hbck.unassigns(Arrays.asList(region)).size());
        same(Arrays.asList(-1L), hbck.assigns(Arrays.asList(region)));
        same(Arrays.asList(false), hbck.bypassProcedure(Arrays.asList(1L), 0, false, false));
        same(Collections.emptyList(), hbck.scheduleSCPsForUnknownServers());
      }
    });
    step("locks", () -> same("[]", admin.getLocks()));
  }

  private static void async(Configuration conf) throws Exception {
    try (AsyncConnection connection = ConnectionFactory.createAsyncConnection(conf).get(30, TimeUnit.SECONDS)) {
      connection.getTable(T).put(new Put(toBytes("async")).addColumn(F, Q, toBytes("yes"))).get(30, TimeUnit.SECONDS);
      Result result = connection.getTable(T).get(new Get(toBytes("async"))).get(30, TimeUnit.SECONDS);
      same("yes", Bytes.toString(result.value()));
      same(1000, connection.getTable(T).scanAll(new Scan().addColumn(F, toBytes("n"))).get(30, TimeUnit.SECONDS).size());
      same(true, connection.getAdmin().tableExists(T).get(30, TimeUnit.SECONDS));
    }
  }

  private static void end(Admin admin) {
    step("drop everything", () -> {
      for (TableName name : admin.listTableNames()) {
        admin.disableTable(name);
        admin.deleteTable(name);
      }
      admin.deleteNamespace("ns");
      same(0, admin.listTableNames().length);
    });
  }
}
