/** Memstores and files of a store as an explained read uses them: counted, with why some had nothing for it. */
import type { CellSource, CellView, NewestTimestamp, SeekKey, SourceState } from '../cell/index.ts';
import { READY, WAIT } from '../cell/index.ts';
import type { BlockKind, BlockWatch, CachedBlock } from '../hfile/index.ts';
import type { BlockCounts, SourceExplanation, SourceRuledOut } from '../model/index.ts';
import { CellTally } from './scan/explain_cells.ts';
import type { StoreFileInfo } from './store_file_info.ts';

type Counts = { -readonly [Name in keyof BlockCounts]: BlockCounts[Name] };

const noBlocks = (): Counts => ({
  fromCache: 0,
  fromCacheBytes: 0,
  fromDisk: 0,
  fromDiskBytes: 0,
});

/** One memstore or file. */
export class SourceTally implements BlockWatch {
  ruledOut: SourceRuledOut | null = null;
  opened = false;
  readonly #place: Pick<SourceExplanation, 'kind' | 'path' | 'cells' | 'sizeBytes'>;
  #seeks = 0;
  #steps = 0;
  /** Offsets of blocks that were counted: each counts once. */
  readonly #seen: Set<number> = new Set();
  readonly #blocks: Readonly<Record<BlockKind, Counts>> = {
    data: noBlocks(),
    index: noBlocks(),
    bloom: noBlocks(),
  };

  constructor(place: Pick<SourceExplanation, 'kind' | 'path' | 'cells' | 'sizeBytes'>) {
    this.#place = place;
  }

  fromCache(block: CachedBlock): void {
    if (this.#seen.has(block.offset)) return;
    this.#seen.add(block.offset);
    const counts = this.#blocks[block.kind];
    counts.fromCache++;
    counts.fromCacheBytes += block.sizeBytes;
  }

  fromDisk(block: CachedBlock, sizeOnDisk: number): void {
    if (this.#seen.has(block.offset)) return;
    this.#seen.add(block.offset);
    const counts = this.#blocks[block.kind];
    counts.fromDisk++;
    counts.fromDiskBytes += sizeOnDisk;
  }

  /** The source, its moves counted. */
  counted(source: CellSource): CellSource {
    return new CountedSource(source, this);
  }

  seeked(state: SourceState): SourceState {
    // A move that waits is made again; one that was not made, as the file was ruled out, is none.
    if (state !== WAIT && this.ruledOut === null) this.#seeks++;
    return state;
  }

  stepped(state: SourceState): SourceState {
    if (state === READY) this.#steps++;
    return state;
  }

  explanation(): SourceExplanation {
    return {
      ...this.#place,
      ruledOut: this.ruledOut,
      opened: this.opened,
      seeks: this.#seeks,
      steps: this.#steps,
      blocks: this.#blocks,
    };
  }
}

class CountedSource implements CellSource {
  readonly #source: CellSource;
  readonly #tally: SourceTally;

  constructor(source: CellSource, tally: SourceTally) {
    this.#source = source;
    this.#tally = tally;
  }

  get cell(): CellView {
    return this.#source.cell;
  }

  get newest(): NewestTimestamp | null {
    return this.#source.newest ?? null;
  }

  seek(key: SeekKey): SourceState {
    return this.#tally.seeked(this.#source.seek(key));
  }

  seekToFirst(): SourceState {
    return this.#tally.seeked(this.#source.seekToFirst());
  }

  next(): SourceState {
    return this.#tally.stepped(this.#source.next());
  }

  reseek(key: SeekKey): SourceState {
    return this.#tally.seeked(this.#source.reseek(key));
  }

  seekBeforeRow(row: Uint8Array, rowAt: number, rowLength: number): SourceState {
    return this.#tally.seeked(this.#source.seekBeforeRow(row, rowAt, rowLength));
  }

  seekToLastRow(): SourceState {
    return this.#tally.seeked(this.#source.seekToLastRow());
  }

  load(): Promise<void> {
    return this.#source.load();
  }

  close(): void {
    this.#source.close();
  }
}

/** A store: its cells and its sources, in the order in which they were opened. */
export class StoreTally {
  readonly family: string;
  readonly cells: CellTally = new CellTally();
  readonly sources: SourceTally[] = [];

  constructor(family: string) {
    this.family = family;
  }

  memstore(
    source: CellSource,
    { cellCount, cellBytes }: { readonly cellCount: number; readonly cellBytes: number },
    kind: 'memstore' | 'frozen',
  ): CellSource {
    const tally = this.#add({ kind, path: null, cells: cellCount, sizeBytes: cellBytes });
    if (cellCount === 0) tally.ruledOut = 'empty';
    return tally.counted(source);
  }

  file(info: StoreFileInfo, kind: 'store' | 'history'): SourceTally {
    const { path, cellCount, sizeBytes } = info;
    return this.#add({ kind, path, cells: cellCount, sizeBytes });
  }

  #add(place: Pick<SourceExplanation, 'kind' | 'path' | 'cells' | 'sizeBytes'>): SourceTally {
    const tally = new SourceTally(place);
    this.sources.push(tally);
    return tally;
  }
}
