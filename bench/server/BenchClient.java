import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.*;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * One client process that drives every server of the bench. Commands come as lines on standard input, each answered by one
 * line of JSON: `connect HOST:PORT`, `prepare ROWS`, `run WORK THREADS MILLISECONDS`, `disconnect`, `quit`.
 */
public class BenchClient {
  static final TableName TABLE = TableName.valueOf("bench");
  static final byte[] F = Bytes.toBytes("f"), Q = Bytes.toBytes("q"), N = Bytes.toBytes("n");
  static final byte[] VALUE = new byte[100];
  static Connection connection;
  static int rows;

  public static void main(String[] args) throws Exception {
    Arrays.fill(VALUE, (byte) 'v');
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("{\"ready\":true}");
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split(" ");
      try {
        System.out.println(answer(words));
      } catch (Throwable error) {
        System.out.println("{\"error\":\"" + String.valueOf(error).replaceAll("[\"\\\\\n]", " ") + "\"}");
      }
      System.out.flush();
      if (words[0].equals("quit")) System.exit(0);
    }
  }

  static String answer(String[] words) throws Exception {
    switch (words[0]) {
      case "connect": return connect(words[1]);
      case "prepare": return prepare(Integer.parseInt(words[1]));
      case "run": return run(words[1], Integer.parseInt(words[2]), Long.parseLong(words[3]));
      case "disconnect": connection.close(); return "{}";
      default: return "{}";
    }
  }

  /** Milliseconds until the first get is answered, tried again and again while the server is not up. */
  static String connect(String address) throws Exception {
    Configuration conf = HBaseConfiguration.create();
    conf.set("hbase.client.registry.impl", "org.apache.hadoop.hbase.client.RpcConnectionRegistry");
    conf.set("hbase.client.bootstrap.servers", address);
    conf.setInt("hbase.client.retries.number", 3);
    conf.setInt("hbase.client.pause", 20);
    long start = System.nanoTime();
    for (;;) {
      try {
        connection = ConnectionFactory.createConnection(conf);
        try (Table meta = connection.getTable(TableName.META_TABLE_NAME)) {
          meta.get(new Get(Bytes.toBytes("first")));
        }
        break;
      } catch (java.io.IOException | RuntimeException error) {
        if (connection != null) connection.close();
        connection = null;
        if (System.nanoTime() - start > 120_000_000_000L) throw error;
        Thread.sleep(5);
      }
    }
    return "{\"firstAnswerMs\":" + (System.nanoTime() - start) / 1e6 + ",\"atMs\":" + System.currentTimeMillis() + "}";
  }

  static byte[] key(int i) {
    return Bytes.toBytes(String.format("user%012d", i));
  }

  static String prepare(int count) throws Exception {
    rows = count;
    try (Admin admin = connection.getAdmin()) {
      if (admin.tableExists(TABLE)) {
        admin.disableTable(TABLE);
        admin.deleteTable(TABLE);
      }
      admin.createTable(TableDescriptorBuilder.newBuilder(TABLE)
          .setColumnFamily(ColumnFamilyDescriptorBuilder.of("f")).build());
    }
    try (BufferedMutator mutator = connection.getBufferedMutator(TABLE)) {
      for (int i = 0; i < count; i++) mutator.mutate(new Put(key(i)).addColumn(F, Q, VALUE));
    }
    try (Admin admin = connection.getAdmin()) {
      admin.flush(TABLE);
    }
    return "{\"rows\":" + count + "}";
  }

  interface Step {
    /** Does one piece of work; gives the operations in it. */
    int go(Table table, SplittableRandom random) throws Exception;
  }

  static int drain(ResultScanner scanner) {
    int count = 0;
    long sum = 0;
    for (Result result : scanner) {
      Cell cell = result.rawCells()[0];
      sum += cell.getValueArray()[cell.getValueOffset()] + cell.getValueLength();
      count++;
    }
    scanner.close();
    if (sum == 1) System.err.println(sum);
    return count;
  }

  static Step stepOf(String work) {
    switch (work) {
      case "put": return (t, r) -> { t.put(new Put(key(r.nextInt(rows))).addColumn(F, Q, VALUE)); return 1; };
      case "get": return (t, r) -> {
        if (t.get(new Get(key(r.nextInt(rows)))).isEmpty()) throw new IllegalStateException("a row is missing");
        return 1;
      };
      case "increment": return (t, r) -> { t.incrementColumnValue(key(r.nextInt(rows)), F, N, 1); return 1; };
      case "checkAndPut": return (t, r) -> {
        byte[] row = key(r.nextInt(rows));
        t.checkAndMutate(CheckAndMutate.newBuilder(row).ifEquals(F, Q, VALUE).build(new Put(row).addColumn(F, Q, VALUE)));
        return 1;
      };
      case "multiGet": return (t, r) -> {
        List<Get> gets = new ArrayList<>();
        for (int i = 0; i < 100; i++) gets.add(new Get(key(r.nextInt(rows))));
        return t.get(gets).length;
      };
      case "scan": return (t, r) -> drain(t.getScanner(new Scan().setCaching(1000)));
      case "bufferedPut": return (t, r) -> {
        List<Put> puts = new ArrayList<>();
        for (int i = 0; i < 1000; i++) puts.add(new Put(key(r.nextInt(rows))).addColumn(F, Q, VALUE));
        t.put(puts);
        return puts.size();
      };
      case "ycsbA": {
        Step put = stepOf("put"), get = stepOf("get");
        return (t, r) -> (r.nextBoolean() ? put : get).go(t, r);
      }
      default: throw new IllegalArgumentException("no such work: " + work);
    }
  }

  static String run(String work, int threads, long ms) throws Exception {
    Step step = stepOf(work);
    AtomicLong done = new AtomicLong();
    CountDownLatch ended = new CountDownLatch(threads);
    List<long[]> times = new ArrayList<>();
    Throwable[] failure = new Throwable[1];
    long start = System.nanoTime(), end = start + ms * 1_000_000;
    for (int i = 0; i < threads; i++) {
      SplittableRandom random = new SplittableRandom(i + 17);
      new Thread(() -> {
        long[] own = new long[1 << 16];
        int count = 0;
        try (Table table = connection.getTable(TABLE)) {
          long now = System.nanoTime();
          do {
            done.addAndGet(step.go(table, random));
            long after = System.nanoTime();
            if (count < own.length) own[count++] = after - now;
            now = after;
          } while (now < end);
        } catch (Throwable error) {
          failure[0] = error;
        }
        synchronized (times) {
          times.add(Arrays.copyOf(own, count));
        }
        ended.countDown();
      }).start();
    }
    ended.await();
    double seconds = (System.nanoTime() - start) / 1e9;
    if (failure[0] != null) throw new Exception(failure[0]);
    long[] all = times.stream().flatMapToLong(Arrays::stream).sorted().toArray();
    return "{\"operations\":" + done.get() + ",\"seconds\":" + seconds + ",\"p50Us\":" + at(all, 0.5) / 1e3 + ",\"p99Us\":"
        + at(all, 0.99) / 1e3 + "}";
  }

  static long at(long[] sorted, double share) {
    return sorted.length == 0 ? 0 : sorted[(int) Math.min(sorted.length - 1, sorted.length * share)];
  }
}
