/** Places of rows: what is not the row's own is never believed, and gets that go by places answer as scans do. */
import { describe, expect, test } from 'vitest';
import { CellFields, putU16 } from '../../src/cell/index.ts';
import type { CellView } from '../../src/cell/index.ts';
import { cellsOf, start } from '../engine/store_support.ts';
import { seeded, simEnv } from '../../src/io/index.ts';
import { RowPlaces, RowSeek } from '../../src/region/index.ts';
import type { Result } from '../../src/model/index.ts';
import type { PlacedSource } from '../../src/region/index.ts';

/** A file of rows, each at the place of its index times ten in a block at its hundred. */
class FakeSource implements PlacedSource {
  readonly cell: CellFields = new CellFields();
  readonly owner: RowSeek | null;
  readonly numbers = new Map<number, number>();
  generation = 0;
  rowBlock = -1;
  readonly rows: readonly string[];
  inMemory = true;

  constructor(owner: RowSeek | null, rows: readonly string[]) {
    this.owner = owner;
    this.rows = rows;
  }

  standAt(offset: number, place: number): boolean {
    return this.inMemory && this.stand(offset / 100, place / 10);
  }

  stand(block: number, index: number): boolean {
    const row = Buffer.from(this.rows[block * 10 + index]!);
    const bytes = new Uint8Array(10 + row.length);
    putU16(bytes, 8, row.length);
    bytes.set(row, 10);
    Object.assign(this.cell, { block: bytes, at: index * 10, rowAt: 10, rowLength: row.length });
    this.rowBlock = block * 100;
    return true;
  }
}

const textOf = (result: Result | null): string => (result === null ? '' : cellsOf([result]).join());
const bytesOf = (text: string): Uint8Array => Buffer.from(text);
const rowOf = (cell: CellView): string =>
  Buffer.from(cell.block.subarray(cell.rowAt, cell.rowAt + cell.rowLength)).toString();

function begin(seek: RowSeek, row: string): string | null {
  const bytes = bytesOf(row);
  seek.begin(bytes, 0, bytes.length);
  return seek.known === null ? null : rowOf(seek.known.cell);
}

/** A whole search: every source that has the row finds it. */
function search(seek: RowSeek, sources: readonly FakeSource[], row: string): void {
  begin(seek, row);
  for (const source of sources) {
    const at = source.rows.indexOf(row);
    if (at < 0 || seek.known !== null) continue;
    source.stand(Math.floor(at / 10), at % 10);
    seek.found(source);
  }
  seek.end();
}

describe('what a search leaves', () => {
  const rows = Array.from({ length: 40 }, (_, i) => `row${i}`);

  test('a row of one file is known from then on', () => {
    const seek = new RowSeek(new RowPlaces(1 << 16), 0);
    const source = new FakeSource(seek, rows);
    for (const row of rows) {
      expect(begin(seek, row)).toBeNull();
      search(seek, [source], row);
      expect(begin(seek, row)).toBe(row);
    }
  });

  test('nothing, for a row of two files, of none, or when a file was left out', () => {
    const seek = new RowSeek(new RowPlaces(1 << 16), 0);
    const sources = [new FakeSource(seek, rows), new FakeSource(seek, ['row3'])];
    search(seek, sources, 'row3');
    expect(begin(seek, 'row3')).toBeNull();
    search(seek, sources, 'no such row');
    expect(begin(seek, 'no such row')).toBeNull();
    begin(seek, 'row4');
    sources[0]!.stand(0, 4);
    seek.leaveOut();
    seek.found(sources[0]!);
    seek.end();
    expect(begin(seek, 'row4')).toBeNull();
  });

  test('nothing, for a row that may go on in the next block', () => {
    const seek = new RowSeek(new RowPlaces(1 << 16), 0);
    const source = new FakeSource(seek, rows);
    begin(seek, 'row4');
    source.stand(0, 4);
    source.rowBlock = -1;
    seek.found(source);
    seek.end();
    expect(begin(seek, 'row4')).toBeNull();
  });

  test('a table of sixty-four buckets, where rows meet: only the row itself is an answer', () => {
    const places = new RowPlaces(2048);
    const one = new RowSeek(places, 0);
    const other = new RowSeek(places, 0);
    const first = new FakeSource(one, rows);
    const second = new FakeSource(other, [...rows].reverse());
    let known = 0;
    for (let i = 0; i < 1000; i++) {
      const row = `row${(i * 7) % 50}`;
      const [seek, source] = i % 3 === 0 ? [other, second] : [one, first];
      const found = begin(seek, row);
      if (found !== null) known++;
      expect(found ?? row).toBe(row);
      if (found !== null) expect(seek.known).toBe(source);
      search(seek, [source], row);
    }
    expect(known).toBeGreaterThan(0);
    expect(places.sizeBytes).toBe(2048);
  });

  test('a block that is not in memory, and a source that is closed, are not used', () => {
    const seek = new RowSeek(new RowPlaces(1 << 16), 0);
    const source = new FakeSource(seek, rows);
    search(seek, [source], 'row7');
    source.inMemory = false;
    expect(begin(seek, 'row7')).toBeNull();
    source.inMemory = true;
    expect(begin(seek, 'row7')).toBe('row7');
    seek.forget(source);
    expect(begin(seek, 'row7')).toBeNull();
  });

  test('more blocks than are numbered: all is forgotten, and learned again', () => {
    const places = new RowPlaces(2048);
    const seek = new RowSeek(places, 0);
    const source = new FakeSource(
      seek,
      Array.from({ length: 200 }, (_, i) => `row${i}`),
    );
    for (let round = 0; round < 3; round++) {
      for (const row of source.rows) {
        search(seek, [source], row);
        expect(begin(seek, row)).toBe(row);
      }
    }
  });

  test('no bytes: nothing is kept', () => {
    const seek = new RowSeek(new RowPlaces(0), 0);
    const source = new FakeSource(seek, rows);
    search(seek, [source], 'row7');
    expect(begin(seek, 'row7')).toBeNull();
  });
});

/** Rows written over several files, some in more than one, with markers, wide rows and several families. */
describe('gets by places', () => {
  const cases = [
    { seed: 1, blockCacheBytes: 16 << 20 },
    { seed: 2, blockCacheBytes: 40_000 },
    { seed: 3, blockCacheBytes: 4096 },
  ];
  test.each(cases)('answer as scans do: $blockCacheBytes bytes of cache', async (options) => {
    const env = simEnv({ seed: options.seed, startMs: 1_700_000_000_000 });
    const random = seeded(options.seed);
    const { blockCacheBytes } = options;
    const store = await env.drive(start(env, { blockCacheBytes, autoCompact: false }));
    const families = ['a', 'b'].map((name) => ({ name, VERSIONS: 3, BLOCKSIZE: 1024, TTL: 500 }));
    await env.drive(store.admin.createTable({ name: 't', families }));
    const table = store.table('t');
    const rowOfIndex = (i: number): string => `row${String(i).padStart(3, '0')}`;
    const write = async (): Promise<void> => {
      for (let i = 0; i < 30; i++) {
        const row = rowOfIndex(random.int(60));
        const family = random.int(2) === 0 ? 'a' : 'b';
        const kind = random.int(12);
        if (kind === 0) await table.delete(row);
        else if (kind === 1) await table.delete(row, { columns: [`${family}:q1`] });
        else if (kind === 2) {
          const columns = Array.from({ length: 30 }, (_, c) => [`${family}:c${c}`, 'x'.repeat(60)]);
          await table.put(row, Object.fromEntries(columns) as Record<string, string>);
        } else {
          const ts = env.clock.nowMs() - random.int(2) * 400_000;
          await table.put(row, { [`${family}:q${random.int(3)}`]: `v${i}` }, { ts });
        }
      }
    };
    const check = async (): Promise<void> => {
      const expected = new Map<string, string>();
      for await (const result of table.scan({ versions: 2 })) {
        expected.set(result.rowText, cellsOf([result]).join());
      }
      for (let i = 0; i < 150; i++) {
        const row = rowOfIndex(random.int(64));
        const result = await table.get(row, { versions: 2 });
        expect(textOf(result)).toBe(expected.get(row) ?? '');
        if (random.int(3) !== 0) continue;
        const columns = ['a:q1', 'b:c7'];
        const some = (result === null ? [] : cellsOf([result])).filter((cell) =>
          columns.some((column) => cell.includes(` ${column}@`)),
        );
        const named = await table.get(row, { versions: 2, columns });
        expect(textOf(named)).toBe(some.join());
      }
    };
    await env.drive(
      (async () => {
        for (let round = 0; round < 8; round++) {
          await write();
          if (round % 3 !== 2) await store.admin.flush('t');
          await check();
          if (round === 5) await store.admin.compact('t', { major: true });
          if (round === 6) await env.timers.sleep(200_000);
        }
        await check();
      })(),
    );
    await env.drive(store.close());
  });
});
