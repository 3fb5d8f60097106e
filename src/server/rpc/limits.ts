/** What clients of the native RPC may take: nothing that they can make the server hold is without bound. */
export interface RpcLimits {
  readonly connectionsMax: number;
  /** A request's frame. HBase: hbase.ipc.max.request.size. */
  readonly frameBytesMax: number;
  /** A connection header, or a SASL token. */
  readonly headerBytesMax: number;
  /** Bytes of requests of all connections that are not answered yet or not whole. HBase: hbase.ipc.server.max.callqueue.size. */
  readonly callBytesMax: number;
  /** Calls of one connection that are not answered yet: no more are read until some are. */
  readonly callsMax: number;
  /** Bytes of answers that one connection has not taken: no more calls are read until it has. */
  readonly outputBytesMax: number;
  /** A cell block after decompression. */
  readonly cellBlockBytesMax: number;
  /** Open scanners of all clients. */
  readonly scannersMax: number;
  /** Milliseconds that a scanner lives without being asked. HBase: hbase.client.scanner.timeout.period. */
  readonly scannerLeaseMs: number;
  /** Bytes of cells that one answer to a scan has at most, whatever the client asks for. */
  readonly scanBytesMax: number;
  /** Milliseconds in which preamble and header must arrive. */
  readonly setupTimeoutMs: number;
  /** Milliseconds in which a client that has too much to take must take some of it. */
  readonly stalledTimeoutMs: number;
  /** Milliseconds that running calls get to finish when the server closes. */
  readonly closeTimeoutMs: number;
}

export const RPC_LIMITS: RpcLimits = {
  connectionsMax: 4096,
  frameBytesMax: 256 * 1024 * 1024,
  headerBytesMax: 64 * 1024,
  callBytesMax: 512 * 1024 * 1024,
  callsMax: 1000,
  outputBytesMax: 16 * 1024 * 1024,
  cellBlockBytesMax: 256 * 1024 * 1024,
  scannersMax: 10_000,
  scannerLeaseMs: 60_000,
  scanBytesMax: 100 * 1024 * 1024,
  setupTimeoutMs: 20_000,
  stalledTimeoutMs: 60_000,
  closeTimeoutMs: 5_000,
};
