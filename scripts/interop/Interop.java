import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseTestingUtility;
import org.apache.hadoop.hbase.PrivateCellUtil;
import org.apache.hadoop.hbase.StartMiniClusterOption;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.io.hfile.HFilePrettyPrinter;
import org.apache.hadoop.hbase.mapreduce.Export;
import org.apache.hadoop.hbase.mapreduce.Import;
import org.apache.hadoop.hbase.tool.BulkLoadHFiles;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.util.ToolRunner;

/**
 * Real Apache HBase in one process, driven over standard input: one command a line, its words separated by tabs. Each answer is
 * lines that begin with a blank, then a line `ok` or `error …`.
 */
public final class Interop {
  private static final String TAGS = "org.apache.hadoop.hbase.codec.KeyValueCodecWithTags";

  private final HBaseTestingUtility util = new HBaseTestingUtility();
  private final PrintStream out;
  private Connection connection;

  private Interop(PrintStream out) {
    this.out = out;
  }

  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, true, "UTF-8");
    System.setOut(System.err); // What the tools print is no answer.
    Interop interop = new Interop(out);
    try {
      interop.start();
    } catch (Throwable error) {
      error.printStackTrace();
      System.exit(1);
    }
    out.println("ready");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      try {
        interop.run(line.split("\t"));
        out.println("ok");
      } catch (Throwable error) {
        error.printStackTrace();
        out.println("error " + String.valueOf(error).replace('\n', ' '));
      }
    }
    System.exit(0);
  }

  private void start() throws Exception {
    Configuration conf = util.getConfiguration();
    conf.setInt("hbase.master.info.port", -1);
    conf.setInt("hbase.regionserver.info.port", -1);
    conf.setBoolean("hbase.unsafe.stream.capability.enforce", false);
    for (String name : new String[] {"master.start", "master.init", "regionserver.start"}) {
      conf.setInt("hbase." + name + ".timeout.localHBaseCluster", 300_000);
    }
    conf.set("mapreduce.framework.name", "local");
    conf.set("hbase.client.rpc.codec", TAGS);
    util.startMiniZKCluster();
    util.startMiniHBaseCluster(StartMiniClusterOption.builder().numMasters(1).numRegionServers(1).build());
    connection = ConnectionFactory.createConnection(conf);
  }

  private void run(String[] words) throws Exception {
    switch (words[0]) {
      case "create":
        create(words[1], Arrays.copyOfRange(words, 2, words.length));
        return;
      case "fill":
        fill(words[1]);
        return;
      case "import":
        tool(new Import(), Arrays.copyOfRange(words, 1, words.length));
        return;
      case "export":
        tool(new Export(), Arrays.copyOfRange(words, 1, words.length));
        return;
      case "bulkload":
        BulkLoadHFiles.create(util.getConfiguration()).bulkLoad(TableName.valueOf(words[1]), new Path(words[2]));
        return;
      case "pretty":
        int status = new HFilePrettyPrinter(util.getConfiguration()).run(new String[] {"-m", "-k", "-f", words[1]});
        if (status != 0) throw new IllegalStateException("HFilePrettyPrinter ended with " + status);
        return;
      case "scan":
        scan(words[1]);
        return;
      case "rows":
        rows(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]));
        return;
      default:
        throw new IllegalArgumentException(words[0]);
    }
  }

  private void tool(org.apache.hadoop.util.Tool tool, String[] args) throws Exception {
    long start = System.nanoTime();
    int status = ToolRunner.run(new Configuration(util.getConfiguration()), tool, args);
    if (status != 0) throw new IllegalStateException("ended with " + status);
    out.println(" ms\t" + (System.nanoTime() - start) / 1_000_000);
  }

  private void create(String table, String[] families) throws Exception {
    TableDescriptorBuilder builder = TableDescriptorBuilder.newBuilder(TableName.valueOf(table));
    for (String family : families) {
      builder.setColumnFamily(
        ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes(family)).setMaxVersions(10).build());
    }
    try (Admin admin = connection.getAdmin()) {
      admin.createTable(builder.build());
    }
  }

  /** Cells of every kind, as HBase's own clients write them. */
  private void fill(String name) throws Exception {
    try (Table table = connection.getTable(TableName.valueOf(name))) {
      byte[] f = Bytes.toBytes("f");
      byte[] g = Bytes.toBytes("g");
      for (int i = 0; i < 300; i++) {
        byte[] row = Bytes.add(Bytes.toBytes(String.format("row%04d", i)), new byte[] {(byte) i, 0, (byte) 255});
        Put put = new Put(row);
        put.addColumn(f, new byte[] {0, 9, (byte) i}, 1000 + i, new byte[i * 7 % 900]);
        put.addColumn(f, Bytes.toBytes("q"), 5L, Bytes.toBytes("older"));
        put.addColumn(g, new byte[0], Long.MAX_VALUE - 2, Bytes.toBytes("late"));
        table.put(put);
        Put next = new Put(row);
        next.addColumn(f, Bytes.toBytes("q"), 6L, Bytes.toBytes("newer"));
        next.setTTL(10_000_000_000_000L);
        table.put(next);
        if (i % 10 == 1) table.delete(new Delete(row).addFamily(g, 3L));
        if (i % 10 == 2) table.delete(new Delete(row).addFamilyVersion(g, 4L));
        if (i % 10 == 3) table.delete(new Delete(row).addColumns(f, Bytes.toBytes("q"), 4L));
        if (i % 10 == 4) table.delete(new Delete(row).addColumn(f, Bytes.toBytes("q"), 5L));
        if (i % 10 == 5) table.delete(new Delete(row).addFamily(f, 1L).addFamily(f, 2L));
      }
    }
  }

  /** Plain rows for measuring. */
  private void rows(String name, int count, int valueLength) throws Exception {
    try (org.apache.hadoop.hbase.client.BufferedMutator mutator =
      connection.getBufferedMutator(TableName.valueOf(name))) {
      byte[] value = new byte[valueLength];
      for (int i = 0; i < count; i++) {
        Put put = new Put(Bytes.toBytes(String.format("row%08d", i)));
        for (int c = 0; c < 4; c++) put.addColumn(Bytes.toBytes("f"), Bytes.toBytes("q" + c), 1L, value);
        mutator.mutate(put);
      }
    }
  }

  private void scan(String name) throws Exception {
    try (Table table = connection.getTable(TableName.valueOf(name));
      ResultScanner scanner = table.getScanner(new Scan().setRaw(true).readVersions(1000))) {
      for (Result result : scanner) {
        for (Cell cell : result.rawCells()) {
          out.println(" " + String.join("\t", hex(CellUtil.cloneRow(cell)), hex(CellUtil.cloneFamily(cell)),
            hex(CellUtil.cloneQualifier(cell)), String.valueOf(cell.getTimestamp()),
            String.valueOf(cell.getType().getCode() & 0xff), hex(CellUtil.cloneValue(cell)),
            hex(PrivateCellUtil.cloneTags(cell))));
        }
      }
    }
  }

  private static String hex(byte[] bytes) {
    StringBuilder text = new StringBuilder("x");
    for (byte b : bytes) text.append(String.format("%02x", b));
    return text.toString();
  }
}
