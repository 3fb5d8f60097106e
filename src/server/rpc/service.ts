/**
 * What a service of the native RPC looks like to the connection that carries its calls. A service is a table of methods;
 * a method gets the bytes of its request message and gives the bytes of its response message, with cells beside both.
 */

/** The client at the other end of a connection. */
export interface RpcPeer {
  /** Address and port at which this connection arrived: what the client is told to come back to. */
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** The effective user of the connection header; empty if it named none. */
  readonly user: string;
  /** `version` of the client's VersionInfo, e.g. `2.6.4`; empty if it sent none. */
  readonly clientVersion: string;
}

export interface RpcCall {
  /** Bytes of the request message without length; valid until the answer is given. */
  readonly param: Uint8Array;
  /** The cell block, uncompressed, as KeyValues each behind its 4-byte length; null if there was none. Valid as `param` is. */
  readonly cells: Uint8Array | null;
  readonly priority: number;
  /** Milliseconds the client waits for the answer; 0: no limit told. */
  readonly timeoutMs: number;
  /** Aborted when the client cancels the call or its connection ends. */
  readonly signal: AbortSignal;
  readonly peer: RpcPeer;
}

export interface RpcAnswer {
  /** Bytes of the response message without length; the service gives them away. */
  readonly message: Uint8Array;
  /** Cells beside the message, KeyValues each behind its 4-byte length, in pieces that are sent one after another. */
  readonly cells?: readonly Uint8Array[];
}

/** Errors it throws are sent as HBase's exceptions (`exceptions.ts` beside this file). */
export type RpcMethod = (call: RpcCall) => RpcAnswer | Promise<RpcAnswer>;

export interface RpcService {
  /** As the connection header names it: `ClientService`, `MasterService`, … */
  readonly name: string;
  readonly methods: ReadonlyMap<string, RpcMethod>;
}
