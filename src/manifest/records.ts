/**
 * What the manifest holds: keyed collections of typed records. Times are Unix milliseconds, TSOs and write numbers
 * `bigint`. A record is never changed, only replaced; whoever gets one must not change it, nor its bytes.
 *
 * To add a collection: its record type here, one line in `Collections`, one in `COLLECTIONS` with a new code.
 * To add a field: at the end of its struct, with `added(field, value for older records)`.
 * An older program refuses records that it does not know with NewerVersionException.
 */
import type { FamilySchema, TableSchema } from '../model/index.ts';
import {
  added,
  bytes,
  count,
  dictionary,
  type Field,
  flag,
  list,
  nullable,
  oneOf,
  struct,
  text,
  u64,
} from './field.ts';

export type Key = string | number | bigint;

/** The one key of a collection with a single record. */
export const ONLY = 'only';

/** The store itself. Written by the manifest alone. */
export interface StoreRecord {
  /** 32 hex digits; also in the header of each manifest file and log segment. */
  readonly storeId: string;
  /** Names this server to its clients: a transaction is pinned to it. */
  readonly serverId: string;
  readonly createdMs: number;
  /** Numbers below these were given (`Manifest#takeId`). */
  readonly nextTableId: number;
  readonly nextFamilyId: number;
  readonly nextRegionId: number;
  readonly nextFileId: number;
}

export interface NamespaceRecord {
  readonly name: string;
  readonly configuration: Readonly<Record<string, string>>;
  readonly createdTso: bigint;
}

/** The descriptor that holds from `tso` on. */
export interface SchemaVersion {
  readonly tso: bigint;
  readonly schema: TableSchema;
  /** A family that was dropped and added again has another id. */
  readonly familyIds: Readonly<Record<string, number>>;
}

export interface TableRecord {
  readonly id: number;
  /** As users write it: without namespace `default`. */
  readonly name: string;
  readonly enabled: boolean;
  readonly createdTso: bigint;
  /** Reads as of before still find the table. Null while it lives. */
  readonly droppedTso: bigint | null;
  /** In order of their TSO; the last one holds now. */
  readonly schemas: readonly SchemaVersion[];
}

export type RegionState = 'open' | 'splitting' | 'split' | 'merging' | 'merged' | 'offline';

/** A region's files are the file records with its id. */
export interface RegionRecord {
  readonly id: number;
  readonly tableId: number;
  /** 32 hex digits, also its folder's name (`encodedRegionName`). */
  readonly encodedName: string;
  /** The last part of the region's name. */
  readonly regionIdMs: number;
  /** Empty: from the first row. */
  readonly startKey: Uint8Array;
  /** Exclusive; empty: to the last row. */
  readonly endKey: Uint8Array;
  readonly createdTso: bigint;
  /** The region that was split, or those that were merged, into this one. */
  readonly parents: readonly number[];
  readonly state: RegionState;
  readonly removedTso: bigint | null;
}

export type FileKind = 'store' | 'history' | 'staged' | 'reference';

/** Stands for the stamps of all cells of a file (bulk load, staged transactions). */
export interface FileStamp {
  readonly writeNumber: bigint;
  /** For cells that asked for LATEST; null when all have explicit timestamps. */
  readonly timestamp: bigint | null;
}

/**
 * The rows of a physical file that a record stands for: after a split each daughter has a half of the parent's files
 * (HBase: Reference), after a merge of regions with such halves a range in the middle.
 */
export interface FileReference {
  /** The file record that this one came from; it may be gone. */
  readonly fileId: number;
  readonly fromRow: Uint8Array;
  /** Exclusive; empty: no end. */
  readonly toRow: Uint8Array;
}

export interface FileRecord {
  readonly id: number;
  readonly tableId: number;
  /** Null for a staged file, which belongs to its table. */
  readonly regionId: number | null;
  readonly familyId: number;
  /** Relative to the data folder. Several records may name one physical file: it goes with the last of them. */
  readonly path: string;
  readonly kind: FileKind;
  readonly sizeBytes: number;
  readonly cellCount: number;
  /** Null when the file is empty. */
  readonly firstRow: Uint8Array | null;
  readonly lastRow: Uint8Array | null;
  readonly minTimestamp: bigint;
  readonly maxTimestamp: bigint;
  readonly minWriteNumber: bigint;
  readonly maxWriteNumber: bigint;
  /** Every commit of the store up to here that was flushed lies in this file or in older ones; null for loaded files. */
  readonly maxFlushedTso: bigint | null;
  /** The switch that took a history file's cells out of the live files. */
  readonly dropTso: bigint | null;
  readonly stamp: FileStamp | null;
  /** Null: the whole file, or, with flag `part`, its rows within the region's borders. */
  readonly reference: FileReference | null;
  readonly level: number;
  /**
   * Words: `major`, `bulk`, `tags`, `unsynced`; `part`: only the rows within the borders of its region count, others of
   * the same physical file belong to other regions.
   */
  readonly flags: readonly string[];
  /** Readers at or above see the file … */
  readonly addedTso: bigint;
  /** … and below this. Null while it is live. */
  readonly removedTso: bigint | null;
}

/** Cells of this store at or below `tso` are in its files: replay skips them. */
export interface FlushedRecord {
  readonly regionId: number;
  readonly familyId: number;
  readonly tso: bigint;
}

/** The durable state of the timestamp oracle (transactions.md section 1). */
export interface OracleRecord {
  /** Version of the record: 1. */
  readonly v: number;
  /** Stamps for outside use have physical parts below this; 0 when none was ever reserved. */
  readonly windowEndMs: number;
  readonly committedTso: bigint;
  /** Stamps may have left the process since the last calibration. */
  readonly external: boolean;
  /** The exact cursor of a clean close; null while open and after a crash. */
  readonly cleanCursor: bigint | null;
  /** A repair set the cursor: stamps given outside before may be above stamps given since. */
  readonly stampsMayBeLost: boolean;
}

/** A region of a table as a snapshot keeps it. Its files are the file records with its id. */
export interface SnapshotRegion {
  /** Of the snapshot alone: there is no region record of this id. */
  readonly id: number;
  readonly startKey: Uint8Array;
  readonly endKey: Uint8Array;
}

/** What a snapshot keeps of one table beside its descriptor. */
export interface SnapshotTable {
  /** The table id of its file records, of the snapshot alone. */
  readonly id: number;
  /** The ids of its families in its file records. */
  readonly familyIds: Readonly<Record<string, number>>;
  /** In order of their start keys. */
  readonly regions: readonly SnapshotRegion[];
}

export interface SnapshotRecord {
  readonly name: string;
  readonly tso: bigint;
  readonly createdMs: number;
  /** `pin`: a named read point; `table`: HBase's snapshot of one table. */
  readonly kind: 'pin' | 'table';
  readonly owner: string;
  /** End of its lease; null for none. */
  readonly expiresMs: number | null;
  readonly tableIds: readonly number[];
  /** Exactly the files that a table snapshot names: records of its own, of files that tables may name, too. */
  readonly fileIds: readonly number[];
  /** The descriptors of that moment, in the order of `tableIds`. */
  readonly schemas: readonly TableSchema[];
  /** In the order of `tableIds`; empty for a pin. */
  readonly tables: readonly SnapshotTable[];
}

export type TransactionState = 'OPEN' | 'PREPARED' | 'COMMITTED' | 'ABORTED';

/** The state of a transaction at a checkpoint; the log's decision record is the truth behind it. */
export interface TransactionRecord {
  readonly id: bigint;
  readonly namespace: string;
  readonly label: string;
  readonly state: TransactionState;
  /** Why it was aborted. */
  readonly reason: string | null;
  readonly tso: bigint | null;
  readonly digest: string | null;
  readonly createdMs: number;
  readonly deadlineMs: number | null;
  readonly fileIds: readonly number[];
  /** What only the transaction part reads. */
  readonly detail: Uint8Array;
}

export interface BackupRecord {
  readonly id: string;
  readonly kind: 'full' | 'incremental';
  readonly parentId: string | null;
  readonly location: string;
  readonly fromTso: bigint;
  readonly toTso: bigint;
  readonly createdMs: number;
  readonly tableIds: readonly number[];
  readonly state: 'running' | 'complete' | 'failed';
  readonly detail: Uint8Array;
}

/** Keeps the history at and above a TSO readable, and the log from it on if `log`. */
export interface HoldRecord {
  readonly id: string;
  readonly owner: string;
  readonly tso: bigint;
  readonly createdMs: number;
  readonly expiresMs: number | null;
  readonly log: boolean;
}

/** A table or family id whose log records replay and backup skip. */
export interface DroppedIdRecord {
  readonly kind: 'table' | 'family';
  readonly id: number;
  readonly tso: bigint;
}

/** The nonces of the last 30 minutes that log segments no longer hold. */
export interface NoncesRecord {
  readonly asOfTso: bigint;
  readonly body: Uint8Array;
}

export interface SettingRecord {
  readonly name: string;
  readonly value: string;
}

interface Entry<K extends Key, R> {
  readonly key: K;
  readonly record: R;
}

/** Key and record of each collection. */
export interface Collections {
  readonly store: Entry<string, StoreRecord>;
  readonly namespace: Entry<string, NamespaceRecord>;
  readonly table: Entry<number, TableRecord>;
  readonly region: Entry<number, RegionRecord>;
  readonly file: Entry<number, FileRecord>;
  readonly flushed: Entry<string, FlushedRecord>;
  readonly oracle: Entry<string, OracleRecord>;
  readonly snapshot: Entry<string, SnapshotRecord>;
  readonly transaction: Entry<bigint, TransactionRecord>;
  readonly backup: Entry<string, BackupRecord>;
  readonly hold: Entry<string, HoldRecord>;
  readonly droppedId: Entry<string, DroppedIdRecord>;
  readonly nonces: Entry<string, NoncesRecord>;
  readonly setting: Entry<string, SettingRecord>;
}

export type CollectionName = keyof Collections;
export type KeyOf<C extends CollectionName> = Collections[C]['key'];
export type RecordOf<C extends CollectionName> = Collections[C]['record'];

/** How a collection is kept. */
export interface CollectionType<K extends Key, R> {
  /** On disk: never changes, never used again. */
  readonly code: number;
  readonly field: Field<R>;
  readonly keyField: Field<K>;
  keyOf(record: R): K;
  /** Records are also found by this number (`Manifest#group`). */
  groupOf?(record: R): number | null;
}

/** Key of `flushed`. */
export function flushedKey(regionId: number, familyId: number): string {
  return `${regionId}/${familyId}`;
}

/** Key of `droppedId`. */
export function droppedIdKey(kind: 'table' | 'family', id: number): string {
  return `${kind}/${id}`;
}

const texts = dictionary(text);

const familySchema = struct<FamilySchema>({
  name: text,
  attributes: texts,
  configuration: texts,
});

const tableSchema = struct<TableSchema>({
  name: text,
  attributes: texts,
  configuration: texts,
  families: list(familySchema),
});

const file = struct<FileRecord>({
  id: count,
  tableId: count,
  regionId: nullable(count),
  familyId: count,
  path: text,
  kind: oneOf('store', 'history', 'staged', 'reference'),
  sizeBytes: count,
  cellCount: count,
  firstRow: nullable(bytes),
  lastRow: nullable(bytes),
  minTimestamp: u64,
  maxTimestamp: u64,
  minWriteNumber: u64,
  maxWriteNumber: u64,
  maxFlushedTso: nullable(u64),
  dropTso: nullable(u64),
  stamp: nullable(struct<FileStamp>({ writeNumber: u64, timestamp: nullable(u64) })),
  reference: nullable(struct<FileReference>({ fileId: count, fromRow: bytes, toRow: bytes })),
  level: count,
  flags: list(text),
  addedTso: u64,
  removedTso: nullable(u64),
});

/** Every collection's format. */
export const COLLECTIONS: {
  readonly [C in CollectionName]: CollectionType<KeyOf<C>, RecordOf<C>>;
} = {
  store: {
    code: 1,
    keyField: text,
    keyOf: () => ONLY,
    field: struct<StoreRecord>({
      storeId: text,
      serverId: text,
      createdMs: count,
      nextTableId: count,
      nextFamilyId: count,
      nextRegionId: count,
      nextFileId: count,
    }),
  },
  namespace: {
    code: 2,
    keyField: text,
    keyOf: (record) => record.name,
    field: struct<NamespaceRecord>({ name: text, configuration: texts, createdTso: u64 }),
  },
  table: {
    code: 3,
    keyField: count,
    keyOf: (record) => record.id,
    field: struct<TableRecord>({
      id: count,
      name: text,
      enabled: flag,
      createdTso: u64,
      droppedTso: nullable(u64),
      schemas: list(
        struct<SchemaVersion>({ tso: u64, schema: tableSchema, familyIds: dictionary(count) }),
      ),
    }),
  },
  region: {
    code: 4,
    keyField: count,
    keyOf: (record) => record.id,
    groupOf: (record) => record.tableId,
    field: struct<RegionRecord>({
      id: count,
      tableId: count,
      encodedName: text,
      regionIdMs: count,
      startKey: bytes,
      endKey: bytes,
      createdTso: u64,
      parents: list(count),
      state: oneOf('open', 'splitting', 'split', 'merging', 'merged', 'offline'),
      removedTso: nullable(u64),
    }),
  },
  file: {
    code: 5,
    keyField: count,
    keyOf: (record) => record.id,
    groupOf: (record) => record.regionId,
    field: file,
  },
  flushed: {
    code: 6,
    keyField: text,
    keyOf: (record) => flushedKey(record.regionId, record.familyId),
    groupOf: (record) => record.regionId,
    field: struct<FlushedRecord>({ regionId: count, familyId: count, tso: u64 }),
  },
  oracle: {
    code: 7,
    keyField: text,
    keyOf: () => ONLY,
    field: struct<OracleRecord>({
      v: count,
      windowEndMs: count,
      committedTso: u64,
      external: flag,
      cleanCursor: nullable(u64),
      stampsMayBeLost: flag,
    }),
  },
  snapshot: {
    code: 8,
    keyField: text,
    keyOf: (record) => record.name,
    field: struct<SnapshotRecord>({
      name: text,
      tso: u64,
      createdMs: count,
      kind: oneOf('pin', 'table'),
      owner: text,
      expiresMs: nullable(count),
      tableIds: list(count),
      fileIds: list(count),
      schemas: list(tableSchema),
      tables: added(
        list(
          struct<SnapshotTable>({
            id: count,
            familyIds: dictionary(count),
            regions: list(struct<SnapshotRegion>({ id: count, startKey: bytes, endKey: bytes })),
          }),
        ),
        [],
      ),
    }),
  },
  transaction: {
    code: 9,
    keyField: u64,
    keyOf: (record) => record.id,
    field: struct<TransactionRecord>({
      id: u64,
      namespace: text,
      label: text,
      state: oneOf('OPEN', 'PREPARED', 'COMMITTED', 'ABORTED'),
      reason: nullable(text),
      tso: nullable(u64),
      digest: nullable(text),
      createdMs: count,
      deadlineMs: nullable(count),
      fileIds: list(count),
      detail: bytes,
    }),
  },
  backup: {
    code: 10,
    keyField: text,
    keyOf: (record) => record.id,
    field: struct<BackupRecord>({
      id: text,
      kind: oneOf('full', 'incremental'),
      parentId: nullable(text),
      location: text,
      fromTso: u64,
      toTso: u64,
      createdMs: count,
      tableIds: list(count),
      state: oneOf('running', 'complete', 'failed'),
      detail: bytes,
    }),
  },
  hold: {
    code: 11,
    keyField: text,
    keyOf: (record) => record.id,
    field: struct<HoldRecord>({
      id: text,
      owner: text,
      tso: u64,
      createdMs: count,
      expiresMs: nullable(count),
      log: flag,
    }),
  },
  droppedId: {
    code: 12,
    keyField: text,
    keyOf: (record) => droppedIdKey(record.kind, record.id),
    field: struct<DroppedIdRecord>({ kind: oneOf('table', 'family'), id: count, tso: u64 }),
  },
  nonces: {
    code: 13,
    keyField: text,
    keyOf: () => ONLY,
    field: struct<NoncesRecord>({ asOfTso: u64, body: bytes }),
  },
  setting: {
    code: 14,
    keyField: text,
    keyOf: (record) => record.name,
    field: struct<SettingRecord>({ name: text, value: text }),
  },
};
