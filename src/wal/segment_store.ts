/** The segments of a log beside its records: which there are, new ones, and what becomes of those nobody needs. */
import type { Env } from '../io/index.ts';
import { invariant } from '../io/index.ts';
import { compareHalves } from './format.ts';
import { copySegmentInfo, createSegment, type OpenSegment, type SegmentInfo } from './segment.ts';

/** Keeps segments from being released. `release` is idempotent. */
export interface LogHold {
  release(): void;
}

interface HeldFrom extends LogHold {
  readonly high: number;
  readonly low: number;
}

interface Spare {
  readonly path: string;
  readonly sizeBytes: number;
  readonly generation: number;
}

const SPARES_MAX = 2;

export interface SegmentStoreOptions {
  readonly dir: string;
  /** Where released segments go that shall be kept; null: nowhere. */
  readonly archiveDir: string | null;
  /** Usual size of a segment, bytes. */
  readonly segmentBytes: number;
  /** 16 bytes. */
  readonly storeId: Uint8Array;
}

export class SegmentStore {
  /** In the order of the log; the last one takes records. */
  readonly live: SegmentInfo[];
  readonly #env: Env;
  readonly #options: SegmentStoreOptions;
  readonly #holds: Set<HeldFrom> = new Set();
  readonly #spares: Spare[] = [];
  #nextNumber: number;
  #isParentSynced = false;
  #releasing: Promise<number> = Promise.resolve(0);

  constructor(
    env: Env,
    options: SegmentStoreOptions,
    live: readonly SegmentInfo[],
    nextNumber: number,
  ) {
    this.#env = env;
    this.#options = options;
    this.live = live.map(copySegmentInfo);
    this.#nextNumber = nextNumber;
  }

  /** Makes a segment behind `previous`, in a file used before if one is large enough. */
  async create(sizeBytes: number, previous: number): Promise<OpenSegment> {
    const { dir, storeId } = this.#options;
    if (!this.#isParentSynced) {
      await this.#env.fs.ensureFolder(dir);
      await this.#env.fs.syncFolder(parentOf(dir));
      this.#isParentSynced = true;
    }
    const at = this.#spares.findIndex((spare) => spare.sizeBytes >= sizeBytes);
    const spare = at < 0 ? null : this.#spares.splice(at, 1)[0]!;
    const number = this.#nextNumber;
    const generation = spare === null ? 0 : spare.generation + 1;
    const header = { number, previous, generation, storeId };
    const size = spare === null ? sizeBytes : spare.sizeBytes;
    const path = spare === null ? null : spare.path;
    const segment = await createSegment(this.#env, dir, header, size, path);
    this.#nextNumber = number + 1;
    return segment;
  }

  /** Removes a segment that holds no record. Its file is gone from the disk when this resolves. */
  async discard(segment: OpenSegment): Promise<void> {
    await segment.handle.close();
    await this.#env.fs.remove(segment.path);
    await this.#env.fs.syncFolder(this.#options.dir);
  }

  /** Bytes of all live segments. */
  get bytes(): number {
    return this.live.reduce((sum, info) => sum + info.sizeBytes, 0);
  }

  hold(high: number, low: number): LogHold {
    const held: HeldFrom = { high, low, release: () => void this.#holds.delete(held) };
    this.#holds.add(held);
    return held;
  }

  /**
   * Gives up the oldest segments whose records are all below the TSO and below every hold, never one from number
   * `busyFrom` on. One after the other, each gone from the folder for good before the next: a crash leaves no gap.
   */
  releaseBelow(high: number, low: number, busyFrom: number, archive: boolean): Promise<number> {
    const run = async (): Promise<number> => {
      let count = 0;
      while (this.#isReleasable(high, low, busyFrom)) {
        await this.#release(this.live[0]!, archive);
        this.live.shift();
        count++;
      }
      return count;
    };
    // Whether an earlier call failed does not matter here: its caller was told, and this one starts over.
    this.#releasing = this.#releasing.then(run, run);
    return this.#releasing;
  }

  #isReleasable(high: number, low: number, busyFrom: number): boolean {
    const first = this.live[0];
    if (first === undefined || first.number >= busyFrom) return false;
    const { lastHigh, lastLow } = first;
    if (compareHalves(lastHigh, lastLow, high, low) >= 0) return false;
    for (const held of this.#holds) {
      if (compareHalves(lastHigh, lastLow, held.high, held.low) >= 0) return false;
    }
    return true;
  }

  async #release(info: SegmentInfo, archive: boolean): Promise<void> {
    const { dir, archiveDir, segmentBytes } = this.#options;
    const { fs } = this.#env;
    if (archive) {
      invariant(archiveDir !== null, 'the log has no archive folder', dir);
      await fs.ensureFolder(archiveDir);
      await fs.syncFolder(parentOf(archiveDir));
      const archived = `${archiveDir}/${nameOf(info.path)}`;
      await fs.remove(archived); // What a crash in the middle of this left: another name of the same file.
      await fs.link(info.path, archived);
      await fs.syncFolder(archiveDir);
      await fs.remove(info.path);
    } else if (info.sizeBytes === segmentBytes && this.#spares.length < SPARES_MAX) {
      const path = info.path.replace(/wal$/, 'free');
      await fs.rename(info.path, path);
      // The old name must be gone before a new header goes into the file.
      await fs.syncFolder(dir);
      this.#spares.push({ path, sizeBytes: info.sizeBytes, generation: info.generation });
      return;
    } else {
      await fs.remove(info.path);
    }
    await fs.syncFolder(dir);
  }

  /** Removes the files kept for reuse. */
  async close(): Promise<void> {
    await this.#releasing.catch(() => 0); // Its caller was told.
    for (const spare of this.#spares.splice(0)) await this.#env.fs.remove(spare.path);
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function parentOf(path: string): string {
  const at = path.lastIndexOf('/');
  return at < 0 ? '.' : path.slice(0, at) || '/';
}
