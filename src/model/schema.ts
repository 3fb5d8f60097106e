/**
 * Tables and families as HBase describes them. Attributes keep HBase's names and text values
 * (protocol/admin.md), whatever their meaning here, so that a descriptor comes back as it was given.
 */

export interface FamilySchema {
  /** 1 … 127 bytes of printable ASCII without ':'. */
  readonly name: string;
  /** HBase's column-family attributes by upper-case name, e.g. VERSIONS: "3". Only those that were set. */
  readonly attributes: Readonly<Record<string, string>>;
  /** CONFIGURATION entries, e.g. hbase.hstore.blockingStoreFiles. */
  readonly configuration: Readonly<Record<string, string>>;
}

export interface TableSchema {
  /** `namespace:qualifier`, or the qualifier alone in namespace `default`. */
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly configuration: Readonly<Record<string, string>>;
  /** In byte order of their names. */
  readonly families: readonly FamilySchema[];
}

/** A family to create or change: `{ name: 'info', VERSIONS: 3, TTL: 86400, CONFIGURATION: {…} }`. */
export interface FamilySpec {
  readonly name: string;
  readonly [attribute: string]: unknown;
}

/** A table to create or change. Attributes as in HBase's shell: SPLITS, NUMREGIONS, SPLITALGO, DURABILITY, … */
export interface TableSpec {
  readonly name: string;
  readonly families?: readonly (FamilySpec | string)[];
  readonly [attribute: string]: unknown;
}

export interface TableDescription extends TableSchema {
  readonly enabled: boolean;
  /** Start keys of the regions, in order; the first is empty. */
  readonly splits: readonly Uint8Array[];
}

export type KeepDeletedCells = 'FALSE' | 'TRUE' | 'TTL';

/** TTL of a family that never expires (HBase: HConstants.FOREVER), in seconds. */
export const TTL_FOREVER = 0x7fffffff;

/** A family's attributes as the engine acts on them, with HBase's defaults filled in. */
export interface FamilySettings {
  readonly name: string;
  readonly nameBytes: Uint8Array;
  readonly versions: number;
  readonly minVersions: number;
  /** Seconds; TTL_FOREVER for none. */
  readonly ttlSeconds: number;
  readonly keepDeletedCells: KeepDeletedCells;
  readonly newVersionBehavior: boolean;
  readonly blockSizeBytes: number;
  readonly compression: string;
  readonly dataBlockEncoding: string;
  readonly bloomFilter: 'NONE' | 'ROW' | 'ROWCOL' | 'ROWPREFIX_FIXED_LENGTH';
  readonly bloomPrefixLength: number;
  readonly inMemory: boolean;
  readonly blockCache: boolean;
  /** A family may override its table's durability (Cellar's own attribute DURABILITY on a family). */
  readonly durability: string;
  /** Whether flushes sync their files before these count; null: as the table says. */
  readonly storeFileSync: boolean | null;
}

export interface TableSettings {
  readonly name: string;
  readonly durability: string;
  readonly storeFileSync: boolean;
  readonly readOnly: boolean;
  /** The log keeps old values (Cellar's own attribute CHANGE_BEFORE). */
  readonly changeBefore: boolean;
  readonly maxFileSizeBytes: number;
  /** Of one cell; Infinity for no limit. */
  readonly maxCellSizeBytes: number;
  readonly memstoreFlushSizeBytes: number;
}
