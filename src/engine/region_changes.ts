/**
 * Split and merge of regions. Neither touches cells on the disk: the new regions' records name the files of the old ones,
 * each with the rows that count, and one commit of the manifest puts the new in the place of the old. In the step in
 * which that becomes visible, what is left in memory is shared out by row; the log needs no word of it, as replay goes by row.
 *
 * Writers are stopped for that step only, so most of the memory is flushed ahead. The commit is all or nothing: after a
 * crash there are the old regions or the new. Readers that are under way keep the cursors that they have; what they open
 * later they find in the regions of then. What a split leaves to do, bringing each daughter's part of the files into files
 * of its own, compactions do.
 */
import { READY, compareBytes, compareRanges, toStringBinary } from '../cell/index.ts';
import { invariant } from '../io/index.ts';
import type { Env } from '../io/index.ts';
import { encodedRegionName, flushedKey, put, remove } from '../manifest/index.ts';
import type { Edit, FileRecord, Manifest, RegionRecord } from '../manifest/index.ts';
import { DoNotRetryIOException, RegionTooBusyException } from '../model/index.ts';
import type { Region, Store } from '../region/index.ts';
import type { Background } from './background.ts';
import type { LateSyncs } from './late_sync.ts';
import { openRegion } from './catalog.ts';
import type { CommitQueue } from './commit_queue.ts';
import { filesOfRegion } from './past_tables.ts';
import type { PastTables } from './past_tables.ts';
import { joinHalves } from './read_point.ts';
import type { ReadPoint } from './read_point.ts';
import type { Reads } from './reads.ts';
import type { SchemaChanges } from './schema_changes.ts';
import { rowsOf } from './store_files.ts';
import type { StoreFiles } from './store_files.ts';
import type { TableState } from './table_state.ts';

/** Cells left in memory that are shared out within some milliseconds; more are flushed again first. */
const REST_BYTES_MAX: number = 2 * 1024 * 1024;
const FLUSHES_MAX = 5;

export interface RegionChangeParts {
  readonly manifest: Manifest;
  readonly queue: CommitQueue;
  readonly readPoint: ReadPoint;
  readonly env: Env;
  readonly files: StoreFiles;
  readonly reads: Reads;
  readonly schema: SchemaChanges;
  readonly background: Background;
  readonly past: PastTables;
  readonly lateSyncs: LateSyncs;
}

/** Borders of a new region. */
interface Borders {
  readonly startKey: Uint8Array;
  readonly endKey: Uint8Array;
}

export class RegionChanges {
  readonly #parts: RegionChangeParts;
  splits = 0;
  merges = 0;
  /** The longest time that writers were stopped, in milliseconds. */
  pauseMsMax = 0;

  constructor(parts: RegionChangeParts) {
    this.#parts = parts;
  }

  /**
   * Splits the region at `row`, which is within it and not its start key. Throws DoNotRetryIOException; also if the region
   * was changed meanwhile.
   */
  async split(table: TableState, region: Region, row: Uint8Array): Promise<readonly Region[]> {
    checkSplitRow(region, row);
    await this.#flushAhead(table, region);
    const { startKey, endKey } = region;
    const daughters = await this.#replace(
      table,
      [region],
      [
        { startKey, endKey: row },
        { startKey: row, endKey },
      ],
    );
    if (daughters === null) throw changedMeanwhile(table, region);
    this.splits++;
    for (const daughter of daughters) this.#parts.background.consider(table, daughter);
    return daughters;
  }

  /** Merges two adjacent regions. Throws DoNotRetryIOException, RegionTooBusyException. */
  async merge(table: TableState, one: Region, other: Region): Promise<Region> {
    const inOrder = compareBytes(one.startKey, other.startKey) <= 0;
    const [left, right] = inOrder ? [one, other] : [other, one];
    if (left === right || compareBytes(left.endKey, right.startKey) !== 0) {
      throw new DoNotRetryIOException(
        `Unable to merge non-adjacent regions ${left.encodedName} and ${right.encodedName} of table ${table.name}`,
      );
    }
    await this.#flushAhead(table, left);
    await this.#flushAhead(table, right);
    const merged = await this.#mergeFlushed(table, left, right);
    this.merges++;
    this.#parts.background.consider(table, merged);
    return merged;
  }

  /**
   * Replay skips what a store has in files by one TSO, so both regions must have come equally far: they are flushed together,
   * and no flush of one alone may come in between. In the last try the table's writers wait.
   */
  async #mergeFlushed(table: TableState, left: Region, right: Region): Promise<Region> {
    const { background } = this.#parts;
    const places = [left, right].map((region) => ({ table, region }));
    for (let attempt = 1; attempt <= FLUSHES_MAX; attempt++) {
      if (!table.holdsRegion(left)) throw changedMeanwhile(table, left);
      if (!table.holdsRegion(right)) throw changedMeanwhile(table, right);
      const borders = [{ startKey: left.startKey, endKey: right.endKey }];
      const open = attempt === FLUSHES_MAX ? closeGate(table) : null;
      try {
        if (!areEvenlyFlushed(left, right)) {
          const what = `flush ${table.name} ${left.encodedName} ${right.encodedName}`;
          await background.flusher.flushTogether(what, places, () => []);
        }
        const merged = await this.#replace(table, [left, right], borders);
        if (merged !== null) return merged[0]!;
      } finally {
        open?.();
      }
    }
    throw new RegionTooBusyException(
      `Regions ${left.encodedName} and ${right.encodedName} of table ${table.name} could not be flushed together`,
    );
  }

  /**
   * Empties a region: one without files takes its place. Reads of the table as of before are SnapshotTooOld from then on.
   * Writes that come while it is done are kept. Throws DoNotRetryIOException if the region was changed meanwhile, or if a
   * snapshot pins a moment of the table.
   */
  async truncate(table: TableState, region: Region): Promise<void> {
    const open = closeGate(table);
    try {
      // What is in files is known to replay as such, so the log does not bring it back.
      await this.#parts.background.flusher.flush(table, region);
      const { startKey, endKey } = region;
      const made = await this.#replace(table, [region], [{ startKey, endKey }], { empty: true });
      if (made === null) throw changedMeanwhile(table, region);
    } finally {
      open();
    }
  }

  async #flushAhead(table: TableState, region: Region): Promise<void> {
    const { flusher } = this.#parts.background;
    for (let i = 0; i < FLUSHES_MAX; i++) {
      let bytes = 0;
      for (const store of region.stores) bytes += store.memstoreCellBytes;
      const isSmall = bytes <= REST_BYTES_MAX && (i > 0 || bytes === 0);
      if (isSmall && !flusher.isFlushing(region)) return;
      await flusher.flush(table, region);
    }
  }

  /** Puts new regions in the place of old ones. Null: the old ones have changed, or are not evenly flushed. */
  #replace(
    table: TableState,
    old: readonly Region[],
    borders: readonly Borders[],
    { empty } = { empty: false },
  ): Promise<readonly Region[] | null> {
    const { schema } = this.#parts;
    const change = async (): Promise<readonly Region[] | null> => {
      if (!table.enabled || !old.every((region) => table.holdsRegion(region))) return null;
      if (old.length > 1 && !areEvenlyFlushed(old[0]!, old[1]!)) return null;
      await this.#parts.lateSyncs.settled(table);
      const made = borders.map((border) => this.#recordOf(table, old, border));
      let regions: readonly Region[] = [];
      const edits = empty ? this.#emptyingEdits(table, old, made) : this.#editsOf(table, old, made);
      await this.#parts.manifest.commit(edits, {
        applied: () => (regions = this.#apply(table, old, made)),
      });
      return regions;
    };
    return schema.inOrder(() => table.layout.alone(change));
  }

  #recordOf(
    table: TableState,
    old: readonly Region[],
    { startKey, endKey }: Borders,
  ): RegionRecord {
    const { manifest, env, readPoint } = this.#parts;
    const newest = Math.max(...old.map(({ id }) => manifest.get('region', id)?.regionIdMs ?? 0));
    // A region's name is its start key and this: it must not be its parent's again.
    const regionIdMs = Math.max(env.clock.nowMs(), newest + 1);
    return {
      id: manifest.takeId('region'),
      tableId: table.id,
      encodedName: encodedRegionName({ table: table.name, startKey, regionIdMs }),
      regionIdMs,
      startKey,
      endKey,
      createdTso: joinHalves(readPoint.appliedHigh, readPoint.appliedLow),
      parents: old.map(({ id }) => id),
      state: 'open',
      removedTso: null,
    };
  }

  #editsOf(table: TableState, old: readonly Region[], made: readonly RegionRecord[]): Edit[] {
    const { manifest } = this.#parts;
    const edits: Edit[] = [];
    for (const region of old) {
      for (const file of manifest.filesOf(region.id)) {
        edits.push(remove('file', file.id));
        for (const record of made) {
          const part = partOf(file, region, record);
          if (part !== null) {
            edits.push(
              put('file', { ...file, ...part, id: manifest.takeId('file'), regionId: record.id }),
            );
          }
        }
      }
      edits.push(remove('region', region.id));
    }
    for (const record of made) edits.push(put('region', record));
    for (const familyId of familyIdsOf(manifest, table)) {
      let flushed: bigint | null = null;
      for (const region of old) {
        const tso = manifest.flushedTo(region.id, familyId);
        edits.push(remove('flushed', flushedKey(region.id, familyId)));
        if (tso !== null && (flushed === null || tso > flushed)) flushed = tso;
      }
      if (flushed === null) continue;
      for (const { id } of made) {
        edits.push(put('flushed', { regionId: id, familyId, tso: flushed }));
      }
    }
    return edits;
  }

  /** As `#editsOf`, but nothing of the files is kept. */
  #emptyingEdits(table: TableState, old: readonly Region[], made: readonly RegionRecord[]): Edit[] {
    const { past, readPoint } = this.#parts;
    past.floors.checkNotPinned(table);
    const nowTso = joinHalves(readPoint.appliedHigh, readPoint.appliedLow);
    const edits = this.#editsOf(table, old, made).filter(
      (edit) => !(edit.collection === 'file' && 'record' in edit),
    );
    return [...edits, past.floors.raise(table.id, nowTso)];
  }

  /** In one step: the new regions, with what the old ones have in memory, take their place. */
  #apply(
    table: TableState,
    old: readonly Region[],
    made: readonly RegionRecord[],
  ): readonly Region[] {
    const { manifest, queue, files, reads, env } = this.#parts;
    const { clock } = env;
    const startMs = clock.monotonicMs();
    const schemas = manifest.get('table', table.id)?.schemas ?? [];
    const regions = made.map((record) => openRegion(record, table.families, schemas));
    for (const region of regions) files.attachRegion(region);
    for (const region of old) shareOut(region, regions);
    for (const region of regions) queue.grew(region.memstoreHeapBytes);
    const others = table.regions.filter((region) => !old.includes(region));
    table.regions = [...others, ...regions].sort((a, b) => compareBytes(a.startKey, b.startKey));
    for (const region of old) {
      reads.forget(region);
      for (const file of filesOfRegion(region)) files.retire(file);
      queue.released(region.memstoreHeapBytes);
    }
    this.pauseMsMax = Math.max(this.pauseMsMax, clock.monotonicMs() - startMs);
    return regions;
  }
}

/** Throws DoNotRetryIOException. HBase: SplitTableRegionProcedure#checkSplittable. */
export function checkSplitRow(region: Region, row: Uint8Array): void {
  const shown = toStringBinary(row);
  if (compareBytes(row, region.startKey) === 0) {
    throw new DoNotRetryIOException(
      `Split row is equal to startkey: ${shown} of region ${region.encodedName}`,
    );
  }
  if (!region.contains(row)) {
    throw new DoNotRetryIOException(
      `Split row is not inside region key range splitKey: ${shown}, region: ${region.encodedName}`,
    );
  }
}

function changedMeanwhile(table: TableState, region: Region): DoNotRetryIOException {
  return new DoNotRetryIOException(
    `Region ${region.encodedName} of table ${table.name} was changed meanwhile, or the table disabled`,
  );
}

/** Operations on the table wait until the answer is called. */
function closeGate(table: TableState): () => void {
  let open: () => void = () => undefined;
  table.gate = new Promise((resolve) => (open = resolve));
  return () => {
    table.gate = null;
    open();
  };
}

/**
 * For each family: everything at or below the later of the two flushed TSOs is in files in both regions, so that this TSO
 * holds for both of them together.
 */
function areEvenlyFlushed(left: Region, right: Region): boolean {
  return left.stores.every((store, i) => {
    const other = right.stores[i]!;
    const flushed = [store, other].map((each) => joinHalves(each.flushedHigh, each.flushedLow));
    const latest = flushed[0]! > flushed[1]! ? flushed[0]! : flushed[1]!;
    return [...memstoresOf(store), ...memstoresOf(other)].every(
      ({ cellCount, stats }) =>
        cellCount === 0 || joinHalves(stats.minWriteHigh, stats.minWriteLow) > latest,
    );
  });
}

const memstoresOf = (store: Store): Store['frozen'] => [store.memstore, ...store.frozen];

/** Every family that the table has or had. */
function familyIdsOf(manifest: Manifest, table: TableState): Set<number> {
  const schemas = manifest.get('table', table.id)?.schemas ?? [];
  return new Set(schemas.flatMap(({ familyIds }) => Object.values(familyIds)));
}

/** What of an old region's file belongs to a new region; null for nothing. */
function partOf(
  file: FileRecord,
  old: Region,
  made: RegionRecord,
): Pick<FileRecord, 'reference' | 'sizeBytes' | 'cellCount'> | null {
  const { firstRow, lastRow, sizeBytes, cellCount } = file;
  // The file counted for these rows; some of them may lie outside the new region.
  const { fromRow, toRow } = rowsOf(file, old);
  const least = firstRow !== null && compareBytes(firstRow, fromRow) > 0 ? firstRow : fromRow;
  const isBelow = made.endKey.length > 0 && compareBytes(least, made.endKey) >= 0;
  const isAbove =
    (lastRow !== null && compareBytes(lastRow, made.startKey) < 0) ||
    (toRow.length > 0 && compareBytes(toRow, made.startKey) <= 0);
  if (isBelow || isAbove) return null;
  const from = compareBytes(fromRow, made.startKey) >= 0 ? fromRow : made.startKey;
  const to = lesserEnd(toRow, made.endKey);
  const isWhole =
    firstRow !== null &&
    lastRow !== null &&
    compareBytes(firstRow, from) >= 0 &&
    (to.length === 0 || compareBytes(lastRow, to) < 0);
  if (isWhole) {
    return {
      reference: fromRow.length + toRow.length > 0 ? { fileId: file.id, fromRow, toRow } : null,
      sizeBytes,
      cellCount,
    };
  }
  const isCut = compareBytes(from, fromRow) !== 0 || compareBytes(to, toRow) !== 0;
  return {
    reference: { fileId: file.id, fromRow: from, toRow: to },
    // Nobody has counted: a half, as HBase takes it.
    sizeBytes: isCut ? Math.ceil(sizeBytes / 2) : sizeBytes,
    cellCount: isCut ? Math.ceil(cellCount / 2) : cellCount,
  };
}

function lesserEnd(a: Uint8Array, b: Uint8Array): Uint8Array {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  return compareBytes(a, b) < 0 ? a : b;
}

/** Copies what a region has in memory into the memstores of those that hold its rows now. */
function shareOut(region: Region, regions: readonly Region[]): void {
  for (const store of region.stores) {
    const targets = regions.map((target) => {
      const found = target.stores.find(({ familyId }) => familyId === store.familyId);
      invariant(found !== undefined, 'a new region has the families of the old');
      return found;
    });
    for (const memstore of memstoresOf(store)) {
      const cursor = memstore.cursor();
      let at = 0;
      for (let state = cursor.seekToFirst(); state === READY; state = cursor.next()) {
        const { block, at: cellAt, length, rowAt, rowLength, writeHigh, writeLow } = cursor.cell;
        // Cells come in the order of their rows, and so do the regions.
        while (at < regions.length - 1 && !isBefore(block, rowAt, rowLength, regions[at]!.endKey)) {
          at++;
        }
        targets[at]!.memstore.insert(block, cellAt, length, writeHigh, writeLow);
      }
      cursor.close();
    }
  }
}

function isBefore(block: Uint8Array, rowAt: number, rowLength: number, end: Uint8Array): boolean {
  return compareRanges(block, rowAt, rowLength, end, 0, end.length) < 0;
}
