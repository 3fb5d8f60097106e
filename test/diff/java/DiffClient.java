import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Append;
import org.apache.hadoop.hbase.client.AsyncAdmin;
import org.apache.hadoop.hbase.client.AsyncConnection;
import org.apache.hadoop.hbase.client.AsyncTable;
import org.apache.hadoop.hbase.client.CheckAndMutate;
import org.apache.hadoop.hbase.client.CheckAndMutateResult;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.DiffLoad;
import org.apache.hadoop.hbase.client.Durability;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Increment;
import org.apache.hadoop.hbase.client.IsolationLevel;
import org.apache.hadoop.hbase.client.Mutation;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.RetriesExhaustedException;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.filter.Filter;
import org.apache.hadoop.hbase.io.TimeRange;
import org.apache.hadoop.hbase.protobuf.ProtobufUtil;
import org.apache.hadoop.hbase.protobuf.generated.ClientProtos;
import org.apache.hadoop.hbase.protobuf.generated.MultiRowMutationProtos;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.Pair;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.hbase.thirdparty.com.google.gson.JsonArray;
import org.apache.hbase.thirdparty.com.google.gson.JsonElement;
import org.apache.hbase.thirdparty.com.google.gson.JsonNull;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;
import org.apache.hbase.thirdparty.com.google.gson.JsonParser;
import org.apache.hbase.thirdparty.com.google.gson.JsonPrimitive;

/**
 * Apache HBase behind JSON lines, for the differential runner. A request is {"id", "table", "lanes": [[command, …], …]}: lanes
 * run at once, the commands of a lane one after the other (reads that follow each other at once); several requests may be under
 * way. The answer is {"id", "lanes": [[answer, …], …]}. Bytes are strings, one character (U+0000 … U+00FF) a byte; the commands
 * and answers are described in test/diff/commands.ts. An exception is {"error": its simple class name, "message"}.
 */
public final class DiffClient {
  private static final int READ_SECONDS = 25;
  private static final int LANES_MAX = 24;
  private final AsyncConnection connection;
  private final Writer out;
  /** Runners on one HBase take turns in what compactions must not meet: their switch is the server's. */
  private final FileChannel turns;
  private final Queue<CompletableFuture<Void>> waiting = new ArrayDeque<>();
  /** Lanes; guarded by `waiting`. */
  private int running;
  private final Executor waiter = Executors.newSingleThreadExecutor(work -> {
    Thread thread = new Thread(work, "turns");
    thread.setDaemon(true);
    return thread;
  });

  private DiffClient(AsyncConnection connection, Writer out, FileChannel turns) {
    this.connection = connection;
    this.out = out;
    this.turns = turns;
  }

  public static void main(String[] args) throws Exception {
    Configuration conf = HBaseConfiguration.create();
    conf.set("hbase.client.registry.impl", "org.apache.hadoop.hbase.client.RpcConnectionRegistry");
    conf.set("hbase.client.bootstrap.servers", args[0]);
    conf.setInt("hbase.client.retries.number", 4);
    conf.setInt("hbase.client.pause", 20);
    conf.setInt("hbase.client.scanner.timeout.period", 20000);
    conf.setInt("hbase.client.operation.timeout", 60000);
    try (AsyncConnection connection = ConnectionFactory.createAsyncConnection(conf).get();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        FileChannel turns = FileChannel.open(
          Path.of(System.getProperty("java.io.tmpdir"), "hbase-diff-" + args[0].replace(':', '-') + ".turns"),
          StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        Writer out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), 1 << 16)) {
      DiffClient client = new DiffClient(connection, out, turns);
      List<CompletableFuture<Void>> running = new ArrayList<>();
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        running.removeIf(CompletableFuture::isDone);
        running.add(client.serve(JsonParser.parseString(line).getAsJsonObject()));
      }
      CompletableFuture.allOf(running.toArray(new CompletableFuture<?>[0])).get(60, TimeUnit.SECONDS);
    }
  }

  private CompletableFuture<Void> serve(JsonObject request) {
    TableName table = TableName.valueOf(request.get("table").getAsString());
    List<CompletableFuture<JsonArray>> lanes = new ArrayList<>();
    for (JsonElement lane : request.getAsJsonArray("lanes")) {
      lanes.add(lane.getAsJsonArray().isEmpty() ? CompletableFuture.completedFuture(new JsonArray())
        : admitted(() -> lane(table, lane.getAsJsonArray(), 0, new JsonArray())));
    }
    return CompletableFuture.allOf(lanes.toArray(new CompletableFuture<?>[0])).thenRun(() -> {
      JsonArray answers = new JsonArray();
      lanes.forEach(lane -> answers.add(lane.join()));
      JsonObject answer = new JsonObject();
      answer.add("id", request.get("id"));
      answer.add("lanes", answers);
      write(answer.toString());
    });
  }

  /** Lanes run as there is room: a server's queue of calls has an end, and those beyond it are sent again later. */
  private CompletableFuture<JsonArray> admitted(Supplier<CompletableFuture<JsonArray>> lane) {
    CompletableFuture<Void> start = new CompletableFuture<>();
    synchronized (waiting) {
      if (running < LANES_MAX) {
        running++;
        start.complete(null);
      } else {
        waiting.add(start);
      }
    }
    return start.thenComposeAsync(ignored -> lane.get()).whenComplete((answers, thrown) -> admitNext());
  }

  private void admitNext() {
    CompletableFuture<Void> next;
    synchronized (waiting) {
      next = waiting.poll();
      if (next == null) {
        running--;
        return;
      }
    }
    next.complete(null);
  }

  private synchronized void write(String line) {
    try {
      out.write(line);
      out.write('\n');
      out.flush();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private CompletableFuture<JsonArray> lane(TableName table, JsonArray commands, int from, JsonArray answers) {
    if (from == commands.size()) {
      return CompletableFuture.completedFuture(answers);
    }
    int to = from;
    while (to < commands.size() && isRead(commands.get(to).getAsJsonObject())) {
      to++;
    }
    if (to == from) {
      to++;
    }
    List<CompletableFuture<JsonElement>> group = group(table, commands, from, to);
    int next = to;
    return CompletableFuture.allOf(group.toArray(new CompletableFuture<?>[0])).thenComposeAsync(ignored -> {
      group.forEach(one -> answers.add(one.join()));
      return lane(table, commands, next, answers);
    });
  }

  /** Starts commands that may run at once. The first get goes alone, the others in one call. */
  private List<CompletableFuture<JsonElement>> group(TableName table, JsonArray commands, int from, int to) {
    List<CompletableFuture<JsonElement>> group = new ArrayList<>();
    List<Get> gets = new ArrayList<>();
    List<CompletableFuture<JsonElement>> promised = new ArrayList<>();
    boolean hasGet = false;
    for (int i = from; i < to; i++) {
      JsonObject command = commands.get(i).getAsJsonObject();
      boolean isGet = command.get("op").getAsString().equals("get");
      if (isGet && hasGet) {
        CompletableFuture<JsonElement> promise = new CompletableFuture<>();
        group.add(settled(table, command, () -> promise));
        try {
          gets.add(get(command));
          promised.add(promise);
        } catch (Exception e) {
          promise.completeExceptionally(e);
        }
      } else {
        group.add(settled(table, command, () -> started(table, command)));
      }
      hasGet |= isGet;
    }
    List<CompletableFuture<Result>> results = gets.isEmpty() ? List.of() : connection.getTable(table).get(gets);
    for (int i = 0; i < results.size(); i++) {
      CompletableFuture<JsonElement> promise = promised.get(i);
      results.get(i).whenComplete((result, thrown) -> {
        if (thrown == null) {
          promise.complete(cells(result));
        } else {
          promise.completeExceptionally(thrown);
        }
      });
    }
    return group;
  }

  private static boolean isRead(JsonObject command) {
    String op = command.get("op").getAsString();
    return op.equals("get") || op.equals("scan") || op.equals("exists") || op.equals("getMany");
  }

  private static CompletableFuture<JsonElement> settled(TableName table, JsonObject command,
    Supplier<CompletableFuture<JsonElement>> start) {
    // Operations that take the server's time are kept in milliseconds of their own.
    CompletableFuture<JsonElement> answer = !command.has("latest") ? start.get()
      : CompletableFuture.supplyAsync(start, CompletableFuture.delayedExecutor(2, TimeUnit.MILLISECONDS))
        .thenCompose(f -> f);
    // HBase may loop for ever: then the command is told, as a difference.
    return (isRead(command) ? answer.orTimeout(READ_SECONDS, TimeUnit.SECONDS) : answer)
      .exceptionally(thrown -> {
        JsonObject error = error(thrown);
        if (error.get("error").getAsString().equals("TimeoutException")) {
          System.err.println("no answer within " + READ_SECONDS + " s: " + table + " " + command);
        }
        return error;
      });
  }

  private CompletableFuture<JsonElement> started(TableName table, JsonObject command) {
    try {
      return run(table, command);
    } catch (Exception e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private static JsonObject error(Throwable thrown) {
    Throwable cause = thrown;
    while (cause.getCause() != null && (cause instanceof CompletionException || cause instanceof ExecutionException)) {
      cause = cause.getCause();
    }
    if (cause instanceof RetriesExhaustedException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    if (cause instanceof RemoteException) {
      cause = ((RemoteException) cause).unwrapRemoteException();
    }
    JsonObject error = new JsonObject();
    error.addProperty("error", cause.getClass().getSimpleName());
    error.addProperty("message", String.valueOf(cause.getMessage()).replace("\n", " "));
    return error;
  }

  private CompletableFuture<JsonElement> run(TableName name, JsonObject c) throws Exception {
    AsyncTable<?> table = connection.getTable(name);
    switch (c.get("op").getAsString()) {
      case "put":
        return table.put(put(c)).thenApply(DiffClient::done);
      case "delete":
        return table.delete(delete(c)).thenApply(DiffClient::done);
      case "increment":
        return table.increment(increment(c)).thenApply(DiffClient::cells);
      case "append":
        return table.append(append(c)).thenApply(DiffClient::cells);
      case "mutateRow":
        return table.mutateRow(rowMutations(c)).thenApply(DiffClient::cells);
      case "check":
        return table.checkAndMutate(check(c)).thenApply(DiffClient::checked);
      case "get":
        return table.get(get(c)).thenApply(DiffClient::cells);
      case "exists":
        return table.exists(get(c)).thenApply(JsonPrimitive::new);
      case "getMany":
        return all(table.get(gets(c)), DiffClient::cells);
      case "batch":
        return batch(table, c);
      case "checkAll":
        return all(table.checkAndMutate(checks(c)), DiffClient::checked);
      case "mutateRows":
        return mutateRows(table, c);
      case "scan":
        return table.scanAll(scan(c)).thenApply(DiffClient::results);
      default:
        return inTurn(name, c);
    }
  }

  /** {"outcomes": [answer or error, …]} of operations that fail one by one. */
  private static <T> CompletableFuture<JsonElement> all(List<CompletableFuture<T>> running,
    Function<T, JsonElement> answer) {
    List<CompletableFuture<JsonElement>> settled = new ArrayList<>();
    running.forEach(one -> settled.add(one.thenApply(answer).exceptionally(DiffClient::error)));
    return CompletableFuture.allOf(settled.toArray(new CompletableFuture<?>[0])).thenApply(ignored -> {
      JsonArray outcomes = new JsonArray();
      settled.forEach(one -> outcomes.add(one.join()));
      JsonObject result = new JsonObject();
      result.add("outcomes", outcomes);
      return result;
    });
  }

  private static List<Get> gets(JsonObject c) throws Exception {
    List<Get> gets = new ArrayList<>();
    for (JsonElement row : c.getAsJsonArray("rows")) {
      JsonObject one = c.deepCopy();
      one.add("row", row);
      gets.add(get(one));
    }
    return gets;
  }

  private static List<CheckAndMutate> checks(JsonObject c) throws Exception {
    List<CheckAndMutate> checks = new ArrayList<>();
    for (JsonElement e : c.getAsJsonArray("checks")) {
      checks.add(check(e.getAsJsonObject()));
    }
    return checks;
  }

  private static CompletableFuture<JsonElement> batch(AsyncTable<?> table, JsonObject c) throws Exception {
    List<Row> rows = new ArrayList<>();
    for (JsonElement e : c.getAsJsonArray("operations")) {
      JsonObject operation = e.getAsJsonObject();
      switch (operation.get("op").getAsString()) {
        case "get":
          rows.add(get(operation));
          break;
        case "check":
          rows.add(check(operation));
          break;
        case "mutateRow":
          rows.add(rowMutations(operation));
          break;
        default:
          rows.add(mutation(operation));
      }
    }
    return all(table.<Object>batch(rows), result ->
      result instanceof CheckAndMutateResult ? checked((CheckAndMutateResult) result) : cells((Result) result));
  }

  private static CompletableFuture<JsonElement> mutateRows(AsyncTable<?> table, JsonObject c) throws Exception {
    MultiRowMutationProtos.MutateRowsRequest.Builder request = MultiRowMutationProtos.MutateRowsRequest.newBuilder();
    byte[] first = null;
    for (JsonElement e : c.getAsJsonArray("mutations")) {
      Mutation one = mutation(e.getAsJsonObject());
      first = first == null ? one.getRow() : first;
      request.addMutationRequest(ProtobufUtil.toMutation(
        one instanceof Put ? ClientProtos.MutationProto.MutationType.PUT : ClientProtos.MutationProto.MutationType.DELETE,
        one));
    }
    return table.<MultiRowMutationProtos.MultiRowMutationService.Interface,
      MultiRowMutationProtos.MutateRowsResponse>coprocessorService(
        MultiRowMutationProtos.MultiRowMutationService::newStub,
        (stub, controller, done) -> stub.mutateRows(controller, request.build(), done), first)
      .thenApply(DiffClient::done);
  }

  // ---- Tables ---------------------------------------------------------------------------------------------------------

  /** One of these at a time, of all runners; dropping a table does not matter to others. */
  private CompletableFuture<JsonElement> inTurn(TableName name, JsonObject c) {
    if (c.get("op").getAsString().equals("drop")) {
      return administer(name, c);
    }
    return CompletableFuture.supplyAsync(() -> {
      try {
        return turns.lock();
      } catch (IOException e) {
        throw new CompletionException(e);
      }
    }, waiter).thenCompose(turn -> administer(name, c).whenComplete((answer, thrown) -> release(turn)));
  }

  private static void release(FileLock turn) {
    try {
      turn.release();
    } catch (IOException e) {
      throw new CompletionException(e);
    }
  }

  private CompletableFuture<JsonElement> administer(TableName name, JsonObject c) {
    AsyncAdmin admin = connection.getAdmin();
    switch (c.get("op").getAsString()) {
      case "create":
        JsonArray splits = c.getAsJsonArray("splits");
        byte[][] keys = new byte[splits.size()][];
        for (int i = 0; i < keys.length; i++) {
          keys[i] = bytes(splits.get(i));
        }
        return (keys.length == 0 ? admin.createTable(descriptor(name, c))
          : admin.createTable(descriptor(name, c), keys)).thenApply(DiffClient::done);
      case "alter":
        return admin.modifyTable(descriptor(name, c)).thenApply(DiffClient::done);
      case "clone":
        String snapshot = name.getNameAsString() + "_s";
        TableName clone = TableName.valueOf(c.get("to").getAsString());
        return admin.snapshot(snapshot, name).thenCompose(v -> admin.cloneSnapshot(snapshot, clone))
          .thenCompose(v -> admin.deleteSnapshot(snapshot)).thenApply(DiffClient::done);
      case "drop":
        return admin.disableTable(name).thenCompose(v -> admin.deleteTable(name)).thenApply(DiffClient::done);
      case "flush":
        return admin.flush(name).thenApply(DiffClient::done);
      case "compact":
        return compact(admin, name, () -> admin.compact(name));
      case "major":
        return compact(admin, name, () -> admin.majorCompact(name));
      case "load":
        List<Pair<byte[], String>> files = new ArrayList<>();
        for (JsonElement e : c.getAsJsonArray("files")) {
          files.add(new Pair<>(part(e, 0), e.getAsJsonArray().get(1).getAsString()));
        }
        return DiffLoad.load(connection, name, files).thenApply(loaded -> new JsonPrimitive(loaded ? "ok" : "not loaded"));
      case "settle":
        return admin.compactionSwitch(false, Collections.emptyList()).thenApply(DiffClient::done);
      default:
        throw new IllegalArgumentException("unknown command " + c);
    }
  }

  private static org.apache.hadoop.hbase.client.TableDescriptor descriptor(TableName name, JsonObject c) {
    TableDescriptorBuilder table = TableDescriptorBuilder.newBuilder(name);
    for (JsonElement e : c.getAsJsonArray("families")) {
      JsonObject family = e.getAsJsonObject();
      ColumnFamilyDescriptorBuilder builder =
        ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes(family.get("name").getAsString()));
      for (Map.Entry<String, JsonElement> a : family.entrySet()) {
        if (a.getKey().equals("CONFIGURATION")) {
          for (Map.Entry<String, JsonElement> s : a.getValue().getAsJsonObject().entrySet()) {
            builder.setConfiguration(s.getKey(), s.getValue().getAsString());
          }
        } else if (!a.getKey().equals("name")) {
          builder.setValue(a.getKey(), a.getValue().getAsString());
        }
      }
      table.setColumnFamily(builder.build());
    }
    // What is logged is not compared.
    return table.setDurability(Durability.ASYNC_WAL).build();
  }

  /** Compactions are off but for the one asked for: HBase starts none by itself. */
  private static CompletableFuture<JsonElement> compact(AsyncAdmin admin, TableName name,
    Supplier<CompletableFuture<Void>> start) {
    return admin.compactionSwitch(true, Collections.emptyList()).thenCompose(v -> start.get())
      .thenCompose(v -> settle(admin, name))
      .thenCompose(v -> admin.compactionSwitch(false, Collections.emptyList())).thenApply(DiffClient::done);
  }

  private static CompletableFuture<Void> settle(AsyncAdmin admin, TableName name) {
    return admin.getCompactionState(name).thenCompose(state -> {
      if (state == CompactionState.NONE) {
        return CompletableFuture.completedFuture(null);
      }
      Executor later = CompletableFuture.delayedExecutor(15, TimeUnit.MILLISECONDS);
      return CompletableFuture.supplyAsync(() -> settle(admin, name), later).thenCompose(f -> f);
    });
  }

  // ---- Mutations ------------------------------------------------------------------------------------------------------

  private static byte[] bytes(JsonElement e) {
    return e.getAsString().getBytes(StandardCharsets.ISO_8859_1);
  }

  private static byte[] row(JsonObject c) {
    return bytes(c.get("row"));
  }

  private static long ts(JsonObject c) {
    return c.has("ts") ? c.get("ts").getAsLong() : HConstants.LATEST_TIMESTAMP;
  }

  /** Of [family, qualifier, …]. */
  private static byte[] part(JsonElement e, int i) {
    return bytes(e.getAsJsonArray().get(i));
  }

  private static Mutation mutation(JsonObject c) throws IOException {
    switch (c.get("op").getAsString()) {
      case "put":
        return put(c);
      case "delete":
        return delete(c);
      case "increment":
        return increment(c);
      default:
        return append(c);
    }
  }

  private static Put put(JsonObject c) {
    Put put = new Put(row(c));
    for (JsonElement e : c.getAsJsonArray("cells")) {
      JsonObject cell = e.getAsJsonObject();
      put.addColumn(bytes(cell.get("f")), bytes(cell.get("q")), ts(cell), bytes(cell.get("v")));
    }
    if (c.has("ttl")) {
      put.setTTL(c.get("ttl").getAsLong());
    }
    return put;
  }

  private static JsonArray list(JsonObject c, String name) {
    return c.has(name) ? c.getAsJsonArray(name) : new JsonArray();
  }

  private static Delete delete(JsonObject c) {
    long ts = ts(c);
    Delete delete = new Delete(row(c), ts);
    for (JsonElement e : list(c, "families")) {
      delete.addFamily(bytes(e), ts);
    }
    for (JsonElement e : list(c, "familyVersions")) {
      delete.addFamilyVersion(bytes(e), ts);
    }
    for (JsonElement e : list(c, "columns")) {
      delete.addColumns(part(e, 0), part(e, 1), ts);
    }
    for (JsonElement e : list(c, "versions")) {
      delete.addColumn(part(e, 0), part(e, 1), ts);
    }
    return delete;
  }

  private static Increment increment(JsonObject c) throws IOException {
    Increment increment = new Increment(row(c));
    for (JsonElement e : c.getAsJsonArray("amounts")) {
      long amount = e.getAsJsonArray().get(2).getAsLong();
      increment.addColumn(part(e, 0), part(e, 1), amount);
    }
    if (c.has("timeRange")) {
      TimeRange range = range(c.get("timeRange"));
      increment.setTimeRange(range.getMin(), range.getMax());
    }
    if (c.has("ttl")) {
      increment.setTTL(c.get("ttl").getAsLong());
    }
    increment.setReturnResults(!c.has("quiet"));
    return increment;
  }

  private static Append append(JsonObject c) throws IOException {
    Append append = new Append(row(c));
    for (JsonElement e : c.getAsJsonArray("values")) {
      append.addColumn(part(e, 0), part(e, 1), part(e, 2));
    }
    if (c.has("timeRange")) {
      TimeRange range = range(c.get("timeRange"));
      append.setTimeRange(range.getMin(), range.getMax());
    }
    if (c.has("ttl")) {
      append.setTTL(c.get("ttl").getAsLong());
    }
    append.setReturnResults(!c.has("quiet"));
    return append;
  }

  private static RowMutations rowMutations(JsonObject c) throws IOException {
    List<Mutation> mutations = new ArrayList<>();
    for (JsonElement e : c.getAsJsonArray("mutations")) {
      mutations.add(mutation(e.getAsJsonObject()));
    }
    return RowMutations.of(mutations);
  }

  private static CheckAndMutate check(JsonObject c) throws Exception {
    JsonObject condition = c.getAsJsonObject("condition");
    CheckAndMutate.Builder builder = CheckAndMutate.newBuilder(row(c));
    Filter filter = DiffFilters.of(condition);
    if (filter != null) {
      builder.ifMatches(filter);
    } else {
      JsonElement column = condition.get("column");
      JsonElement value = condition.get("value");
      builder.ifMatches(part(column, 0), part(column, 1),
        CompareOperator.valueOf(condition.get("operator").getAsString()), value.isJsonNull() ? null : bytes(value));
    }
    if (condition.has("timeRange")) {
      builder.timeRange(range(condition.get("timeRange")));
    }
    JsonArray mutations = c.getAsJsonArray("mutations");
    if (mutations.size() > 1) {
      return builder.build(rowMutations(c));
    }
    Mutation only = mutation(mutations.get(0).getAsJsonObject());
    if (only instanceof Put) {
      return builder.build((Put) only);
    }
    if (only instanceof Delete) {
      return builder.build((Delete) only);
    }
    return only instanceof Increment ? builder.build((Increment) only) : builder.build((Append) only);
  }

  // ---- Reads ----------------------------------------------------------------------------------------------------------

  private static TimeRange range(JsonElement e) {
    return TimeRange.between(e.getAsJsonArray().get(0).getAsLong(), e.getAsJsonArray().get(1).getAsLong());
  }

  private static Get get(JsonObject c) throws Exception {
    Get get = new Get(row(c));
    get.setFilter(DiffFilters.of(c));
    list(c, "columns").forEach(e -> get.addColumn(part(e, 0), part(e, 1)));
    list(c, "families").forEach(e -> get.addFamily(bytes(e)));
    if (c.has("versions")) {
      get.readVersions(c.get("versions").getAsInt());
    }
    if (c.has("timeRange")) {
      TimeRange range = range(c.get("timeRange"));
      get.setTimeRange(range.getMin(), range.getMax());
    }
    for (JsonElement e : list(c, "familyTimeRanges")) {
      TimeRange range = range(e.getAsJsonArray().get(1));
      get.setColumnFamilyTimeRange(part(e, 0), range.getMin(), range.getMax());
    }
    if (c.has("storeLimit")) {
      get.setMaxResultsPerColumnFamily(c.get("storeLimit").getAsInt());
    }
    if (c.has("storeOffset")) {
      get.setRowOffsetPerColumnFamily(c.get("storeOffset").getAsInt());
    }
    return get;
  }

  private static Scan scan(JsonObject c) throws Exception {
    Scan scan = new Scan();
    scan.setFilter(DiffFilters.of(c));
    scan.withStartRow(bytes(c.get("start")), c.get("startInclusive").getAsBoolean());
    scan.withStopRow(bytes(c.get("stop")), c.get("stopInclusive").getAsBoolean());
    list(c, "columns").forEach(e -> scan.addColumn(part(e, 0), part(e, 1)));
    list(c, "families").forEach(e -> scan.addFamily(bytes(e)));
    if (c.has("versions")) {
      scan.readVersions(c.get("versions").getAsInt());
    }
    if (c.has("timeRange")) {
      TimeRange range = range(c.get("timeRange"));
      scan.setTimeRange(range.getMin(), range.getMax());
    }
    for (JsonElement e : list(c, "familyTimeRanges")) {
      TimeRange range = range(e.getAsJsonArray().get(1));
      scan.setColumnFamilyTimeRange(part(e, 0), range.getMin(), range.getMax());
    }
    if (c.has("storeLimit")) {
      scan.setMaxResultsPerColumnFamily(c.get("storeLimit").getAsInt());
    }
    if (c.has("storeOffset")) {
      scan.setRowOffsetPerColumnFamily(c.get("storeOffset").getAsInt());
    }
    scan.setReversed(c.has("reversed"));
    if (c.has("reversed")) {
      // Refused in reversed scans, and on by default for filters that know what families they need.
      scan.setLoadColumnFamiliesOnDemand(false);
    }
    scan.setRaw(c.has("raw"));
    if (c.has("limit")) {
      scan.setLimit(c.get("limit").getAsInt());
    }
    if (c.has("batch")) {
      scan.setBatch(c.get("batch").getAsInt());
    }
    if (c.has("caching")) {
      scan.setCaching(c.get("caching").getAsInt());
    }
    if (c.has("maxResultSizeBytes")) {
      scan.setMaxResultSize(c.get("maxResultSizeBytes").getAsLong());
    }
    if (c.has("uncommitted")) {
      scan.setIsolationLevel(IsolationLevel.READ_UNCOMMITTED);
    }
    return scan;
  }

  // ---- Answers --------------------------------------------------------------------------------------------------------

  private static JsonElement done(Object ignored) {
    return new JsonPrimitive("ok");
  }

  private static JsonPrimitive text(byte[] bytes) {
    return new JsonPrimitive(new String(bytes, StandardCharsets.ISO_8859_1));
  }

  /** [[row, family, qualifier, timestamp, type, value], …], or null for no cells. */
  private static JsonElement cells(Result result) {
    if (result == null || result.isEmpty()) {
      return JsonNull.INSTANCE;
    }
    JsonArray cells = new JsonArray();
    for (Cell cell : result.rawCells()) {
      JsonArray one = new JsonArray();
      one.add(text(CellUtil.cloneRow(cell)));
      one.add(text(CellUtil.cloneFamily(cell)));
      one.add(text(CellUtil.cloneQualifier(cell)));
      one.add(cell.getTimestamp());
      one.add(cell.getType().name());
      one.add(text(CellUtil.cloneValue(cell)));
      cells.add(one);
    }
    return cells;
  }

  private static JsonElement results(List<Result> results) {
    JsonArray all = new JsonArray();
    results.forEach(result -> all.add(cells(result)));
    return all;
  }

  private static JsonElement checked(CheckAndMutateResult result) {
    JsonObject answer = new JsonObject();
    answer.addProperty("processed", result.isSuccess());
    answer.add("result", cells(result.getResult()));
    return answer;
  }
}
