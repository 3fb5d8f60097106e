/**
 * What becomes of the past: history files that nobody may read any more are deleted, many small ones merged, dropped
 * tables and families removed once the retention has passed. One pass at a time: each minute, and soon after a store has
 * collected many history files.
 *
 * Deleting is: refuse reads below the new floor, at once; take the records away and write the floor, in one commit of the
 * manifest; take the files out of their stores; remove them when the last reader is done.
 */
import type { Env, Timer } from '../io/index.ts';
import { droppedIdKey, flushedKey, remove, put } from '../manifest/index.ts';
import type { Edit, Manifest } from '../manifest/index.ts';
import type { HistoryStatus, TableHistory } from '../model/index.ts';
import { historyMergeJob, selectCompaction } from '../region/index.ts';
import type {
  CompactionRules,
  HistoryFile,
  HistoryMergeOutput,
  Region,
  Store,
} from '../region/index.ts';
import type { Catalog } from './catalog.ts';
import type { Logger } from './logger.ts';
import { filesOf, recordsOfTable } from './past_tables.ts';
import type { DroppedTable, PastTables } from './past_tables.ts';
import type { Pins } from './pins.ts';
import { highOf, joinHalves, lowOf } from './read_point.ts';
import type { Reads } from './reads.ts';
import { MERGED_FLAG } from './store_files.ts';
import type { FilePlace, StoreFiles } from './store_files.ts';
import type { TableState } from './table_state.ts';

const PASS_EVERY_MS = 60_000;
/** With so many times as many files as a store may have, they are merged whatever their sizes. */
const FORCED_FACTOR = 2;
const MEBIBYTE = 1024 * 1024;
/** Sizes near each other are merged, so that a cell is rewritten a few times only; large files stay as they are. */
const MERGE_RULES: CompactionRules = {
  filesMin: 3,
  filesMax: 32,
  ratio: 1.2,
  sizeMin: MEBIBYTE,
  sizeMax: 64 * MEBIBYTE,
};
const HISTORY_BYTES_LEAST: number = 256 * MEBIBYTE;
const HISTORY_SHARE = 0.1;

export interface HistoryParts {
  readonly env: Env;
  readonly manifest: Manifest;
  readonly catalog: Catalog;
  readonly past: PastTables;
  readonly pins: Pins;
  readonly reads: Reads;
  readonly files: StoreFiles;
  readonly logger: Logger;
  readonly nowMs: () => number;
  /** Bytes of history a table may have; null: the default. */
  readonly bytesMax: number | null;
  /** History files a store may have before they are merged. */
  readonly filesMax: number;
  /** A backup will want the tables and descriptors that were there after this; null: none. */
  readonly neededAbove: () => bigint | null;
  /** Runs a change of table records with no change of schema beside it. */
  readonly exclusively: (change: () => Promise<void>) => Promise<void>;
}

/** A history file and where it belongs. */
interface Placed {
  readonly region: Region;
  readonly store: Store;
  readonly entry: HistoryFile;
}

const dropOf = ({ dropHigh, dropLow }: HistoryFile): bigint => joinHalves(dropHigh, dropLow);

export class History {
  readonly #parts: HistoryParts;
  #timer: Timer | null = null;
  #pass: Promise<void> | null = null;
  #isStopped = false;
  merges = 0;
  failures = 0;

  constructor(parts: HistoryParts) {
    this.#parts = parts;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#timer = this.#parts.env.timers.after(PASS_EVERY_MS, () => {
      this.request();
      this.#schedule();
    });
  }

  /** A store has new history: a pass now, if it has collected many files. */
  consider(region: Region): void {
    const { filesMax } = this.#parts;
    if (region.stores.some(({ history }) => history.length > filesMax)) this.request();
  }

  /** A pass in the background, unless one is running; a failure is logged, the next pass tries again. */
  request(): void {
    if (this.#isStopped || this.#pass !== null) return;
    void this.run().catch((error: unknown) => {
      this.failures++;
      this.#parts.logger.error({ err: error }, 'a pass over the history failed');
    });
  }

  /** One pass, after the one that runs. */
  async run(): Promise<void> {
    while (this.#pass !== null) await this.#pass.catch(() => undefined); // Its own caller hears of it.
    const pass = this.#run().finally(() => (this.#pass = null));
    this.#pass = pass;
    await pass;
  }

  async #run(): Promise<void> {
    const { catalog, past, manifest, pins } = this.#parts;
    const expired = pins.expired();
    if (expired.length > 0) await manifest.commit(expired);
    // The same for the whole pass: what one step leaves is what the next one counts on.
    const disposable = past.floors.disposable();
    const needed = this.#parts.neededAbove();
    const forgotten = needed !== null && needed < disposable ? needed : disposable;
    for (const dropped of past.dropped) {
      if (dropped.droppedTso <= forgotten) await this.#dropTable(dropped);
    }
    const tables = [...catalog.tables(), ...past.dropped.map(({ table }) => table)];
    for (const table of tables) {
      await withoutSplits(table, () => this.#deleteOld(table));
      await withoutSplits(table, () => this.#dropFamilies(table, disposable));
      await this.#dropDescriptors(table, forgotten);
      await this.#mergeTable(table);
    }
  }

  /** Removes a dropped table whose retention has passed. */
  async #dropTable(dropped: DroppedTable): Promise<void> {
    const { past, manifest, files } = this.#parts;
    const { table, droppedTso } = dropped;
    const edits = [past.floors.raise(null, droppedTso), ...recordsOfTable(manifest, table.id)];
    await manifest.commit(edits, {
      applied: () => {
        past.forget(dropped);
        for (const file of filesOf(table)) files.retire(file);
      },
    });
  }

  /** Deletes history files below the oldest readable TSO, and the oldest of those beyond the size. */
  async #deleteOld(table: TableState): Promise<void> {
    const { past, manifest, files, reads } = this.#parts;
    const chosen = this.#chooseOld(table);
    if (chosen.length === 0) return;
    const drops = chosen.map(({ entry }) => dropOf(entry));
    const newest = drops.reduce((a, b) => (a > b ? a : b));
    const edits: Edit[] = chosen.map(({ entry }) => remove('file', entry.file.info.id));
    edits.push(past.floors.raise(table.id, newest));
    await manifest.commit(edits, {
      applied: () => {
        for (const { region, store, entry } of chosen) {
          store.history = store.history.filter((kept) => kept !== entry);
          region.layoutVersion++;
          reads.forget(region);
          files.retire(entry.file);
        }
      },
    });
  }

  #chooseOld(table: TableState): Placed[] {
    const { floors } = this.#parts.past;
    const placed = placedHistory(table);
    const disposable = floors.disposable();
    const disposableForSpace = floors.disposableForSpace();
    let excess = placed.reduce((sum, { entry }) => sum + entry.file.info.sizeBytes, 0);
    excess -= this.#bytesMaxOf(table);
    placed.sort((a, b) => compare(dropOf(a.entry), dropOf(b.entry)));
    return placed.filter(({ entry }) => {
      const drop = dropOf(entry);
      const goes = drop <= disposable || (excess > 0 && drop <= disposableForSpace);
      if (goes) excess -= entry.file.info.sizeBytes;
      return goes;
    });
  }

  #bytesMaxOf(table: TableState): number {
    if (this.#parts.bytesMax !== null) return this.#parts.bytesMax;
    let bytes = 0;
    for (const region of table.regions) {
      for (const store of region.stores) {
        for (const file of store.files) bytes += file.info.sizeBytes;
      }
    }
    return Math.max(HISTORY_BYTES_LEAST, bytes * HISTORY_SHARE);
  }

  /** Removes what is left of dropped families whose retention has passed. */
  async #dropFamilies(table: TableState, disposable: bigint): Promise<void> {
    const { past, manifest, files } = this.#parts;
    for (const region of table.regions) {
      for (const store of region.formerStores) {
        const dropped = manifest.get('droppedId', droppedIdKey('family', store.familyId));
        if (dropped === undefined || dropped.tso > disposable) continue;
        const edits: Edit[] = [...manifest.filesOf(region.id)]
          .filter(({ familyId }) => familyId === store.familyId)
          .map(({ id }) => remove('file', id));
        edits.push(remove('flushed', flushedKey(region.id, store.familyId)));
        edits.push(past.floors.raise(table.id, dropped.tso));
        await manifest.commit(edits, {
          applied: () => {
            region.formerStores = region.formerStores.filter((kept) => kept !== store);
            for (const file of store.files) files.retire(file);
            for (const { file } of store.history) files.retire(file);
          },
        });
      }
    }
  }

  /** Takes descriptors out of the table's record that no reader may ask for; the families they name are gone by now. */
  async #dropDescriptors(table: TableState, disposable: bigint): Promise<void> {
    const { manifest, past, exclusively } = this.#parts;
    const keptFrom = (): number => {
      const schemas = manifest.get('table', table.id)?.schemas ?? [];
      return schemas.findLastIndex(({ tso }) => tso <= disposable);
    };
    if (keptFrom() <= 0) return;
    await exclusively(async () => {
      const record = manifest.get('table', table.id);
      const from = keptFrom();
      if (record === undefined || from <= 0) return;
      const schemas = record.schemas.slice(from);
      await manifest.commit([
        put('table', { ...record, schemas }),
        past.floors.raise(table.id, schemas[0]!.tso),
      ]);
    });
  }

  async #mergeTable(table: TableState): Promise<void> {
    const { filesMax } = this.#parts;
    for (const region of table.regions) {
      for (const store of [...region.stores, ...region.formerStores]) {
        while (!this.#isStopped && store.history.length > filesMax) {
          if (!(await this.#mergeStore({ table, region, store }))) break;
        }
      }
    }
  }

  /** Merges some history files of a store; false if none go together. */
  async #mergeStore(place: FilePlace): Promise<boolean> {
    const { env, files, past, nowMs, filesMax } = this.#parts;
    const { store } = place;
    const chosen = chooseMerge(store, FORCED_FACTOR * filesMax);
    if (chosen === null) return false;
    const { path } = await files.place(place);
    const outputPath = `${path}.history`;
    const oldest = past.floors.disposable();
    const output = await env.executor.run(
      historyMergeJob({
        settings: store.settings,
        files: chosen.map(({ file: { info }, dropHigh, dropLow, dropsByCell }) => ({
          path: info.path,
          stamp: info.stamp,
          fromRow: info.fromRow,
          toRow: info.toRow,
          dropHigh,
          dropLow,
          dropsByCell,
        })),
        outputPath,
        oldestHigh: highOf(oldest),
        oldestLow: lowOf(oldest),
        nowMs: nowMs(),
      }),
    );
    await files.syncFolderOf(outputPath);
    await withoutSplits(place.table, () => this.#switch(place, chosen, output));
    return true;
  }

  async #switch(
    place: FilePlace,
    chosen: readonly HistoryFile[],
    output: HistoryMergeOutput,
  ): Promise<void> {
    const { manifest, files, reads, past, env } = this.#parts;
    const { table, region, store } = place;
    const isThere = table.regions.includes(region);
    if (!isThere || !chosen.every((entry) => store.history.includes(entry))) {
      // They went meanwhile, with their table or region.
      if (output.file !== null) await env.fs.remove(output.file.path);
      return;
    }
    const drop = chosen.map(dropOf).reduce((a, b) => (a > b ? a : b));
    const added = chosen.map(({ file }) => manifest.get('file', file.info.id)?.addedTso ?? 0n);
    const record =
      output.file === null
        ? null
        : files.recordOf(output.file, place, {
            kind: 'history',
            maxFlushedTso: null,
            dropTso: drop,
            flags: [MERGED_FLAG],
            addedTso: added.reduce((a, b) => (a > b ? a : b)),
            level: 1 + Math.max(...chosen.map(({ file }) => file.info.level)),
          });
    const edits: Edit[] = chosen.map(({ file }) => remove('file', file.info.id));
    if (record !== null) edits.push(put('file', record));
    const gone = joinHalves(output.goneHigh, output.goneLow);
    if (gone > 0n) edits.push(past.floors.raise(table.id, gone));
    await manifest.commit(edits, {
      applied: () => {
        const kept = store.history.filter((entry) => !chosen.includes(entry));
        if (record !== null) {
          const file = files.make(record, store, region);
          kept.push({ file, dropHigh: highOf(drop), dropLow: lowOf(drop), dropsByCell: true });
        }
        store.history = kept;
        region.layoutVersion++;
        reads.forget(region);
        for (const { file } of chosen) files.retire(file);
      },
    });
    this.merges++;
  }

  /** Figures for status and metrics. */
  status(): HistoryStatus {
    const { catalog, past, pins } = this.#parts;
    const tables: TableHistory[] = [];
    let bytes = 0;
    let files = 0;
    for (const table of catalog.tables()) {
      const placed = placedHistory(table);
      const size = placed.reduce((sum, { entry }) => sum + entry.file.info.sizeBytes, 0);
      bytes += size;
      files += placed.length;
      tables.push({
        table: table.name,
        bytes: size,
        files: placed.length,
        oldestReadableTso: past.floors.earliest(table.id),
      });
    }
    const droppedBytes = past.dropped
      .flatMap(({ table }) => filesOf(table))
      .reduce((sum, { info }) => sum + info.sizeBytes, 0);
    const need = pins.oldest();
    return {
      bytes,
      files,
      merges: this.merges,
      droppedTables: past.dropped.length,
      droppedBytes,
      oldestReadableTso: past.floors.earliest(null),
      oldestReaderTso: need?.tso ?? null,
      oldestReader: need?.owner ?? null,
      tables,
    };
  }

  /** Starts no more; waits for the pass under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#pass?.catch(() => undefined); // Its own caller hears of it.
  }
}

/** Edits of a table's file records, and what they do to its stores, with no split or merge beside them. */
async function withoutSplits(table: TableState, change: () => Promise<void>): Promise<void> {
  const leave = await table.layout.enter();
  try {
    await change();
  } finally {
    leave();
  }
}

function placedHistory(table: TableState): Placed[] {
  return table.regions.flatMap((region) =>
    [...region.stores, ...region.formerStores].flatMap((store) =>
      store.history.map((entry) => ({ region, store, entry })),
    ),
  );
}

/** Files that are small in proportion to the newer ones; null if there are none. */
function chooseMerge(store: Store, forcedCount: number): readonly HistoryFile[] | null {
  const oldestFirst = [...store.history].sort((a, b) => compare(dropOf(a), dropOf(b)));
  const sizes = oldestFirst.map(({ file }) => file.info);
  const isForced = oldestFirst.length > forcedCount;
  const chosen = selectCompaction(sizes, MERGE_RULES, isForced);
  return chosen === null ? null : oldestFirst.slice(chosen.from, chosen.to).toReversed();
}

const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);
