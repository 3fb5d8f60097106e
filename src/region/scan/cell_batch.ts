/**
 * What a scanner hands out in one step: cells copied as packed cells (model/result.ts) into chunks, row after row.
 * A row's cells lie in one chunk. Chunks belong to the results made from them; the batch goes on in the same chunk behind
 * them, so bytes handed out never change.
 *
 * The last row may be open: its cells are still being collected. `clear` forgets the finished results and keeps it.
 */
import { CellFields, NO_BYTES, putU32, u16, u32 } from '../../cell/index.ts';
import type { CellView } from '../../cell/index.ts';
import type { RowCells } from '../../filter/index.ts';
import { PACKED_CELL_HEADER, Result } from '../../model/index.ts';
import { BlockViews, VIEW_COPY_MAX, copyViewed, viewOf } from './block_views.ts';

const CHUNK_SIZE_MIN = 4 * 1024;
const CHUNK_SIZE_DEFAULT = 64 * 1024;
/** Below this a loop copies faster than a native call. */
const NATIVE_COPY_MIN = 40;
const NO_LIMIT: number = Infinity;
const SPAN_FIELDS = 5;
const NO_SPANS: Int32Array = new Int32Array(0);
const SPANS_MIN = 8;
const SPANS_WANTED_MAX = 128;

/** When a scanner stops filling a batch. Reached limits never lose cells: the next step goes on behind them. */
export interface BatchLimits {
  /** Results at most. */
  readonly resultsMax: number;
  /** Bytes of packed cells after which no further result is begun. */
  readonly bytesMax: number;
  /** Cells looked at after which the step ends, even without a result, so that a long search does not block the process. */
  readonly examinedMax?: number;
  /** A row may be cut in parts where `bytesMax` is reached. */
  readonly partsAllowed?: boolean;
  /**
   * A row is cut as soon as a limit within it is reached and it has another cell, seen or not, as HBase does: what is flagged
   * as partial may be all that is seen of the row. Default: only before a cell that is seen.
   */
  readonly cutsEarly?: boolean;
  /** Whole rows at most; of a row in parts the last counts. Default: no limit. */
  readonly rowsMax?: number;
}

/**
 * How cells lie in a batch: packed (model/result.ts), or as a cell block of the wire has them, u32 length · KeyValue, without tags
 * or with. Results are made of packed ones only.
 */
export type CellLayout = 'packed' | 'block' | 'taggedBlock';

/** Bytes before a cell of a block: its length. */
const BLOCK_CELL_HEADER = 4;

export class CellBatch {
  /** Finished results. */
  size = 0;
  /** Bytes of packed cells of the finished results. */
  bytes = 0;
  /** Cells looked at since the last `begin`. */
  examined = 0;
  /** Cells of the open row. */
  openCells = 0;
  /** Rows among the finished results; a row in parts counts with its last. */
  rows = 0;
  readonly #chunkSizeMax: number;
  readonly #header: number;
  readonly #dropsTags: boolean;
  #chunk: Uint8Array = NO_BYTES;
  /** Made when it is needed. */
  #chunkView: DataView | null = null;
  #views: BlockViews | null = null;
  #at = 0;
  #openFrom = 0;
  /** The chunks that finished results lie in. */
  #chunks: Uint8Array[] = [];
  /** SPAN_FIELDS numbers a result: index of its chunk, from, to, cells, partial. */
  #spans: Int32Array = NO_SPANS;
  #resultsMax = NO_LIMIT;
  #bytesMax = NO_LIMIT;
  #cellsMax = NO_LIMIT;
  #examinedMax = NO_LIMIT;
  #partsAllowed = false;
  /** Set by `begin`: the reader of the row asks `cut` before each further cell. */
  cutsEarly = false;
  /** The open row has parts among the finished results, or had before these were forgotten. */
  hasParts = false;
  #rowsMax = NO_LIMIT;

  /** Chunks grow up to `chunkSizeMax` bytes, more for a longer row. A result kept alive keeps its whole chunk. */
  constructor(chunkSizeMax: number = CHUNK_SIZE_DEFAULT, layout: CellLayout = 'packed') {
    this.#chunkSizeMax = chunkSizeMax;
    this.#header = layout === 'packed' ? PACKED_CELL_HEADER : BLOCK_CELL_HEADER;
    this.#dropsTags = layout === 'block';
  }

  /** Sets what the coming step may collect. `cellsMax`: cells a result at most. */
  begin(limits: BatchLimits, cellsMax: number): void {
    this.#resultsMax = limits.resultsMax;
    this.#bytesMax = limits.bytesMax;
    this.#examinedMax = limits.examinedMax ?? NO_LIMIT;
    this.#partsAllowed = limits.partsAllowed ?? false;
    this.cutsEarly = limits.cutsEarly ?? false;
    this.#rowsMax = limits.rowsMax ?? NO_LIMIT;
    this.#cellsMax = cellsMax;
    this.examined = 0;
  }

  /** A limit is reached: the step ends. */
  get isFull(): boolean {
    return (
      this.size >= this.#resultsMax ||
      this.bytes >= this.#bytesMax ||
      this.rows >= this.#rowsMax ||
      this.examined >= this.#examinedMax
    );
  }

  /** Whether the step has looked at as many cells as it may. */
  get isTired(): boolean {
    return this.examined >= this.#examinedMax;
  }

  /** Copies a cell to the open row. True when that finished a part before it which makes the batch full. */
  append(cell: CellView): boolean {
    const cut = this.openCells > 0 && this.#mustCut();
    if (cut) this.closeRow(true);
    const header = this.#header;
    const hidden = this.#dropsTags && cell.tagsLength > 0 ? 2 + cell.tagsLength : 0;
    const length = cell.length - hidden;
    const need = header + length;
    if (this.#at + need > this.#chunk.length) this.#grow(need);
    const chunk = this.#chunk;
    const at = this.#at;
    putU32(chunk, at, length);
    if (header === PACKED_CELL_HEADER) {
      putU32(chunk, at + 4, cell.writeHigh);
      putU32(chunk, at + 8, cell.writeLow);
    }
    this.#copy(cell, at + header, length);
    this.#at = at + need;
    this.openCells++;
    return cut && this.isFull;
  }

  #copy(cell: CellView, at: number, length: number): void {
    const { block } = cell;
    // The only cell of a batch is not worth it.
    const isViewed = length < VIEW_COPY_MAX && this.size + this.openCells > 0;
    const from = isViewed ? (this.#views ??= new BlockViews()).of(block) : null;
    if (from === null) copyBytes(block, cell.at, this.#chunk, at, length);
    else copyViewed(from, cell.at, (this.#chunkView ??= viewOf(this.#chunk)), at, length);
  }

  /** The open row goes on: cuts it if it must be. True when that makes the batch full. */
  cut(): boolean {
    if (this.openCells === 0 || !this.#mustCut()) return false;
    this.closeRow(true);
    return this.isFull;
  }

  /** The row has no cells but those of its parts. */
  endRow(): void {
    this.hasParts = false;
    this.rows++;
  }

  #mustCut(): boolean {
    if (this.openCells >= this.#cellsMax) return true;
    return this.#partsAllowed && this.bytes + this.#at - this.#openFrom >= this.#bytesMax;
  }

  /** Makes the open row a result. */
  closeRow(partial: boolean): void {
    const chunks = this.#chunks;
    if (chunks.length === 0 || chunks[chunks.length - 1] !== this.#chunk) chunks.push(this.#chunk);
    const at = this.size * SPAN_FIELDS;
    if (at === this.#spans.length) this.#growSpans();
    const spans = this.#spans;
    spans[at] = chunks.length - 1;
    spans[at + 1] = this.#openFrom;
    spans[at + 2] = this.#at;
    spans[at + 3] = this.openCells;
    spans[at + 4] = partial ? 1 : 0;
    this.size++;
    if (!partial) this.rows++;
    this.hasParts = partial;
    this.bytes += this.#at - this.#openFrom;
    this.#openFrom = this.#at;
    this.openCells = 0;
  }

  /** Forgets the open row. */
  dropRow(): void {
    this.#at = this.#openFrom;
    this.openCells = 0;
  }

  /** The finished result at `index` (0 … size-1). */
  result(index: number): Result {
    const spans = this.#spans;
    const at = index * SPAN_FIELDS;
    const chunk = this.#chunks[spans[at]!]!;
    const partial = spans[at + 4] === 1;
    return new Result(chunk, spans[at + 1]!, spans[at + 2]!, spans[at + 3]!, partial);
  }

  /** Cells of the finished result at `index`. */
  cellsAt(index: number): number {
    return this.#spans[index * SPAN_FIELDS + 3]!;
  }

  /** Whether more cells of its row follow in the next result. */
  isPartialAt(index: number): boolean {
    return this.#spans[index * SPAN_FIELDS + 4] === 1;
  }

  /** The row of the finished result at `index`: a view. */
  rowAt(index: number): Uint8Array {
    const spans = this.#spans;
    const buf = this.#chunks[spans[index * SPAN_FIELDS]!]!;
    const at = spans[index * SPAN_FIELDS + 1]! + this.#header;
    return buf.subarray(at + 10, at + 10 + u16(buf, at + 8));
  }

  /** The bytes of the finished results, in as few pieces as they lie in. They are the caller's. */
  pieces(): Uint8Array[] {
    const spans = this.#spans;
    const pieces: Uint8Array[] = [];
    const end = this.size * SPAN_FIELDS;
    for (let at = 0; at < end;) {
      const chunk = spans[at]!;
      const from = spans[at + 1]!;
      let to = spans[at + 2]!;
      for (at += SPAN_FIELDS; at < end && spans[at] === chunk && spans[at + 1] === to;) {
        to = spans[at + 2]!;
        at += SPAN_FIELDS;
      }
      pieces.push(this.#chunks[chunk]!.subarray(from, to));
    }
    return pieces;
  }

  /** Sets `view` on the first cell of the open row. */
  viewOpen(view: PackedCell): void {
    view.set(this.#chunk, this.#openFrom);
  }

  /** Forgets the finished results, not the open row. */
  clear(): void {
    // Who rests between two steps keeps no block in memory.
    this.#views?.clear();
    if (this.size === 0) return;
    this.size = 0;
    this.bytes = 0;
    this.rows = 0;
    this.#chunks.length = 0;
  }

  /** Drops everything: the batch may serve another scanner. */
  reset(): void {
    this.clear();
    this.dropRow();
    this.hasParts = false;
  }

  /** The open row for `filterRowCells`. The packed cells are this batch's. */
  openRow(): RowCells {
    const { openCells } = this;
    return new OpenRow(this.#chunk, this.#openFrom, openCells, this.#header, (end, count) => {
      this.#at = end;
      this.openCells = count;
    });
  }

  /** Puts the open row's cells in the order of their families; within a family they stay as they are. */
  sortOpenRow(): void {
    const row = this.openRow();
    const cells: { family: string; bytes: Uint8Array }[] = [];
    const header = this.#header;
    let at = this.#openFrom;
    for (let i = 0; i < row.count; i++) {
      const { block, rowAt, rowLength, qualifierAt, length } = row.cellAt(i);
      const familyAt = rowAt + rowLength + 1;
      const family = Buffer.from(block.subarray(familyAt, qualifierAt)).toString('latin1');
      const bytes = Uint8Array.prototype.slice.call(this.#chunk, at, at + header + length);
      cells.push({ family, bytes });
      at += header + length;
    }
    cells.sort((a, b) => (a.family < b.family ? -1 : Number(a.family > b.family)));
    at = this.#openFrom;
    for (const { bytes } of cells) {
      this.#chunk.set(bytes, at);
      at += bytes.length;
    }
  }

  #growSpans(): void {
    // A step that says how many results it wants mostly gets them.
    const wanted = this.#resultsMax <= SPANS_WANTED_MAX ? this.#resultsMax : SPANS_MIN;
    const count = Math.max(SPANS_MIN, wanted, (2 * this.#spans.length) / SPAN_FIELDS);
    const grown = new Int32Array(count * SPAN_FIELDS);
    grown.set(this.#spans);
    this.#spans = grown;
  }

  /** A new chunk, to which the open row moves. */
  #grow(need: number): void {
    const open = this.#at - this.#openFrom;
    const doubled = Math.max(CHUNK_SIZE_MIN, this.#chunk.length * 2);
    // A row that outgrows its chunk gets twice the room each time.
    const size = Math.max(
      Math.min(doubled, this.#chunkSizeMax),
      (open + need) * (open > 0 ? 2 : 1),
    );
    const chunk = Buffer.allocUnsafeSlow(size);
    if (open > 0) chunk.set(this.#chunk.subarray(this.#openFrom, this.#at));
    this.#chunk = chunk;
    this.#chunkView = null;
    this.#openFrom = 0;
    this.#at = open;
  }
}

export function copyBytes(
  from: Uint8Array,
  fromAt: number,
  to: Uint8Array,
  toAt: number,
  length: number,
): void {
  if (length >= NATIVE_COPY_MIN) {
    to.set(new Uint8Array(from.buffer, from.byteOffset + fromAt, length), toAt);
    return;
  }
  for (let i = 0; i < length; i++) to[toAt + i] = from[fromAt + i]!;
}

/** A view of a packed cell. */
export class PackedCell extends CellFields {
  /** Stands on the packed cell at `packedAt`. */
  set(buf: Uint8Array, packedAt: number): void {
    this.writeHigh = u32(buf, packedAt + 4);
    this.writeLow = u32(buf, packedAt + 8);
    this.setKeyValue(buf, packedAt + PACKED_CELL_HEADER, u32(buf, packedAt));
  }

  /** Stands on a KeyValue of `length` bytes; the write number is set apart. */
  setKeyValue(buf: Uint8Array, at: number, length: number): void {
    const keyEnd = at + 8 + u32(buf, at);
    this.block = buf;
    this.at = at;
    this.length = length;
    this.rowAt = at + 10;
    this.rowLength = u16(buf, at + 8);
    const familyAt = this.rowAt + this.rowLength + 1;
    this.timestampAt = keyEnd - 9;
    this.qualifierAt = familyAt + buf[familyAt - 1]!;
    this.qualifierLength = this.timestampAt - this.qualifierAt;
    this.valueAt = keyEnd;
    this.valueLength = u32(buf, at + 4);
    const valueEnd = keyEnd + this.valueLength;
    const hasTags = at + length > valueEnd;
    this.tagsAt = hasTags ? valueEnd + 2 : valueEnd;
    this.tagsLength = at + length - this.tagsAt;
  }
}

/** The open row of a batch: offsets are read once, when a filter asks for the row. */
class OpenRow implements RowCells {
  readonly #buf: Uint8Array;
  readonly #starts: number[] = [];
  #end: number;
  readonly #header: number;
  readonly #changed: (end: number, count: number) => void;
  readonly #view: PackedCell = new PackedCell();

  constructor(
    buf: Uint8Array,
    from: number,
    count: number,
    header: number,
    changed: (end: number, count: number) => void,
  ) {
    this.#buf = buf;
    this.#header = header;
    this.#end = from;
    this.#changed = changed;
    for (let i = 0; i < count; i++) {
      this.#starts.push(this.#end);
      this.#end += header + u32(buf, this.#end);
    }
  }

  get count(): number {
    return this.#starts.length;
  }

  cellAt(index: number): CellView {
    const at = this.#starts[index]!;
    if (this.#header === PACKED_CELL_HEADER) this.#view.set(this.#buf, at);
    else this.#view.setKeyValue(this.#buf, at + this.#header, u32(this.#buf, at));
    return this.#view;
  }

  remove(index: number): void {
    const starts = this.#starts;
    const from = starts[index]!;
    const behind = index + 1 < starts.length ? starts[index + 1]! : this.#end;
    this.#buf.copyWithin(from, behind, this.#end);
    this.#end -= behind - from;
    starts.splice(index, 1);
    for (let i = index; i < starts.length; i++) starts[i] = starts[i]! - (behind - from);
    this.#changed(this.#end, starts.length);
  }
}
