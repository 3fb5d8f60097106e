/**
 * Brings memstores into store files. A flush freezes the memstores of a region in one step, waits until everything in
 * them is on the disk in the log, writes a file a store on a worker while writes go on into fresh memstores, and switches.
 * One flush a region at a time; a few regions side by side. A flush that fails leaves its memstores frozen, readable and
 * in the log, and is tried again.
 */
import type { Env } from '../io/index.ts';
import { DiskFullException } from '../io/index.ts';
import type { Edit, FileRecord } from '../manifest/index.ts';
import { Memstore, rewriteJob } from '../region/index.ts';
import type { Region, RewriteOutput, Store } from '../region/index.ts';
import type { CommitQueue } from './commit_queue.ts';
import type { FileSwitch, StoreSwitch } from './file_switch.ts';
import type { Logger } from './logger.ts';
import { joinHalves } from './read_point.ts';
import type { ReadPoint } from './read_point.ts';
import type { FilePlace, StoreFiles } from './store_files.ts';
import type { TableState } from './table_state.ts';

const RETRY_MS = 1000;
const NEWEST = 0xffffffff;

export interface FlusherParts {
  readonly env: Env;
  readonly queue: CommitQueue;
  readonly readPoint: ReadPoint;
  readonly files: StoreFiles;
  readonly fileSwitch: FileSwitch;
  readonly logger: Logger;
  readonly nowMs: () => number;
  /** Waits until everything logged so far is on the disk. */
  readonly syncLog: () => Promise<void>;
  /** A region has new files: the log may go, files may want compacting. */
  readonly flushed: (table: TableState, region: Region) => void;
}

/** The memstores are in files now. */
function release(queue: CommitQueue, { store, memstores }: Frozen): void {
  store.frozen = store.frozen.filter((memstore) => !memstores.includes(memstore));
  for (const memstore of memstores) queue.released(memstore.heapBytes);
}

const isLive = ({ table, region, store }: Frozen): boolean => table.holds(region, store);

export interface RegionPlace {
  readonly table: TableState;
  readonly region: Region;
}

/** What a flush has frozen. */
interface Frozen {
  readonly table: TableState;
  readonly region: Region;
  readonly store: Store;
  readonly memstores: readonly Memstore[];
}

/** A flush whose cells were all dropped without a trace has written nothing that needs a sync. */
function switchOf(
  place: FilePlace,
  output: RewriteOutput,
  flushedTso: bigint,
  isSynced: boolean,
): StoreSwitch {
  const isEmpty = output.file === null && output.history === null;
  return {
    place,
    output,
    flushedTso,
    isSynced: isSynced || isEmpty,
    flags: [],
    level: 0,
    replaced: [],
  };
}

const regionsOf = (places: readonly RegionPlace[]): Region[] => places.map(({ region }) => region);

export class Flusher {
  readonly #parts: FlusherParts;
  readonly #running = new Map<Region, Promise<void>>();
  /** Regions whose flush has failed, until it is tried again: a full disk is not asked at each write. */
  readonly #resting = new Set<Region>();
  #isStopped = false;
  flushes = 0;
  failures = 0;

  constructor(parts: FlusherParts) {
    this.#parts = parts;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** A flush is under way, or its next try is: a request would do nothing. */
  isFlushing(region: Region): boolean {
    return this.#running.has(region) || this.#resting.has(region);
  }

  /** Flushes the region; joins a flush under way, and then flushes what came after it was begun. Rejects with what failed. */
  async flush(table: TableState, region: Region): Promise<void> {
    const running = this.#running.get(region);
    if (running !== undefined) await running.catch(() => undefined); // Its own caller hears of it.
    const again = this.#running.get(region);
    return again ?? this.#start(table, region);
  }

  /** As `flush`, in the background: failures are logged and tried again. */
  request(table: TableState, region: Region): void {
    if (this.#isStopped || this.isFlushing(region)) return;
    // The region rests before those who wait for memory are woken and ask again.
    const flush = this.#flush(table, region).catch((error: unknown) =>
      this.#retryLater(table, region, error),
    );
    void this.#run([region], flush);
  }

  /** As `request`, for several regions in one switch: many that hold little would spend their time on syncs. */
  requestTogether(places: readonly RegionPlace[]): void {
    const free = places.filter(({ region }) => !this.isFlushing(region));
    if (this.#isStopped || free.length === 0) return;
    const flush = this.#begin(`flush ${free.length} regions`, free, () => []).catch(
      (error: unknown) => {
        for (const { table, region } of free) this.#retryLater(table, region, error);
      },
    );
    void this.#run(regionsOf(free), flush);
  }

  #retryLater(table: TableState, region: Region, error: unknown): void {
    this.failures++;
    const { logger, env, queue } = this.#parts;
    queue.flushFailure = error instanceof Error ? error : new Error(String(error));
    if (this.#isStopped) return;
    const level = error instanceof DiskFullException ? 'warn' : 'error';
    logger[level]({ err: error, table: table.name, region: region.encodedName }, 'a flush failed');
    this.#resting.add(region);
    env.timers.after(RETRY_MS, () => {
      this.#resting.delete(region);
      if (table.holdsRegion(region)) this.request(table, region);
    });
  }

  #start(table: TableState, region: Region): Promise<void> {
    return this.#run([region], this.#flush(table, region));
  }

  /** Notes that these regions are being flushed, until `work` is done. */
  #run(regions: readonly Region[], work: Promise<void>): Promise<void> {
    const flush = work.finally(() => {
      for (const region of regions) {
        if (this.#running.get(region) === flush) this.#running.delete(region);
      }
      // Writers that filled the memory again while this ran have asked in vain: now the region can be flushed anew.
      this.#parts.queue.released(0);
    });
    for (const region of regions) this.#running.set(region, flush);
    return flush;
  }

  /**
   * Flushes what these regions hold now, all frozen in one step, and nothing that comes later: their files become live in
   * one commit, with the edits that `further` answers. It gets the new files and the newest TSO that is in them; until then
   * no other flush adds files to the regions. `switched` runs in the step that changes what readers see.
   */
  flushTogether(
    what: string,
    places: readonly RegionPlace[],
    further: (flushedTso: bigint, files: readonly FileRecord[]) => readonly Edit[],
    switched: (flushedTso: bigint) => void = () => undefined,
  ): Promise<void> {
    return this.#run(regionsOf(places), this.#begin(what, places, further, switched));
  }

  #begin(
    what: string,
    places: readonly RegionPlace[],
    further: (flushedTso: bigint, files: readonly FileRecord[]) => readonly Edit[],
    switched: (flushedTso: bigint) => void = () => undefined,
  ): Promise<void> {
    const { appliedHigh, appliedLow } = this.#parts.readPoint;
    const flushedTso = joinHalves(appliedHigh, appliedLow);
    const before = places.flatMap(({ region }) => this.#running.get(region) ?? []);
    for (const { table, region } of places) this.#freeze(table, region);
    return this.#flushTogether({ what, places, before, flushedTso, further, switched });
  }

  async #flushTogether(flush: {
    readonly what: string;
    readonly places: readonly RegionPlace[];
    readonly before: readonly Promise<void>[];
    readonly flushedTso: bigint;
    readonly further: (flushedTso: bigint, files: readonly FileRecord[]) => readonly Edit[];
    readonly switched: (flushedTso: bigint) => void;
  }): Promise<void> {
    const { what, places, flushedTso } = flush;
    const { syncLog, fileSwitch, queue } = this.#parts;
    // What they froze earlier is either in files then, or still frozen and in ours.
    await Promise.allSettled(flush.before);
    await syncLog();
    const written: Frozen[] = [];
    for (const { table, region } of places) {
      for (const store of region.stores) {
        if (store.frozen.length > 0)
          written.push({ table, region, store, memstores: store.frozen });
      }
    }
    const switches = await this.#writeAll(written, flushedTso);
    const applied = (): void => {
      for (const frozen of written) if (isLive(frozen)) release(queue, frozen);
      flush.switched(flushedTso);
    };
    await fileSwitch.perform(what, switches, applied, (_, files) =>
      flush.further(flushedTso, files),
    );
    if (written.length > 0) this.flushes++;
    queue.flushFailure = null;
    for (const { table, region } of places) {
      if (table.holdsRegion(region)) this.#parts.flushed(table, region);
    }
  }

  /** Side by side, as many as there are workers. Rejects when none is being written any more. */
  async #writeAll(parts: readonly Frozen[], flushedTso: bigint): Promise<StoreSwitch[]> {
    const outputs = await Promise.allSettled(
      parts.map(({ table, region, store, memstores }) =>
        this.#write(table, region, store, memstores, true),
      ),
    );
    return outputs.map((output, i) => {
      if (output.status === 'rejected') throw output.reason;
      return switchOf(parts[i]!, output.value, flushedTso, true);
    });
  }

  async #flush(table: TableState, region: Region): Promise<void> {
    const { readPoint, queue, syncLog, fileSwitch } = this.#parts;
    // A region that was split or merged has given what it held to others.
    if (!table.holdsRegion(region)) return;
    const flushedTso = joinHalves(readPoint.appliedHigh, readPoint.appliedLow);
    const frozen = this.#freeze(table, region);
    if (frozen.every(({ memstores }) => memstores.length === 0)) return;
    await syncLog();
    const switches: StoreSwitch[] = [];
    for (const { store, memstores } of frozen) {
      const isSynced = store.settings.storeFileSync ?? table.settings.storeFileSync;
      const output = await this.#write(table, region, store, memstores, isSynced);
      switches.push(switchOf({ table, region, store }, output, flushedTso, isSynced));
    }
    // A region, table or family that went meanwhile has given its memory back.
    const what = `flush ${table.name} ${region.encodedName}`;
    const flushed = await fileSwitch.perform(what, switches, () => {
      for (const part of frozen) if (isLive(part)) release(queue, part);
    });
    queue.flushFailure = null;
    if (flushed === 0) return;
    this.flushes++;
    this.#parts.flushed(table, region);
  }

  /** In one step: what is in memory now is frozen, what comes goes into fresh memstores. */
  #freeze(table: TableState, region: Region): Frozen[] {
    const frozen = region.stores.map((store) => {
      if (store.memstore.cellCount > 0) {
        store.memstore.freeze();
        store.frozen = [store.memstore, ...store.frozen];
        store.memstore = new Memstore();
        this.#parts.queue.grew(store.memstore.heapBytes);
      }
      return { table, region, store, memstores: store.frozen };
    });
    region.layoutVersion++;
    return frozen;
  }

  async #write(
    table: TableState,
    region: Region,
    store: Store,
    memstores: readonly Memstore[],
    isSynced: boolean,
  ): Promise<RewriteOutput> {
    if (memstores.length === 0) return { file: null, history: null, cellsRead: 0 };
    const { env, files, nowMs } = this.#parts;
    const { path, historyPath } = await files.place({ table, region, store });
    const output = await env.executor.run(
      rewriteJob({
        kind: 'flush',
        settings: store.settings,
        memstores: memstores.map((memstore) => memstore.sharedImage()),
        files: [],
        outputPath: path,
        historyPath,
        readHigh: NEWEST,
        readLow: NEWEST,
        nowMs: nowMs(),
        purgeDeletesAfterMs: 0,
        hasTags: memstores.some((memstore) => memstore.stats.tagCount > 0),
        isSynced,
        bytesPerSecondMax: 0,
      }),
    );
    if (isSynced) await files.syncFolderOf(path);
    return output;
  }

  /** Starts no more; waits for those under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.allSettled(this.#running.values());
  }
}
