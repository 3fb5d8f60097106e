import java.util.ArrayList;
import org.hbase.async.AtomicIncrementRequest;
import org.hbase.async.Bytes;
import org.hbase.async.Config;
import org.hbase.async.DeleteRequest;
import org.hbase.async.GetRequest;
import org.hbase.async.HBaseClient;
import org.hbase.async.KeyValue;
import org.hbase.async.PutRequest;
import org.hbase.async.Scanner;
import org.hbase.async.TableNotFoundException;

/** asynchbase, OpenTSDB's client: Steps ZOOKEEPER, with table `tsdb` (family t) made before. */
public final class Steps {
  private static final byte[] TABLE = "tsdb".getBytes();
  private static final byte[] F = "t".getBytes();
  private static final byte[] Q = "q".getBytes();
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
    }
  }

  private static void same(Object expected, Object actual) {
    if (!expected.equals(actual)) throw new AssertionError("not " + expected + " but " + actual);
  }

  public static void main(String[] args) throws Exception {
    Config config = new Config();
    config.overrideConfig("hbase.zookeeper.quorum", args[0]);
    config.overrideConfig("hbase.zookeeper.znode.parent", "/hbase");
    HBaseClient client = new HBaseClient(config);
    step("table", () -> client.ensureTableFamilyExists(TABLE, F).join(10_000));
    // Below every other name: else the client takes the region before for it.
    step("no table", () -> {
      try {
        client.ensureTableExists("a-none").join(10_000);
      } catch (TableNotFoundException error) {
        return;
      }
      throw new AssertionError("found");
    });
    step("put and get", () -> {
      client.put(new PutRequest(TABLE, "a".getBytes(), F, Q, "1".getBytes())).join(10_000);
      ArrayList<KeyValue> row = client.get(new GetRequest(TABLE, "a".getBytes(), F, Q)).join(10_000);
      same("1", new String(row.get(0).value()));
    });
    step("increment", () -> {
      same(5L, client.atomicIncrement(new AtomicIncrementRequest(TABLE, "i".getBytes(), F, Q, 5)).join(10_000));
      same(7L, client.atomicIncrement(new AtomicIncrementRequest(TABLE, "i".getBytes(), F, Q, 2)).join(10_000));
    });
    step("compare and set", () -> {
      PutRequest put = new PutRequest(TABLE, "c".getBytes(), F, Q, "x".getBytes());
      same(true, client.compareAndSet(put, new byte[0]).join(10_000));
      same(false, client.compareAndSet(put, new byte[0]).join(10_000));
    });
    step("many puts", () -> {
      for (int i = 0; i < 5000; i++) {
        client.put(new PutRequest(TABLE, ("m" + (10_000 + i)).getBytes(), F, Q, Bytes.fromInt(i)));
      }
      client.flush().join(20_000);
    });
    step("scan", () -> {
      Scanner scanner = client.newScanner(TABLE);
      scanner.setStartKey("m");
      scanner.setStopKey("n");
      int rows = 0;
      for (ArrayList<ArrayList<KeyValue>> some = scanner.nextRows().join(10_000); some != null;
          some = scanner.nextRows().join(10_000)) {
        rows += some.size();
      }
      same(5000, rows);
    });
    step("delete", () -> {
      client.delete(new DeleteRequest(TABLE, "a".getBytes())).join(10_000);
      same(true, client.get(new GetRequest(TABLE, "a".getBytes())).join(10_000).isEmpty());
    });
    client.shutdown().join(10_000);
    System.out.println(passed + " passed, " + failed + " failed");
    System.exit(failed == 0 ? 0 : 1);
  }
}
