/**
 * What a service of the native RPC looks like to the connection that carries its calls. A service is a table of methods;
 * a method gets the bytes of its request message and gives the bytes of its response message, with cells beside both.
 */
import type { Env } from '../../io/index.ts';
import type { Logger, RegionServer } from '../../engine/index.ts';
import type { StoreConnection } from '../../embedded/index.ts';
import type { BatchLimits, CellBatch } from '../../region/index.ts';
import type { SourceState } from '../../cell/index.ts';
import type { ScanSpec } from '../../model/index.ts';
import type { ServerPlace } from '../place.ts';
import type { RpcLimits } from './limits.ts';

/** The client at the other end of a connection. */
export interface RpcPeer {
  /** Address and port at which this connection arrived: what the client is told to come back to (`ServerPlace#addressFor`). */
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** The effective user of the connection header; empty if it named none. */
  readonly user: string;
  /** `version` of the client's VersionInfo, e.g. `2.6.4`; empty if it sent none. */
  readonly clientVersion: string;
  /** The client reads cell blocks; otherwise cells go into the messages. */
  readonly cellBlocks: boolean;
  /** It does so for the results of gets as well: old ones do not. */
  readonly cellBlocksForGets: boolean;
  /** The client's codec carries tags. */
  readonly cellTags: boolean;
}

export interface RpcCall {
  /** Bytes of the request message without length; valid until the answer is given. */
  readonly param: Uint8Array;
  /** The cell block, uncompressed, as KeyValues each behind its 4-byte length; null if there was none. Valid as `param` is. */
  readonly cells: Uint8Array | null;
  readonly priority: number;
  /** Until when the client waits for the answer, on the steady clock; Infinity: no limit told. */
  readonly deadlineMs: number;
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
  /** Frees what it holds, when no call will come any more. */
  close?(): void;
}

/** What services are made of. One for each running server. */
export interface ServerParts {
  readonly connection: StoreConnection;
  /** `connection.server`. */
  readonly engine: RegionServer;
  readonly env: Env;
  /** Who this server is, and at which address each client finds it. */
  readonly place: ServerPlace;
  readonly logger: Logger;
  readonly limits: RpcLimits;
  /** Regions that are made up when they are read: hbase:meta and its like. ClientService serves them beside the store's. */
  readonly systemRegions: readonly SystemRegion[];
}

export type RpcServiceFactory = (parts: ServerParts) => RpcService;

/** Reads rows into a batch; as RegionScanner does. */
export interface RowScanner {
  /**
   * Adds results to `batch` until a limit is reached (READY), there are no more (END), or bytes are wanted (WAIT: `load`,
   * then call again).
   */
  next(batch: CellBatch, limits: BatchLimits): SourceState;
  load(): Promise<void>;
  /** False if it is known that no row comes behind those that were read. Absent: it is not known before END. */
  hasMore?(): boolean;
  /** The filter wants nothing more. */
  isFilterDone?(): boolean;
  /** A copy of the row that was begun last. */
  currentRow?(): Uint8Array;
  /** Rows read so far, and those of them that were dropped. */
  readonly rowsScanned?: number;
  readonly rowsFiltered?: number;
  /** Idempotent. */
  close(): void;
}

/** A region whose rows are made up when a scan begins. It takes no writes. */
export interface SystemRegion {
  /** The table's name, e.g. `hbase:meta`. */
  readonly table: string;
  /** The whole region name, e.g. `hbase:meta,,1`. */
  readonly name: string;
  readonly encodedName: string;
  /**
   * A scanner of its rows as this client is to see them. `spec.from` and `spec.to` are the rows' bounds, `to` exclusive (a
   * row and one more byte 0 where the client asked for it inclusively); a get comes as a scan of one row. Throws
   * NoSuchColumnFamilyException.
   */
  open(spec: ScanSpec, peer: RpcPeer): RowScanner;
}
