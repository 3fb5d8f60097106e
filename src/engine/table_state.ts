/** What the engine knows of a table while it is open: its descriptor as it is now, its families and its regions. */
import { splitColumn, NoSuchColumnFamilyException } from '../model/index.ts';
import type { Column, FamilySettings, TableSchema, TableSettings } from '../model/index.ts';
import { regionIndexOf } from '../region/index.ts';
import type { Region, Store } from '../region/index.ts';
import { LayoutGuard } from './layout_guard.ts';
import type { RowIntents } from './row_intents.ts';
import { ASYNC_WAL, FSYNC_WAL, SKIP_WAL, SYNC_WAL } from '../wal/index.ts';

export interface FamilyState {
  /** Unique in the store, never used again: a family dropped and added anew has another id. */
  readonly id: number;
  readonly settings: FamilySettings;
}

/** A column as the engine uses it. */
export interface ResolvedColumn {
  readonly familyIndex: number;
  readonly familyBytes: Uint8Array;
  readonly qualifier: Uint8Array;
}

/** A durability's number in the log, which grows with its strength; 0 for USE_DEFAULT. */
export function durabilityNumber(word: string): number {
  switch (word) {
    case 'SKIP_WAL':
      return SKIP_WAL;
    case 'ASYNC_WAL':
      return ASYNC_WAL;
    case 'SYNC_WAL':
      return SYNC_WAL;
    case 'FSYNC_WAL':
      return FSYNC_WAL;
    default:
      return 0;
  }
}

/** Columns remembered by their text, so that a hot write does not encode its names again. */
const COLUMN_CACHE_MAX = 1024;

export class TableState {
  readonly id: number;
  readonly name: string;
  readonly createdTso: bigint;
  /** The change since which the descriptor is as it is now: reads as of before take an older one. */
  describedTso: bigint;
  schema: TableSchema;
  settings: TableSettings;
  enabled: boolean;
  /** In byte order of their names; the index is a mutation's family index and a region's store index. */
  families: readonly FamilyState[];
  /** In order of their start keys; the first is empty. */
  regions: readonly Region[];
  /** Set while a change of schema is under way: operations on the table wait for it. */
  gate: Promise<void> | null = null;
  /** Switches of files go on side by side; a split or merge has the table's files to itself while it makes its edits. */
  readonly layout: LayoutGuard = new LayoutGuard();
  /** The table was dropped or truncated: who holds this object asks the catalog again. */
  replaced = false;
  /** Grows with every change of the families: family indexes taken before no longer hold. */
  version = 0;
  /** Durability of each family's commits as the log knows it, its own or the table's; 0: the server's default. */
  familyDurability: readonly number[] = [];
  /** Rows that prepared transactions are going to write; null while no transaction ever was. */
  intents: RowIntents | null = null;
  /** A capture is under way until this settles: files that are linked meanwhile are not merged with others (capture.ts). */
  capturing: Promise<void> | null = null;
  /** Files that readers see and whose records are on their way into the manifest. */
  readonly #links = new Set<Promise<void>>();
  #indexByName: Map<string, number> = new Map();
  #columns: Map<string, ResolvedColumn> = new Map();

  constructor(parts: {
    readonly id: number;
    readonly createdTso: bigint;
    readonly describedTso: bigint;
    readonly schema: TableSchema;
    readonly settings: TableSettings;
    readonly enabled: boolean;
    readonly families: readonly FamilyState[];
    readonly regions: readonly Region[];
  }) {
    this.id = parts.id;
    this.name = parts.schema.name;
    this.createdTso = parts.createdTso;
    this.describedTso = parts.describedTso;
    this.schema = parts.schema;
    this.settings = parts.settings;
    this.enabled = parts.enabled;
    this.families = parts.families;
    this.regions = parts.regions;
    this.#index();
  }

  /** Takes a new descriptor, which holds from `tso` on; the regions' stores are the caller's. */
  describe(
    tso: bigint,
    schema: TableSchema,
    settings: TableSettings,
    families: readonly FamilyState[],
  ): void {
    this.describedTso = tso;
    this.schema = schema;
    this.settings = settings;
    this.families = families;
    this.version++;
    this.#index();
  }

  #index(): void {
    this.#indexByName = new Map(this.families.map((family, i) => [family.settings.name, i]));
    this.#columns = new Map();
    this.familyDurability = this.families.map(({ settings }) => {
      const own = durabilityNumber(settings.durability);
      return own === 0 ? durabilityNumber(this.settings.durability) : own;
    });
  }

  /** Files are being linked until this settles: who changes records of files waits for it (`linked`). */
  linking(link: Promise<void>): void {
    this.#links.add(link);
    const done = (): void => void this.#links.delete(link);
    link.then(done, done);
  }

  get isLinking(): boolean {
    return this.#links.size > 0;
  }

  /** Waits for the links under way. */
  async linked(): Promise<void> {
    while (this.#links.size > 0) await Promise.allSettled(this.#links);
  }

  /** Throws NoSuchColumnFamilyException. */
  familyIndex(name: string): number {
    const index = this.#indexByName.get(name);
    if (index === undefined) {
      throw new NoSuchColumnFamilyException(
        `Column family ${name} does not exist in table ${this.name}; it has ${this.families
          .map((family) => family.settings.name)
          .join(', ')}`,
      );
    }
    return index;
  }

  /** Family and qualifier of a column's text or pair; the text of hot columns is looked up, not split. */
  column(column: Column): ResolvedColumn {
    if (typeof column !== 'string') return this.#resolve(column);
    const known = this.#columns.get(column);
    if (known !== undefined) return known;
    const resolved = this.#resolve(column);
    if (this.#columns.size >= COLUMN_CACHE_MAX) this.#columns.clear();
    this.#columns.set(column, resolved);
    return resolved;
  }

  #resolve(column: Column): ResolvedColumn {
    const { family, qualifier } = splitColumn(column);
    const familyIndex = this.familyIndex(family);
    const familyBytes = this.families[familyIndex]!.settings.nameBytes;
    return { familyIndex, familyBytes, qualifier };
  }

  /** Bytes of memory of all its memstores, indexes included. */
  get memstoreHeapBytes(): number {
    let bytes = 0;
    for (const region of this.regions) bytes += region.memstoreHeapBytes;
    return bytes;
  }

  /** Whether this is still one of its stores: the region was not split or merged, the family not dropped. */
  holds(region: Region, store: Store): boolean {
    return this.holdsRegion(region) && region.stores.includes(store);
  }

  /** Whether this is still one of its regions. */
  holdsRegion(region: Region): boolean {
    return !this.replaced && this.regionOf(region.startKey) === region;
  }

  regionOf(row: Uint8Array): Region {
    const regions = this.regions;
    return regions.length === 1 ? regions[0]! : regions[regionIndexOf(regions, row)]!;
  }
}
