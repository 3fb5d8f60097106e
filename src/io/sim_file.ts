/**
 * A simulated file: what is written, what is on the disk, and what is on its way there.
 *
 * Content is kept in pages of 8 sectors; a sector (512 bytes) is what a disk writes at once. `#pages` is what a reader
 * sees, `#durable` what the disk holds. `#dirty` names the sectors that were written and are in no sync, each sync
 * under way takes them with it as a `Layer`. `#lost` names sectors that a failed sync forgot: the page cache shows
 * them, no later sync writes them (as Linux does).
 *
 * Pages are copied on write: a page that two places refer to is marked shared and never changed again. So a crash, which
 * is a copy of everything, costs a reference a page.
 */
import { invariant } from './errors.ts';
import type { SeededRandom } from './sim_random.ts';

export const SECTOR_SIZE = 512;
const PAGE_SECTORS = 8;
const PAGE_SIZE = SECTOR_SIZE * PAGE_SECTORS;
const ALL_SECTORS = (1 << PAGE_SECTORS) - 1;
/** Of the sectors that a crash keeps, one in so many is torn: its first bytes are new, the rest old. */
const TORN_ONE_IN = 8;

class Page {
  readonly data: Uint8Array;
  isShared: boolean;
  constructor(data: Uint8Array, isShared: boolean) {
    this.data = data;
    this.isShared = isShared;
  }
}

const ZEROS: Uint8Array = new Uint8Array(PAGE_SIZE);

/** Page number to the mask of its sectors. */
type Sectors = Map<number, number>;
type Pages = (Page | undefined)[];

/** What was dirty when a sync was called. */
interface Layer {
  readonly dirty: Sectors;
  readonly pages: Map<number, Page | undefined>;
  readonly sizeBytes: number;
  /** The smallest size the file was cut to since the sync before; null if it was not cut. */
  readonly cutTo: number | null;
}

interface FlyingWrite {
  readonly data: Uint8Array;
  readonly at: number;
}

/** Makes page `index` of `pages` writable and gives its bytes. */
function writable(pages: Pages, index: number): Uint8Array {
  let page = pages[index];
  if (page === undefined) page = new Page(new Uint8Array(PAGE_SIZE), false);
  else if (page.isShared) page = new Page(page.data.slice(), false);
  while (pages.length <= index) pages.push(undefined);
  pages[index] = page;
  return page.data;
}

function put(pages: Pages, index: number, page: Page | undefined): void {
  while (pages.length <= index) pages.push(undefined);
  pages[index] = page;
}

/** Drops what lies at or beyond `sizeBytes`; the rest of the last page becomes zeros. */
function cutPages(pages: Pages, sizeBytes: number): void {
  const kept = Math.ceil(sizeBytes / PAGE_SIZE);
  if (pages.length > kept) pages.length = kept;
  const tail = sizeBytes % PAGE_SIZE;
  if (tail !== 0 && pages[kept - 1] !== undefined) writable(pages, kept - 1).fill(0, tail);
}

/** Copies the sectors of `mask` from `from` into page `index`. */
function putSectors(pages: Pages, index: number, from: Page | undefined, mask: number): void {
  if (mask === ALL_SECTORS) return put(pages, index, from);
  const source = from?.data ?? ZEROS;
  const target = writable(pages, index);
  for (let sector = 0; sector < PAGE_SECTORS; sector++) {
    if ((mask & (1 << sector)) === 0) continue;
    const at = sector * SECTOR_SIZE;
    target.set(source.subarray(at, at + SECTOR_SIZE), at);
  }
}

function share(pages: Pages): Pages {
  for (const page of pages) if (page !== undefined) page.isShared = true;
  return pages.slice();
}

export class SimFile {
  readonly kind = 'file';
  /** Names that lead here. */
  linkCount = 0;
  modifiedMs = 0;
  #pages: Pages = [];
  #sizeBytes = 0;
  #dirty: Sectors = new Map();
  #cutTo: number | null = null;
  #lost: Sectors = new Map();
  #layers: Layer[] = [];
  #durable: Pages = [];
  #durableSize = 0;
  readonly #flying = new Set<FlyingWrite>();
  readonly #isVolatile: boolean;

  /** A volatile file keeps no account of what is synced: a crash leaves nothing of it. */
  constructor(isVolatile: boolean = false) {
    this.#isVolatile = isVolatile;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** True if a crash could lose something of it. */
  get isDirty(): boolean {
    return this.#dirty.size > 0 || this.#layers.length > 0 || this.#sizeBytes !== this.#durableSize;
  }

  read(buf: Uint8Array, at: number): number {
    const count = Math.max(0, Math.min(buf.length, this.#sizeBytes - at));
    for (let done = 0; done < count;) {
      const inPage = (at + done) % PAGE_SIZE;
      const length = Math.min(PAGE_SIZE - inPage, count - done);
      const page = this.#pages[Math.floor((at + done) / PAGE_SIZE)];
      if (page === undefined) buf.fill(0, done, done + length);
      else buf.set(page.data.subarray(inPage, inPage + length), done);
      done += length;
    }
    return count;
  }

  write(data: Uint8Array, at: number): void {
    for (let done = 0; done < data.length;) {
      const index = Math.floor((at + done) / PAGE_SIZE);
      const inPage = (at + done) % PAGE_SIZE;
      const length = Math.min(PAGE_SIZE - inPage, data.length - done);
      const piece = data.subarray(done, done + length);
      // Preallocated space is cheap: whole pages of zeros have no bytes of their own.
      if (length === PAGE_SIZE && Buffer.compare(piece, ZEROS) === 0) {
        put(this.#pages, index, undefined);
      } else writable(this.#pages, index).set(piece, inPage);
      const first = Math.floor(inPage / SECTOR_SIZE);
      const last = Math.floor((inPage + length - 1) / SECTOR_SIZE);
      this.#touch(index, (2 << last) - (1 << first));
      done += length;
    }
    if (data.length > 0) this.#sizeBytes = Math.max(this.#sizeBytes, at + data.length);
  }

  truncate(sizeBytes: number): void {
    if (sizeBytes < this.#sizeBytes) {
      cutPages(this.#pages, sizeBytes);
      for (const index of [...this.#dirty.keys()]) {
        if (index * PAGE_SIZE >= sizeBytes) this.#dirty.delete(index);
      }
      this.#cutTo = Math.min(this.#cutTo ?? sizeBytes, sizeBytes);
    }
    this.#sizeBytes = sizeBytes;
  }

  /** Remembers a write that has begun: a crash may find any part of it done. Call the result when it is over. */
  fly(data: Uint8Array, at: number): () => void {
    const write = { data, at };
    this.#flying.add(write);
    return () => this.#flying.delete(write);
  }

  /** Takes what is dirty now into a sync; `endSync` or `failSync` must follow. */
  beginSync(): Layer {
    const pages = new Map<number, Page | undefined>();
    for (const index of this.#dirty.keys()) {
      const page = this.#pages[index];
      if (page !== undefined) page.isShared = true;
      pages.set(index, page);
    }
    const layer = { dirty: this.#dirty, pages, sizeBytes: this.#sizeBytes, cutTo: this.#cutTo };
    this.#dirty = new Map();
    this.#cutTo = null;
    this.#layers.push(layer);
    return layer;
  }

  /** Puts a sync, and those begun before it, on the disk. */
  endSync(layer: Layer): void {
    const count = this.#layers.indexOf(layer) + 1; // 0: a later sync took it along.
    for (const done of this.#layers.splice(0, count)) {
      if (done.cutTo !== null && done.cutTo < this.#durableSize) {
        cutPages(this.#durable, done.cutTo);
      }
      for (const [index, mask] of done.dirty) {
        putSectors(this.#durable, index, done.pages.get(index), mask);
      }
      this.#durableSize = done.sizeBytes;
    }
  }

  /**
   * A sync that fails: any part of it reached the disk. Either the rest stays dirty or it is forgotten, so that a sync
   * that is tried again succeeds without it.
   */
  failSync(layer: Layer, random: SeededRandom): void {
    const index = this.#layers.indexOf(layer);
    if (index < 0) return;
    this.#layers.splice(index, 1);
    const forgets = random.chance(0.5);
    const left = forgets ? this.#lost : this.#dirty;
    for (const [at, mask] of layer.dirty) {
      const stored = random.int(ALL_SECTORS + 1) & mask;
      if (stored !== 0 && (at + 1) * PAGE_SIZE <= this.#durableSize) {
        putSectors(this.#durable, at, layer.pages.get(at), stored);
      }
      left.set(at, (left.get(at) ?? 0) | mask);
    }
    if (layer.cutTo !== null) this.#cutTo = Math.min(this.#cutTo ?? layer.cutTo, layer.cutTo);
  }

  /** A copy that shares pages and syncs under way; writes under way are done in it, each by a throw of a coin. */
  fork(random: SeededRandom): SimFile {
    const copy = new SimFile(this.#isVolatile);
    copy.modifiedMs = this.modifiedMs;
    copy.#pages = share(this.#pages);
    copy.#sizeBytes = this.#sizeBytes;
    copy.#dirty = new Map(this.#dirty);
    copy.#cutTo = this.#cutTo;
    copy.#lost = new Map(this.#lost);
    copy.#layers = this.#layers.slice();
    copy.#durable = share(this.#durable);
    copy.#durableSize = this.#durableSize;
    for (const { data, at } of this.#flying) {
      if (random.chance(0.5)) copy.write(data, at);
    }
    return copy;
  }

  /** After a fork: the processes are gone, the page cache is not, except perhaps for what a failed sync forgot. */
  survive(random: SeededRandom): void {
    for (const layer of this.#layers.splice(0)) {
      for (const [index, mask] of layer.dirty) this.#touch(index, mask);
      if (layer.cutTo !== null) this.#cutTo = Math.min(this.#cutTo ?? layer.cutTo, layer.cutTo);
    }
    for (const [index, mask] of this.#lost) {
      if (!random.chance(0.5) || index * PAGE_SIZE >= this.#sizeBytes) continue;
      const page = this.#durable[index];
      if (page !== undefined) page.isShared = true;
      putSectors(this.#pages, index, page, mask);
      this.#lost.delete(index);
    }
    cutPages(this.#pages, this.#sizeBytes);
  }

  /** After a fork: the power is gone. Everything synced is there, and a random part of the rest. */
  lose(keepUnsynced: number, random: SeededRandom): void {
    this.beginSync();
    let sizeBytes = this.#durableSize;
    // Behind a cut that is lost no later write of this file can be found: it went to space that is not the file's.
    let limit = Infinity;
    for (const layer of this.#layers.splice(0)) {
      if (layer.cutTo !== null && layer.cutTo < sizeBytes && limit === Infinity) {
        if (random.chance(keepUnsynced)) {
          cutPages(this.#durable, layer.cutTo);
          sizeBytes = layer.cutTo;
        } else limit = layer.cutTo;
      }
      for (const [index, mask] of layer.dirty) {
        this.#loseSectors(layer.pages.get(index), { index, mask, limit, keepUnsynced, random });
      }
      if (limit === Infinity) {
        sizeBytes = keptSize(sizeBytes, layer.sizeBytes, keepUnsynced, random);
      }
    }
    cutPages(this.#durable, sizeBytes);
    this.#durableSize = sizeBytes;
    this.#sizeBytes = sizeBytes;
    this.#pages = share(this.#durable);
    this.#lost.clear();
  }

  /** Changes stored bytes behind everybody's back: xors the byte at `at` with `mask`, in cache and on the disk. */
  flip(at: number, mask: number): void {
    invariant(at >= 0 && at < this.#sizeBytes, 'the byte to flip is in the file', at);
    for (const pages of [this.#pages, this.#durable]) {
      const page = writable(pages, Math.floor(at / PAGE_SIZE));
      page[at % PAGE_SIZE] = page[at % PAGE_SIZE]! ^ mask;
    }
  }

  /** Declares everything written to be on the disk, with no sync. */
  settle(): void {
    this.endSync(this.beginSync());
  }

  #touch(index: number, mask: number): void {
    if (this.#isVolatile) return;
    this.#dirty.set(index, (this.#dirty.get(index) ?? 0) | mask);
    const lost = this.#lost.get(index);
    if (lost !== undefined) this.#lost.set(index, lost & ~mask);
  }

  #loseSectors(
    from: Page | undefined,
    at: { index: number; mask: number; limit: number; keepUnsynced: number; random: SeededRandom },
  ): void {
    const { index, mask, limit, keepUnsynced, random } = at;
    let kept = 0;
    for (let sector = 0; sector < PAGE_SECTORS; sector++) {
      if ((mask & (1 << sector)) === 0 || !random.chance(keepUnsynced)) continue;
      const sectorAt = sector * SECTOR_SIZE;
      if (index * PAGE_SIZE + sectorAt + SECTOR_SIZE > limit) continue;
      if (keepUnsynced < 1 && random.int(TORN_ONE_IN) === 0) {
        const source = (from?.data ?? ZEROS).subarray(sectorAt, sectorAt + random.int(SECTOR_SIZE));
        writable(this.#durable, index).set(source, sectorAt);
      } else kept |= 1 << sector;
    }
    if (kept !== 0) putSectors(this.#durable, index, from, kept);
  }
}

/** The size after a crash: the old one, the new one, or, when it grew, one between. */
function keptSize(old: number, now: number, keep: number, random: SeededRandom): number {
  if (old === now || !random.chance(keep)) return old;
  return now < old || keep >= 1 || random.chance(0.5) ? now : old + random.int(now - old);
}
