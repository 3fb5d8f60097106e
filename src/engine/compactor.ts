/**
 * Compactions: after each flush the ratio rules are asked whether a store has files to merge; a major compaction takes all
 * of them. A few at a time over the whole server, the store with the most files first, so that one hot region does not
 * starve the others. The work is done on a worker; the switch is a commit (file_switch.ts).
 */
import { isLess } from './read_point.ts';
import type { Env } from '../io/index.ts';
import {
  COMPACTION_RULES,
  OFF_PEAK_RATIO,
  isOffPeak,
  rewriteJob,
  selectCompaction,
} from '../region/index.ts';
import type { CompactionRules, OffPeakHours, Region, Store, StoreFile } from '../region/index.ts';
import { compactionRulesOf } from './compaction_rules.ts';
import type { FileSwitch } from './file_switch.ts';
import type { Logger } from './logger.ts';
import type { FilePlace, StoreFiles } from './store_files.ts';
import type { TableState } from './table_state.ts';

/** More files than this in a store, and the newest are merged whatever their sizes (HBase: blockingStoreFiles is 16). */
const FILES_FORCED = 12;
const NEWEST = 0xffffffff;

export interface CompactorParts {
  readonly env: Env;
  readonly files: StoreFiles;
  readonly fileSwitch: FileSwitch;
  readonly logger: Logger;
  readonly nowMs: () => number;
  readonly concurrencyMax: number;
  /** 0: as fast as it goes. */
  readonly bytesPerSecondMax: number;
  /** A region has new files, and perhaps new history. */
  readonly compacted?: (table: TableState, region: Region) => void;
  readonly rules?: CompactionRules;
  readonly offPeakHours: OffPeakHours | null;
}

export class Compactor {
  readonly #parts: CompactorParts;
  readonly #rules: CompactionRules;
  /** Stores that wait for their turn. */
  readonly #waiting = new Map<Store, FilePlace>();
  readonly #running = new Map<Store, Promise<void>>();
  #isStopped = false;
  compactions = 0;
  failures = 0;

  constructor(parts: CompactorParts) {
    this.#parts = parts;
    this.#rules = parts.rules ?? COMPACTION_RULES;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** Asks the rules about the region's stores and lines up what they choose. */
  consider(table: TableState, region: Region): void {
    for (const store of region.stores) {
      if (this.#choose(table, store) !== null) this.#waiting.set(store, { table, region, store });
    }
    this.#startWaiting();
  }

  #choose(table: TableState, store: Store): readonly StoreFile[] | null {
    // What a split left is rewritten first of all, with everything else.
    if (store.files.some(({ info }) => info.isReference)) return store.files;
    const oldestFirst = store.files.toReversed();
    const sizes = oldestFirst.map((file) => file.info);
    const rules = compactionRulesOf(table.schema, store.settings.name, this.#rulesNow());
    const forced = Math.max(FILES_FORCED, rules.filesMin);
    const chosen = selectCompaction(sizes, rules, oldestFirst.length >= forced);
    return chosen === null ? null : oldestFirst.slice(chosen.from, chosen.to).toReversed();
  }

  #rulesNow(): CompactionRules {
    const { offPeakHours, nowMs } = this.#parts;
    if (offPeakHours === null) return this.#rules;
    const hour = new Date(nowMs()).getHours();
    return isOffPeak(offPeakHours, hour) ? { ...this.#rules, ratio: OFF_PEAK_RATIO } : this.#rules;
  }

  #startWaiting(): void {
    while (
      !this.#isStopped &&
      this.#running.size < this.#parts.concurrencyMax &&
      this.#waiting.size > 0
    ) {
      const place = this.#next();
      if (place === null) return;
      this.#waiting.delete(place.store);
      const files = this.#choose(place.table, place.store);
      if (files === null || !place.table.holds(place.region, place.store)) continue;
      void this.#start(place, files, false).catch((error: unknown) => {
        this.failures++;
        const fields = { err: error, table: place.table.name, region: place.region.encodedName };
        this.#parts.logger.error(fields, 'a compaction failed');
      });
    }
  }

  /** The waiting store with the most files that is not being compacted. */
  #next(): FilePlace | null {
    let next: FilePlace | null = null;
    for (const place of this.#waiting.values()) {
      if (this.#running.has(place.store)) continue;
      if (next === null || place.store.files.length > next.store.files.length) next = place;
    }
    return next;
  }

  /** Compacts the region's stores now and waits. `isMajor`: all files of each store. */
  async compact(table: TableState, region: Region, isMajor: boolean): Promise<void> {
    for (const store of region.stores) {
      // Asked again after each wait: of several that wait for one compaction only one may start the next.
      while (this.#running.has(store)) await this.#finished(store);
      const files = isMajor ? store.files : this.#choose(table, store);
      if (files === null || files.length === 0 || !table.holds(region, store)) continue;
      await this.#start({ table, region, store }, files, isMajor);
    }
  }

  /** Rewrites the stores of a region that have parts of other regions' files, so that each has files of its own. */
  async compactReferences(table: TableState, region: Region): Promise<void> {
    for (const store of region.stores) {
      while (this.#running.has(store)) await this.#finished(store);
      if (!store.files.some(({ info }) => info.isReference) || !table.holds(region, store))
        continue;
      await this.#start({ table, region, store }, store.files, false);
    }
  }

  async #finished(store: Store): Promise<void> {
    await this.#running.get(store)?.catch(() => undefined); // Its own caller hears of it.
  }

  #start(place: FilePlace, files: readonly StoreFile[], isMajor: boolean): Promise<void> {
    const compaction = this.#compact(place, files, isMajor).finally(() => {
      this.#running.delete(place.store);
      this.#startWaiting();
    });
    this.#running.set(place.store, compaction);
    return compaction;
  }

  async #compact(place: FilePlace, chosen: readonly StoreFile[], isMajor: boolean): Promise<void> {
    const { env, files, fileSwitch, nowMs, bytesPerSecondMax } = this.#parts;
    const { table, region, store } = place;
    // A file linked in a capture's time has to be told from those that the capture takes.
    if (chosen.some(({ info }) => info.stamp !== null)) await table.capturing;
    const { path, historyPath } = await files.place(place);
    const isAll = chosen.length === store.files.length;
    const output = await env.executor.run(
      rewriteJob({
        // Markers go whenever all files are merged, whoever asked for it (HBase: ScanType of a request of all files).
        // Not while memory has cells from before a marker that came in a loaded or staged file: it has to hide them still.
        kind: isAll && !isMemoryOlder(store, chosen) ? 'major' : 'minor',
        settings: store.settings,
        memstores: [],
        files: chosen.map(({ info }) => ({
          path: info.path,
          stamp: info.stamp,
          fromRow: info.fromRow,
          toRow: info.toRow,
        })),
        outputPath: path,
        historyPath,
        readHigh: NEWEST,
        readLow: NEWEST,
        nowMs: nowMs(),
        purgeDeletesAfterMs: 0,
        hasTags: chosen.some(({ info }) => info.hasTags),
        isSynced: true,
        bytesPerSecondMax,
      }),
    );
    await files.syncFolderOf(path);
    const what = `compact ${table.name} ${region.encodedName} ${store.settings.name}`;
    const flags = isMajor && isAll ? ['major'] : [];
    const level = 1 + Math.max(0, ...chosen.map((file) => file.info.level));
    const change = {
      place,
      output,
      flushedTso: null,
      isSynced: true,
      flags,
      level,
      replaced: chosen,
    };
    if ((await fileSwitch.perform(what, [change], () => undefined)) === 0) return;
    this.compactions++;
    this.#parts.compacted?.(table, region);
  }

  /** Starts no more; waits for those under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#waiting.clear();
    await Promise.allSettled(this.#running.values());
  }
}

/** Whether memory holds cells that were written before some cell of these files. */
function isMemoryOlder(store: Store, files: readonly StoreFile[]): boolean {
  return [store.memstore, ...store.frozen].some(
    ({ cellCount, stats }) =>
      cellCount > 0 &&
      files.some(({ info }) =>
        isLess(
          stats.minWriteHigh,
          stats.minWriteLow,
          info.maxWriteHigh ?? 0,
          info.maxWriteLow ?? 0,
        ),
      ),
  );
}
