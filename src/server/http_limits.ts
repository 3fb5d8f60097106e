/** What HTTP takes by default; apart from the server itself, which is loaded when the first request comes. */

/** The default port, HBase's own range (16000 master, 16020 region server). */
export const HTTP_PORT = 16030;
/** Only this machine, unless told otherwise: the endpoint asks nobody who they are. */
export const HTTP_HOST = '127.0.0.1';

/** What one client, or all together, may take. */
export interface HttpLimits {
  readonly bodyBytesMax: number;
  readonly headerBytesMax: number;
  readonly connectionsMax: number;
  /** Milliseconds for a whole request to arrive. */
  readonly requestTimeoutMs: number;
  /** Milliseconds for the headers to arrive. */
  readonly headersTimeoutMs: number;
  /** Milliseconds that a connection may stand idle between two requests. */
  readonly keepAliveTimeoutMs: number;
  /** Milliseconds that running requests get to finish when the server closes. */
  readonly closeTimeoutMs: number;
}

export const HTTP_LIMITS: HttpLimits = {
  bodyBytesMax: 1024 * 1024,
  headerBytesMax: 16 * 1024,
  connectionsMax: 1024,
  requestTimeoutMs: 30_000,
  headersTimeoutMs: 10_000,
  keepAliveTimeoutMs: 72_000,
  closeTimeoutMs: 5_000,
};
