/**
 * The API that users see. `engine` implements it on a folder or in memory, `client` over the network.
 * Every commit is stamped with one TSO (64 bits, `bigint`); mutations answer it.
 */
import type {
  AsOf,
  Bytes,
  CheckAndMutate,
  ColumnCondition,
  Condition,
  DeleteSpec,
  Durability,
  IncrementOptions,
  Mutation,
  MutationOptions,
  Operation,
  PutOptions,
  ReadOptions,
  ScanOptions,
  Value,
  Values,
} from './requests.ts';
import type { ExplainTarget, ReadExplanation } from './explain.ts';
import type { Result } from './result.ts';
import type { FamilySpec, TableDescription, TableSpec } from './schema.ts';

export interface Connection extends AsyncDisposable {
  /** No I/O: an unknown table is found out by the first operation (TableNotFoundException). */
  table(name: string): Table;
  readonly admin: Admin;
  /** A fresh stamp from the oracle, greater than every stamp given before and never the stamp of a commit. */
  tso(): Promise<bigint>;
  /** The store files of a table, or of all, newest first for each store. */
  files(table?: string): Promise<FileDescription[]>;
  /** The regions of a table, or of all, in the order of their rows: borders, sizes, load. */
  regions(table?: string): Promise<RegionDescription[]>;
  /**
   * Pins this moment: everything acknowledged so far, over all tables, stays readable until the release or the end of the
   * lease, whatever is written, compacted, altered or dropped meanwhile. Flushes nothing. (`admin.snapshot` is another
   * thing: it names a table's files.) Throws SnapshotExistsException.
   */
  snapshot(options?: SnapshotOptions): Promise<PinnedSnapshot>;
  /** The snapshot pinned under this name, by this process or an earlier one. Throws SnapshotDoesNotExistException. */
  openSnapshot(name: string): Promise<PinnedSnapshot>;
  /** The named pins, by name. */
  listPins(): Promise<PinDescription[]>;
  /** Throws SnapshotDoesNotExistException. */
  releasePin(name: string): Promise<void>;
  /** Figures for people and metrics. */
  status(): StoreStatus;
  /** Waits until every commit so far is on the disk, whatever its durability (skipped ones excepted). */
  sync(): Promise<void>;
  /** Finishes running operations, syncs, frees the folder. Idempotent. */
  close(): Promise<void>;
}

export interface Table {
  readonly name: string;
  /** Writes cells of one row in one commit and answers the commit's TSO. */
  put(row: Bytes, values: Values, options?: PutOptions): Promise<bigint>;
  /** The row's visible cells, or null if it has none. */
  get(row: Bytes, options?: ReadOptions): Promise<Result | null>;
  /** As `get`, answered from memory; throws NotInMemoryException when the disk would have to be asked. */
  getSync(row: Bytes, options?: ReadOptions): Result | null;
  getMany(rows: readonly Bytes[], options?: ReadOptions): Promise<(Result | null)[]>;
  exists(row: Bytes, options?: ReadOptions): Promise<boolean>;
  delete(row: Bytes, spec?: DeleteSpec): Promise<bigint>;
  /** Reads as of the moment of the first fetch. Leaving a `for await` loop closes it. */
  scan(options?: ScanOptions): Scanner;
  /** Rows with at least one visible cell. */
  count(options?: ScanOptions): Promise<number>;
  /**
   * Runs a read and answers, in place of its results, what it took: regions, memstores and files looked at or ruled out and
   * why, blocks, seeks, and what became of the cells.
   */
  explain(target: ExplainTarget): Promise<ReadExplanation>;
  /** Operations that succeed or fail one by one, in order for each row. Never throws for a single operation's fault. */
  batch(operations: readonly Operation[]): Promise<OperationOutcome[]>;
  /** Mutations of one row, all or nothing, one commit. */
  mutateRow(row: Bytes, mutations: readonly Mutation[]): Promise<MutationResult>;
  /** Puts and deletes of several rows of one region, all or nothing, one commit. */
  mutateRows(mutations: readonly Mutation[]): Promise<bigint>;
  /** Adds to 8-byte big-endian counters; an absent cell counts as 0. Answers the new cells. */
  increment(
    row: Bytes,
    amounts: Readonly<Record<string, bigint | number>>,
    options?: IncrementOptions,
  ): Promise<MutationResult>;
  /**
   * A transaction over rows of one region: that of a key prefix, of a row, or the region named. Reads see its own writes; all
   * is committed at once, serializably, with one TSO, or nothing. `work` may be run several times: what it has read is
   * checked in the commit, and if others wrote it meanwhile all begins again. Throws what `work` throws (then nothing was
   * written), WrongRegionException for a row outside the region, TransactionConflictException after too many attempts.
   */
  transact<T>(
    target: TransactTarget,
    work: (tx: GroupTransaction) => Promise<T>,
    options?: TransactOptions,
  ): Promise<TransactResult<T>>;
  append(
    row: Bytes,
    values: Readonly<Record<string, Value>>,
    options?: IncrementOptions,
  ): Promise<MutationResult>;
  /** Checks and, if the condition holds, applies the mutation (or several, atomically), under the row's lock. */
  checkAndMutate(
    row: Bytes,
    condition: Condition,
    action: Mutation | readonly Mutation[],
  ): Promise<CheckAndMutateResult>;
  /**
   * Conditional changes that succeed or fail one by one, in order for each row; each sees what those before it wrote. Never
   * throws for a single one's fault.
   */
  checkAndMutateAll(checks: readonly CheckAndMutate[]): Promise<CheckAndMutateOutcome[]>;
}

/** A prefix or row, or the encoded or full name of a region. */
export type TransactTarget = Bytes | { readonly region: string };

export interface TransactOptions {
  readonly durability?: Durability;
  /** Default 50. */
  readonly attemptsMax?: number;
}

export interface TransactResult<T> {
  /** Null when nothing was written. */
  readonly tso: bigint | null;
  /** What `work` answered. */
  readonly value: T;
  readonly attempts: number;
}

/**
 * Reads and writes of a transaction, valid while its work runs. Reads take no `asOf`, `filter` or `isolation`. All writes
 * have one timestamp, so, as in `mutateRow`, a delete hides puts of the same columns, earlier and later ones.
 */
export interface GroupTransaction {
  get(row: Bytes, options?: ReadOptions): Promise<Result | null>;
  exists(row: Bytes, options?: ReadOptions): Promise<boolean>;
  /** The rows of the region within these bounds, all at once. */
  scan(options?: ScanOptions): Promise<Result[]>;
  /** Whether the condition holds; it still will at the commit. */
  check(row: Bytes, condition: ColumnCondition): Promise<boolean>;
  put(row: Bytes, values: Values, options?: MutationOptions): void;
  delete(row: Bytes, spec?: DeleteSpec): void;
  /** Adds to 8-byte counters and answers the sums. */
  increment(
    row: Bytes,
    amounts: Readonly<Record<string, bigint | number>>,
  ): Promise<Readonly<Record<string, bigint>>>;
  /** Adds bytes at the end of values and answers these as they are then. */
  append(
    row: Bytes,
    values: Readonly<Record<string, Value>>,
  ): Promise<Readonly<Record<string, Uint8Array>>>;
}

/** A running scan. `for await` gives results one by one; the other forms avoid a promise a row. */
export interface Scanner extends AsyncIterable<Result>, AsyncDisposable {
  [Symbol.asyncIterator](): AsyncIterator<Result>;
  /** Up to `count` further results (default 1000); an empty array at the end. */
  nextBatch(count?: number): Promise<Result[]>;
  /** Idempotent. */
  close(): Promise<void>;
}

export interface MutationResult {
  readonly tso: bigint;
  /** The new cells of increments and appends; null where there are none or they were not wanted. */
  readonly result: Result | null;
}

export interface CheckAndMutateResult {
  readonly processed: boolean;
  /** The commit's TSO; null when nothing was written. */
  readonly tso: bigint | null;
  readonly result: Result | null;
}

/** `error` is a StoreException, with its `code`, unless it comes out of the caller's own code (a filter, say). */
export interface FailedOperation {
  readonly ok: false;
  readonly error: Error & { readonly code?: string };
}

export type CheckAndMutateOutcome =
  ({ readonly ok: true } & CheckAndMutateResult) | FailedOperation;

export type OperationOutcome =
  | {
      readonly ok: true;
      readonly tso: bigint | null;
      readonly result: Result | null;
      /** Of a conditional operation: whether the condition held. */
      readonly processed?: boolean;
    }
  | FailedOperation;

export interface Admin {
  createNamespace(name: string, attributes?: Readonly<Record<string, string>>): Promise<void>;
  /** Refused while it has tables. */
  dropNamespace(name: string): Promise<void>;
  listNamespaces(): Promise<string[]>;
  createTable(spec: TableSpec): Promise<void>;
  /** Changes attributes of the table and of the families named; other families stay as they are. */
  alterTable(spec: TableSpec): Promise<void>;
  addFamily(table: string, family: FamilySpec | string): Promise<void>;
  modifyFamily(table: string, family: FamilySpec): Promise<void>;
  /** Throws TableHasPreparedTransactions; so do `truncateTable` and `dropTable`. */
  dropFamily(table: string, family: string, options?: DropOptions): Promise<void>;
  enableTable(table: string): Promise<void>;
  disableTable(table: string): Promise<void>;
  isEnabled(table: string): Promise<boolean>;
  /** Empties the table: it gets a new id, its old data stays readable as of before for the retention. */
  truncateTable(table: string, options?: DropOptions): Promise<void>;
  /** HBase asks for the table to be disabled first; so do we. */
  dropTable(table: string, options?: DropOptions): Promise<void>;
  tableExists(table: string): Promise<boolean>;
  describeTable(table: string): Promise<TableDescription>;
  /** Brings what the table has in memory into store files; of all tables without a name. */
  flush(table?: string): Promise<void>;
  /** Merges store files by the ratio rules, or, with `major`, all of each store into one without what nobody may see. */
  compact(table: string, options?: { major?: boolean }): Promise<void>;
  /**
   * Names the content of a table, or of several at one moment. Writers go on. Throws SnapshotExistsException,
   * TableNotFoundException.
   */
  snapshot(name: string, tables: string | readonly string[]): Promise<void>;
  /** In byte order of their names; `pattern` is a regular expression over the whole name. */
  listSnapshots(options?: { pattern?: string }): Promise<SnapshotDescription[]>;
  /** The files go when nothing else needs them. Throws SnapshotDoesNotExistException. */
  deleteSnapshot(name: string): Promise<void>;
  /**
   * Makes a new table of a snapshot's content, without copying it. A snapshot of several tables takes a name for each:
   * `{ table: 'its clone' }`. Throws SnapshotDoesNotExistException, TableExistsException.
   */
  cloneSnapshot(name: string, table: string | Readonly<Record<string, string>>): Promise<void>;
  /**
   * Gives the snapshot's tables the content and the description they had. A table must be disabled, and stays so; one that
   * was dropped comes back enabled. Throws SnapshotDoesNotExistException, TableNotDisabledException.
   */
  restoreSnapshot(name: string): Promise<void>;
  /**
   * Loads HFiles `dir`/<family>/<file>, made by HBase's tools or ours, as one commit: all of them or none. They are checked
   * and copied (with `move`: moved). Names that begin with `_` or `.` are passed over.
   */
  bulkLoad(table: string, dir: string, options?: { move?: boolean }): Promise<BulkLoadResult>;
  /**
   * Splits a region in two: the one that holds `row`, there; without a row every region of the table that can be split, in
   * the middle of its largest file. A prefix policy of the table cuts the row. `target` may also be the name of a region.
   * Throws DoNotRetryIOException where that cannot be, or the switches forbid it.
   */
  split(target: string, row?: Bytes): Promise<void>;
  /** Merges two neighbours, named by their encoded or full names. */
  mergeRegions(table: string, one: string, other: string): Promise<void>;
  /** Whether regions may be split, merged, normalized at all; all three are on at first. */
  isSwitchOn(name: RegionSwitch): Promise<boolean>;
  /** Answers what it was. Splits and merges by hand are forbidden, too. */
  setSwitch(name: RegionSwitch, on: boolean): Promise<boolean>;
  /**
   * Splits regions of more than twice the average and merges small neighbours, once, in this table, or in all that have
   * NORMALIZATION_ENABLED.
   */
  normalize(table?: string): Promise<NormalizeResult>;
  /** Names, in byte order; `pattern` is a regular expression over the whole name. */
  listTables(options?: { namespace?: string; pattern?: string }): Promise<string[]>;
}

export interface DropOptions {
  /** Aborts the prepared transactions that hold cells of what goes, instead of refusing. */
  readonly force?: boolean;
}

export type RegionSwitch = 'split' | 'merge' | 'normalizer';

export interface NormalizeResult {
  readonly splits: number;
  readonly merges: number;
}

export interface RegionDescription {
  readonly table: string;
  /** 32 hex digits; also its folder. */
  readonly encodedName: string;
  /** `<table>,<start key>,<region id>.<encoded>.` */
  readonly name: Uint8Array;
  readonly startKey: Uint8Array;
  /** Empty: no end. */
  readonly endKey: Uint8Array;
  readonly storeFiles: number;
  /** Parts of files that other regions have, too, are estimated. */
  readonly storeFileBytes: number;
  readonly storeFileCells: number;
  /** Of the store files: those that are parts of a parent's. */
  readonly references: number;
  readonly historyFiles: number;
  readonly historyBytes: number;
  readonly memstoreCells: number;
  readonly memstoreHeapBytes: number;
  /** Since the region was opened, split or merged. */
  readonly readRequests: number;
  readonly writeRequests: number;
}

export interface SnapshotDescription {
  readonly name: string;
  /** The commits up to here are in it. */
  readonly tso: bigint;
  readonly createdMs: number;
  readonly tables: readonly string[];
  readonly files: number;
  /** Of its files, whoever else needs them. */
  readonly sizeBytes: number;
}

export interface BulkLoadResult {
  /** The commit; null when there was nothing to load. */
  readonly tso: bigint | null;
  readonly files: number;
  readonly cells: number;
  readonly sizeBytes: number;
  /** Files whose rows lie in more than one region. */
  readonly filesAcrossRegions: number;
}

export interface SnapshotOptions {
  /** Survives closing and reopening; by default it lives in memory, as long as the connection. */
  readonly name?: string;
  /** For whom it is kept; shown by `listPins` and status. */
  readonly owner?: string;
  /** After this it holds nothing any more. Default: one hour, for a named one no end. */
  readonly leaseMs?: number;
}

/** A moment that stays readable. Disposing of it releases one without a name; a named one waits for `release`. */
export interface PinnedSnapshot extends AsyncDisposable {
  readonly tso: bigint;
  readonly name: string | null;
  /** The table as of the snapshot. No I/O: what is wrong with the name is found out by the first read. */
  table(name: string): SnapshotTable;
  /** Idempotent; its tables cannot be read any more. */
  release(): Promise<void>;
}

/** A table to read only, by default as of one moment. */
export type SnapshotTable = Pick<
  Table,
  'name' | 'get' | 'getSync' | 'getMany' | 'exists' | 'scan' | 'count' | 'explain'
>;

/** A named pin. */
export interface PinDescription {
  readonly name: string;
  readonly tso: bigint;
  readonly owner: string;
  readonly createdMs: number;
  /** End of its lease; null for none. */
  readonly expiresMs: number | null;
}

export interface FileDescription {
  readonly table: string;
  readonly region: string;
  readonly family: string;
  /** Relative to the data folder. */
  readonly path: string;
  /** `store`, `history` (cells that left the live files at `dropTso`), `staged` or `reference`. */
  readonly kind: string;
  readonly sizeBytes: number;
  readonly cells: number;
  readonly level: number;
  readonly firstRow: Uint8Array | null;
  readonly lastRow: Uint8Array | null;
  /** Cell timestamps, milliseconds, both inclusive. */
  readonly minTimestamp: bigint;
  readonly maxTimestamp: bigint;
  /** Commits whose cells are in the file, both inclusive. */
  readonly minTso: bigint;
  readonly maxTso: bigint;
  readonly dropTso: bigint | null;
  readonly flags: readonly string[];
}

export interface StoreStatus {
  /** Folder, or null for a store in memory. */
  readonly data: string | null;
  readonly durability: string;
  readonly readPoint: bigint;
  readonly durablePoint: bigint;
  readonly tables: number;
  readonly regions: number;
  readonly memstoreCells: number;
  readonly memstoreBytes: number;
  readonly memstoreHeapBytes: number;
  readonly memstoreLimitBytes: number;
  readonly logBytes: number;
  readonly history: HistoryStatus;
  /** Absent: the store is open without transactions. */
  readonly transactions?: PendingTransactions;
  /** Set when the store takes no writes any more: why. */
  readonly fatal: string | null;
  /** Set while memory cannot be brought to the disk: why the last flush failed, a full disk say. It is tried again. */
  readonly flushFailure?: string;
  readonly counters: Readonly<Record<string, number>>;
}

/** Transactions that are not decided. */
export interface PendingTransactions {
  readonly open: number;
  readonly prepared: number;
  /** For how long the oldest prepared one has waited; null when none does. */
  readonly oldestPreparedMs: number | null;
}

/** What is kept of the past. */
export interface HistoryStatus {
  /** Of history files; also part of each table's figures. */
  readonly bytes: number;
  readonly files: number;
  readonly merges: number;
  /** Tables dropped or truncated that are still kept, and the bytes of their files. */
  readonly droppedTables: number;
  readonly droppedBytes: number;
  /** Where no table says otherwise. */
  readonly oldestReadableTso: bigint;
  /** The oldest moment that a running scan, a pin or a hold needs, and who; null when nobody does. */
  readonly oldestReaderTso: bigint | null;
  readonly oldestReader: string | null;
  readonly tables: readonly TableHistory[];
}

export interface TableHistory {
  readonly table: string;
  readonly bytes: number;
  readonly files: number;
  /** Reads as of an older moment throw SnapshotTooOld. */
  readonly oldestReadableTso: bigint;
}

export type { AsOf };
