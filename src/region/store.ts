/**
 * A store: one family of one region. Cells are in the active memstore, in memstores frozen for a flush, and in store
 * files; a read merges them all, newest first. What a switch of files took out of them is in history files, which only
 * reads as of before that switch look at.
 */
import type { CellSource } from '../cell/index.ts';
import type { FamilySettings } from '../model/index.ts';
import { DroppedAfter } from './drop_tag.ts';
import { Memstore } from './memstore/index.ts';
import type { SourceTally, StoreTally } from './explain_sources.ts';
import type { FileWindow } from './file_window.ts';
import type { RowSeek } from './row_seek.ts';
import type { StoreFile } from './store_file.ts';

/** Cells that left the live files at `drop`. */
export interface HistoryFile {
  readonly file: StoreFile;
  /** The TSO of the switch, in halves; of a merged file the greatest of its cells'. */
  readonly dropHigh: number;
  readonly dropLow: number;
  /** A merged file: each cell says when it left, in a tag. */
  readonly dropsByCell: boolean;
}

/** What a reader wants of the sources. */
export interface SourceWishes {
  /** Sees the store as a reader at this TSO did, in halves. */
  readonly high: number;
  readonly low: number;
  /** The sources serve seeks to single rows only. */
  readonly points: boolean;
  readonly cacheBlocks: boolean;
  /** Rules files out: for scans at once, for points at each seek; absent: none. */
  readonly window?: FileWindow;
  /** Told what is used, for explanations. */
  readonly tally?: StoreTally | null;
  /** For points: what the files share, begun before each seek. */
  readonly seek?: RowSeek | null;
}

export class Store {
  readonly familyId: number;
  settings: FamilySettings;
  memstore: Memstore = new Memstore();
  /** Newest first; on their way into a store file. */
  frozen: readonly Memstore[] = [];
  /** Newest first. */
  files: readonly StoreFile[] = [];
  history: readonly HistoryFile[] = [];
  /** Commits up to this TSO (in halves) are in the files: replay of the log skips them. */
  flushedHigh = 0;
  flushedLow = 0;

  constructor(familyId: number, settings: FamilySettings) {
    this.familyId = familyId;
    this.settings = settings;
  }

  /** Fresh cursors, the newest first. The caller closes them. */
  sources(wishes: SourceWishes): CellSource[] {
    const { points, cacheBlocks, window, seek = null, tally = null } = wishes;
    const sources: CellSource[] = [this.memstore.cursor()];
    for (const memstore of this.frozen) sources.push(memstore.cursor());
    if (tally !== null) {
      sources[0] = tally.memstore(sources[0]!, this.memstore, 'memstore');
      this.frozen.forEach((frozen, i) => {
        sources[i + 1] = tally.memstore(sources[i + 1]!, frozen, 'frozen');
      });
    }
    const options = { cacheBlocks };
    const open = (file: StoreFile, kind: 'store' | 'history'): CellSource | null => {
      const told = tally === null ? null : tally.file(file.info, kind);
      if (points) return counted(file.pointCursor(options, window, seek, told), told);
      const refused = window === undefined ? null : window.refuses(file.info);
      if (refused === null) return counted(file.cursor(options, told), told);
      if (told !== null) told.ruledOut = refused;
      return null;
    };
    for (const file of this.files) {
      const source = open(file, 'store');
      if (source !== null) sources.push(source);
    }
    const { high, low } = wishes;
    for (const { file, dropHigh, dropLow, dropsByCell } of this.history) {
      if (dropHigh < high || (dropHigh === high && dropLow <= low)) {
        if (tally !== null) tally.file(file.info, 'history').ruledOut = 'drop TSO';
        continue;
      }
      const source = open(file, 'history');
      if (source === null) continue;
      sources.push(dropsByCell ? new DroppedAfter(source, high, low) : source);
    }
    return sources;
  }

  /** The family was dropped: what is in memory is in files, too, or given up. */
  discardMemstores(): void {
    this.memstore = new Memstore();
    this.frozen = [];
  }

  /** Bytes of memory of its memstores, indexes included. */
  get memstoreHeapBytes(): number {
    let bytes = this.memstore.heapBytes;
    for (const memstore of this.frozen) bytes += memstore.heapBytes;
    return bytes;
  }

  get memstoreCells(): number {
    let cells = this.memstore.cellCount;
    for (const memstore of this.frozen) cells += memstore.cellCount;
    return cells;
  }

  get memstoreCellBytes(): number {
    let bytes = this.memstore.cellBytes;
    for (const memstore of this.frozen) bytes += memstore.cellBytes;
    return bytes;
  }
}

const counted = (source: CellSource, tally: SourceTally | null): CellSource =>
  tally === null ? source : tally.counted(source);
