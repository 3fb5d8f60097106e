/** Finds the region that a request names. */
import type { RegionServer, TableState } from '../../../engine/index.ts';
import type { Region } from '../../../region/index.ts';
import { toStringBinary } from '../../../cell/index.ts';
import { encodedRegionName } from '../../../manifest/index.ts';
import type { ProtoReader } from '../../../wire/index.ts';
import { RemoteException } from '../exceptions.ts';
import type { SystemRegion } from '../service.ts';

/** A region of the store. */
export interface FoundRegion {
  readonly table: TableState;
  readonly region: Region;
}

const EMPTY: Uint8Array = new Uint8Array(0);
const ENCODED_LENGTH = 32;
const DOT = 0x2e;

export class RegionFinder {
  readonly #engine: RegionServer;
  readonly #system = new Map<string, SystemRegion>();
  /** By encoded name; an entry may be out of date. */
  #known = new Map<string, FoundRegion>();

  constructor(engine: RegionServer, systemRegions: readonly SystemRegion[]) {
    this.#engine = engine;
    for (const region of systemRegions) {
      this.#system.set(region.name, region).set(region.encodedName, region);
    }
  }

  /**
   * The region that a RegionSpecifier { 1 type · 2 value } names, by its whole name or its encoded one, whatever the type
   * says. Throws NotServingRegionException, also for regions of disabled tables.
   */
  find(specifier: ProtoReader): FoundRegion | SystemRegion {
    let name = EMPTY;
    while (specifier.next()) {
      if (specifier.field === 2) name = specifier.bytes();
      else specifier.skip();
    }
    return this.named(name);
  }

  /** As `find`, by the bytes of the name. */
  named(name: Uint8Array): FoundRegion | SystemRegion {
    const encoded = encodedNameOf(name);
    const known = this.#known.get(encoded);
    if (known !== undefined && isServed(known)) return known;
    return this.#system.get(latin1(name)) ?? this.#search(name, encoded);
  }

  /** A region of the store. Throws DoNotRetryIOException for one that takes no writes. */
  store(specifier: ProtoReader): FoundRegion {
    const found = this.find(specifier);
    if (isStoreRegion(found)) return found;
    throw new RemoteException('DoNotRetryIOException', `Table ${found.table} is read only`);
  }

  #search(name: Uint8Array, encoded: string): FoundRegion {
    for (const table of this.#engine.catalog.userTables()) {
      for (const region of table.regions) {
        if (region.encodedName !== encoded) continue;
        const found = { table, region };
        if (!isServed(found)) break;
        if (this.#known.size > 10_000) this.#known = new Map();
        this.#known.set(encoded, found);
        return found;
      }
    }
    const primary = primaryOf(name);
    if (primary === null) throw notServing(name);
    // A replica is the region itself: there is one server.
    const found = this.named(Buffer.from(primary, 'latin1'));
    if (!isStoreRegion(found)) throw notServing(name);
    this.#known.set(encoded, found);
    return found;
  }
}

/** The encoded name of the region whose replica this is, `<table>,<start key>,<id>_<4 hex digits>.<encoded>.`; null if it is none. */
function primaryOf(name: Uint8Array): string | null {
  const [, table, key, id] =
    /^([^,]+),(.*),(\d+)_[0-9A-F]{4}\.[0-9a-f]{32}\.$/s.exec(latin1(name)) ?? [];
  if (table === undefined || key === undefined || id === undefined) return null;
  return encodedRegionName({ table, startKey: Buffer.from(key, 'latin1'), regionIdMs: Number(id) });
}

export function notServing(name: Uint8Array): RemoteException {
  return new RemoteException(
    'NotServingRegionException',
    `${toStringBinary(name)} is not online on this server`,
  );
}

/** Whether the region is still one of its table's, and the table enabled. */
export function isServed({ table, region }: FoundRegion): boolean {
  return table.enabled && table.holdsRegion(region);
}

export function isStoreRegion(found: FoundRegion | SystemRegion): found is FoundRegion {
  return 'region' in found;
}

/** Of a whole name `table,start key,id.encoded.` its encoded part; else the name itself. */
function encodedNameOf(name: Uint8Array): string {
  const last = name.length - 1;
  const isWhole =
    last > ENCODED_LENGTH && name[last] === DOT && name[last - ENCODED_LENGTH - 1] === DOT;
  return latin1(isWhole ? name.subarray(last - ENCODED_LENGTH, last) : name);
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

/** Refuses a row that lies outside: as HBase does of reads, and of writes that read. */
export function checkRowInRegion(
  row: Uint8Array,
  { table, region }: FoundRegion,
  what: string,
): void {
  if (region.contains(row)) return;
  throw new RemoteException('WrongRegionException', outsideText(row, { table, region }, what));
}

/** As `checkRowInRegion`, of puts and deletes. */
export function checkRowOfBatch(row: Uint8Array, found: FoundRegion): void {
  if (found.region.contains(row)) return;
  throw new RemoteException('FailedSanityCheckException', outsideText(row, found, 'batchMutate'));
}

function outsideText(row: Uint8Array, { table, region }: FoundRegion, what: string): string {
  return (
    `Requested row out of range for ${what} on HRegion ${table.name},${toStringBinary(region.startKey)},` +
    `${region.encodedName}, startKey='${toStringBinary(region.startKey)}', ` +
    `getEndKey()='${toStringBinary(region.endKey)}', row='${toStringBinary(row)}'`
  );
}
