/** Merged history seen as of a moment, over a cache that keeps one block only. */
import { describe, expect, test } from 'vitest';
import { END, READY, WAIT, CellFields, writeKeyValue } from '../../src/cell/index.ts';
import type { CellSource, CellView, SeekKey, SourceState } from '../../src/cell/index.ts';
import { CellCopy, DroppedAfter } from '../../src/region/drop_tag.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const LOADS_MAX = 50;

/** A cell of the row with the qualifier, dropped at the TSO. */
function dropped(row: string, qualifier: string, dropTso: number): CellView {
  const view = new CellFields();
  view.block = Buffer.alloc(100);
  const parts = { row: bytes(row), family: bytes('f'), qualifier: bytes(qualifier) };
  const rest = { timestampHigh: 0, timestampLow: 7, type: 4, value: bytes('v') };
  view.length = writeKeyValue(view.block, 0, { ...parts, ...rest, tags: new Uint8Array(0) });
  view.rowAt = 10;
  view.rowLength = row.length;
  view.qualifierAt = 10 + row.length + 2;
  view.qualifierLength = qualifier.length;
  view.timestampAt = view.qualifierAt + qualifier.length;
  view.valueAt = view.timestampAt + 9;
  view.valueLength = 1;
  view.tagsAt = view.length;
  const copy = new CellCopy();
  copy.setWithDrop(view, 0, dropTso);
  return copy;
}

const rowOf = ({ block, rowAt, rowLength }: CellView): string =>
  Buffer.from(block.subarray(rowAt, rowAt + rowLength)).toString();

/** Each cell in a block of its own, the last one loaded being the only one at hand. */
class OneBlock implements CellSource {
  readonly #cells: readonly CellView[];
  #at = -1;
  #wanted = 0;
  #loaded = -1;
  loads = 0;

  constructor(cells: readonly CellView[]) {
    this.#cells = cells;
  }

  get cell(): CellView {
    return this.#cells[this.#at]!;
  }

  #to(index: number): SourceState {
    if (index < 0 || index >= this.#cells.length) return END;
    this.#wanted = index;
    if (this.#loaded !== index) return WAIT;
    this.#at = index;
    return READY;
  }

  #seekRow(row: string): SourceState {
    const index = this.#cells.findIndex((cell) => rowOf(cell) >= row);
    return this.#to(index < 0 ? this.#cells.length : index);
  }

  seek(key: SeekKey): SourceState {
    return this.#seekRow(Buffer.from(key.row).toString());
  }

  seekToFirst(): SourceState {
    return this.#to(0);
  }

  next(): SourceState {
    return this.#to(this.#at + 1);
  }

  reseek(key: SeekKey): SourceState {
    return this.seek(key);
  }

  seekBeforeRow(row: Uint8Array, rowAt: number, rowLength: number): SourceState {
    const before = Buffer.from(row.subarray(rowAt, rowAt + rowLength)).toString();
    const last = this.#cells.findLast((cell) => rowOf(cell) < before);
    return last === undefined
      ? END
      : this.#to(this.#cells.findIndex((cell) => rowOf(cell) === rowOf(last)));
  }

  seekToLastRow(): SourceState {
    const last = rowOf(this.#cells.at(-1)!);
    return this.#to(this.#cells.findIndex((cell) => rowOf(cell) === last));
  }

  async load(): Promise<void> {
    if (++this.loads > LOADS_MAX) throw new Error('loads for ever');
    this.#loaded = this.#wanted;
  }

  close(): void {
    this.#at = -1;
  }
}

/** The row and column that the move comes to, made again as often as it waits. */
async function moved(source: CellSource, move: () => SourceState): Promise<string> {
  for (;;) {
    const state = move();
    if (state === END) return 'end';
    if (state === READY) {
      const { block, qualifierAt, qualifierLength } = source.cell;
      const column = block.subarray(qualifierAt, qualifierAt + qualifierLength);
      return `${rowOf(source.cell)}/${Buffer.from(column).toString()}`;
    }
    await source.load();
  }
}

describe('a move that waits behind hidden cells goes on there, though their block is gone', () => {
  const cells = [
    ...[dropped('a', 'p', 9), dropped('b', 'p', 3), dropped('b', 'q', 4)],
    ...[dropped('b', 'r', 9), dropped('c', 'p', 2), dropped('c', 'q', 1), dropped('d', 'p', 2)],
  ];
  const key = {
    ...{ row: bytes('b'), rowAt: 0, rowLength: 1, qualifier: null, qualifierAt: 0 },
    ...{ qualifierLength: 0, timestampHigh: 0, timestampLow: 0, type: 0 },
  };

  test.each([
    ['seek', (source: CellSource) => source.seek(key), 'b/r'],
    ['seekToFirst', (source: CellSource) => source.seekToFirst(), 'a/p'],
    ['seekToLastRow', (source: CellSource) => source.seekToLastRow(), 'b/r'],
    ['seekBeforeRow', (source: CellSource) => source.seekBeforeRow(bytes('d'), 0, 1), 'b/r'],
  ] as const)('%s', async (_, move, want) => {
    const source = new DroppedAfter(new OneBlock(cells), 0, 5);
    expect(await moved(source, () => move(source))).toBe(want);
  });

  test('next, to the end', async () => {
    const source = new DroppedAfter(new OneBlock(cells), 0, 5);
    expect(await moved(source, () => source.seek(key))).toBe('b/r');
    expect(await moved(source, () => source.next())).toBe('end');
  });
});
