/**
 * Where things lie in a data folder (docs/architecture.md, "Layout of a data folder"). Paths are joined with '/' on every
 * platform; names of namespaces, tables and families were checked before they come here.
 */
import { createHash } from 'node:crypto';

/** The namespace of names without a colon. */
export const DEFAULT_NAMESPACE = 'default';

/** The folders and files below one data folder. */
export class DataLayout {
  readonly dir: string;
  constructor(dir: string) {
    this.dir = dir;
  }
  get manifest(): string {
    return `${this.dir}/manifest`;
  }
  /** Live log segments. */
  get wal(): string {
    return `${this.dir}/wal`;
  }
  get data(): string {
    return `${this.dir}/data`;
  }
  get archivedWal(): string {
    return `${this.dir}/archive/wal`;
  }
  /** Files that are no longer live and that snapshots still need. */
  get archivedData(): string {
    return `${this.dir}/archive/data`;
  }
  get transactions(): string {
    return `${this.dir}/txn`;
  }
  /** Swept at open. */
  get tmp(): string {
    return `${this.dir}/tmp`;
  }
  /** `data/<namespace>/<table>`; `table` as users write it, with or without its namespace. */
  table(table: string): string {
    return `${this.data}/${tablePath(table)}`;
  }
  region(table: string, encodedName: string): string {
    return `${this.table(table)}/${encodedName}`;
  }
  family(table: string, encodedName: string, family: string): string {
    return `${this.region(table, encodedName)}/${family}`;
  }
  transaction(id: bigint): string {
    return `${this.transactions}/${id}`;
  }
  /** The path of a file as the manifest keeps it, relative to the data folder. */
  resolve(relativePath: string): string {
    return `${this.dir}/${relativePath}`;
  }
  /** The reverse of `resolve`. */
  relative(path: string): string {
    return path.startsWith(`${this.dir}/`) ? path.slice(this.dir.length + 1) : path;
  }
}

/** `<namespace>/<qualifier>` of a table name. */
export function tablePath(table: string): string {
  const { namespace, qualifier } = splitTableName(table);
  return `${namespace}/${qualifier}`;
}

/** Splits `ns:qualifier`; a name without a colon is in namespace `default`. */
export function splitTableName(table: string): { namespace: string; qualifier: string } {
  const colonAt = table.indexOf(':');
  if (colonAt < 0) return { namespace: DEFAULT_NAMESPACE, qualifier: table };
  return { namespace: table.slice(0, colonAt), qualifier: table.slice(colonAt + 1) };
}

/** What a region's name is made of: `<table>,<start key>,<region id>`. */
export interface RegionNameParts {
  readonly table: string;
  readonly startKey: Uint8Array;
  /** Unix milliseconds of the region's creation; a daughter's is above its parent's. */
  readonly regionIdMs: number;
}

/** The 32 lower-case hex digits that name a region's folder: MD5 of the name up to the last dot (HBase: RegionInfo#encodeRegionName). */
export function encodedRegionName(parts: RegionNameParts): string {
  return createHash('md5').update(regionNamePrefix(parts)).digest('hex');
}

/** The full region name `<table>,<start key>,<region id>.<encoded>.` */
export function regionName(parts: RegionNameParts): Uint8Array {
  return Buffer.concat([
    regionNamePrefix(parts),
    Buffer.from(`.${encodedRegionName(parts)}.`, 'utf8'),
  ]);
}

function regionNamePrefix(parts: RegionNameParts): Uint8Array {
  return Buffer.concat([
    Buffer.from(`${parts.table},`, 'utf8'),
    parts.startKey,
    Buffer.from(`,${parts.regionIdMs}`, 'utf8'),
  ]);
}
