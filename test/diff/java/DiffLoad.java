package org.apache.hadoop.hbase.client;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.ipc.HBaseRpcController;
import org.apache.hadoop.hbase.shaded.protobuf.RequestConverter;
import org.apache.hadoop.hbase.util.Pair;

/** Asks a region server to take HFiles, as HBase's tool for bulk loads does; the client keeps that call to itself. */
public final class DiffLoad {
  private DiffLoad() {
  }

  /** Into a table of one region. The files, a path for each family, are moved. */
  public static CompletableFuture<Boolean> load(AsyncConnection connection, TableName table,
    List<Pair<byte[], String>> familyPaths) {
    AsyncConnectionImpl own = (AsyncConnectionImpl) connection;
    return connection.getRegionLocator(table).getRegionLocation(HConstants.EMPTY_BYTE_ARRAY, true)
      .thenCompose(location -> {
        CompletableFuture<Boolean> loaded = new CompletableFuture<>();
        HBaseRpcController controller = own.rpcControllerFactory.newController();
        try {
          own.getRegionServerStub(location.getServerName()).bulkLoadHFile(controller,
            RequestConverter.buildBulkLoadHFileRequest(familyPaths, location.getRegion().getRegionName(), true, null,
              null),
            answer -> {
              if (controller.failed()) {
                loaded.completeExceptionally(controller.getFailed());
              } else {
                loaded.complete(answer.getLoaded());
              }
            });
        } catch (Exception e) {
          loaded.completeExceptionally(e);
        }
        return loaded;
      });
  }
}
