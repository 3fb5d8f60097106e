/** Where filters stand in the life of a row: protocol/semantics.md section 5, filters.md section 1. */
import { describe, expect, test } from 'vitest';
import type { CellView, SeekKey } from '../../../src/cell/index.ts';
import {
  FILTER_INCLUDE,
  FILTER_INCLUDE_AND_NEXT_COL,
  FILTER_INCLUDE_AND_SEEK_NEXT_ROW,
  FILTER_NEXT_ROW,
  FILTER_SEEK_NEXT_USING_HINT,
  FILTER_SKIP,
} from '../../../src/filter/index.ts';
import type { CellFilter, FilterCode, RowCells } from '../../../src/filter/index.ts';
import { normalizeScan } from '../../../src/model/index.ts';
import type { ScanOptions } from '../../../src/model/index.ts';
import { TYPES, TestStore, runScan, seeded } from './support.ts';
import type { TestCell } from './support.ts';

const NOW = 1_000_000;
const text = (cell: CellView, at: number, length: number): string =>
  Buffer.from(cell.block.subarray(at, at + length)).toString('latin1');
const rowOf = (cell: CellView): string => text(cell, cell.rowAt, cell.rowLength);
const valueOf = (cell: CellView): string => text(cell, cell.valueAt, cell.valueLength);
const qualifierOf = (cell: CellView): string => text(cell, cell.qualifierAt, cell.qualifierLength);

function filterOf(parts: Partial<CellFilter>): CellFilter {
  return {
    reset: () => undefined,
    filterAllRemaining: () => false,
    filterRowKey: () => false,
    filterCell: () => FILTER_INCLUDE,
    transformCell: (cell) => cell,
    nextCellHint: () => null,
    hasFilterRow: () => false,
    filterRowCells: () => undefined,
    filterRow: () => false,
    ...parts,
  };
}

const valueFilter = (value: string): CellFilter =>
  filterOf({ filterCell: (cell) => (valueOf(cell) === value ? FILTER_INCLUDE : FILTER_SKIP) });

function key(row: string, qualifier: string | null): SeekKey {
  return {
    row: Buffer.from(row),
    rowAt: 0,
    rowLength: row.length,
    qualifier: qualifier === null ? null : Buffer.from(qualifier),
    qualifierAt: 0,
    qualifierLength: qualifier?.length ?? 0,
    timestampHigh: 0x7fffffff,
    timestampLow: 0xffffffff,
    type: 255,
  };
}

function put(row: string, qualifier: string, ts: number, value: string): TestCell {
  return { row, qualifier, ts, type: TYPES.Put, value, write: ts };
}

function fourVersions(versions: number): TestStore {
  const cells = [10, 20, 30, 40].map((ts) => put('r', 'q', ts, `v${ts / 10}`));
  return new TestStore({ name: 'f', VERSIONS: versions }, [cells]);
}

/** The same answer at once and from sources that wait. */
async function scan(
  stores: readonly TestStore[],
  filter: () => CellFilter,
  options: ScanOptions = {},
): Promise<string[]> {
  const spec = normalizeScan(options);
  for (const store of stores) store.chance = 0;
  const answers = await runScan(stores, { spec, nowMs: NOW, filter: filter() });
  for (const store of stores) Object.assign(store, { waits: seeded(7), chance: 0.4 });
  expect(await runScan(stores, { spec, nowMs: NOW, filter: filter() })).toEqual(answers);
  return answers.map((answer) => answer.text);
}

/** Rows a, b, c with columns a, b, c in families f and g. */
function grid(): TestStore[] {
  return ['f', 'g'].map((name) => {
    const cells = ['a', 'b', 'c'].flatMap((row) =>
      ['a', 'b', 'c'].map((column) => put(row, column, 1, `${row}${column}`)),
    );
    return new TestStore({ name }, [cells]);
  });
}

describe('filters and versions', () => {
  test('VERSIONS of the family binds before the filter, versions asked for after it', async () => {
    expect(await scan([fourVersions(2)], () => valueFilter('v2'), { versions: 10 })).toEqual([]);
    expect(await scan([fourVersions(2)], () => valueFilter('v3'))).toEqual(['[r/f:q@30/Put=v3]']);
    expect(await scan([fourVersions(9)], () => valueFilter('v1'))).toEqual(['[r/f:q@10/Put=v1]']);
    const all = (): CellFilter => filterOf({});
    expect(await scan([fourVersions(9)], all)).toEqual(['[r/f:q@40/Put=v4]']);
    const named = { columns: ['f:q'], versions: 2 };
    expect(await scan([fourVersions(9)], all, named)).toEqual([
      '[r/f:q@40/Put=v4 r/f:q@30/Put=v3]',
    ]);
  });

  test('the filter may end a column', async () => {
    const first = (): CellFilter => filterOf({ filterCell: () => FILTER_INCLUDE_AND_NEXT_COL });
    const got = await scan([fourVersions(9)], first, { versions: 10 });
    expect(got).toEqual(['[r/f:q@40/Put=v4]']);
  });
});

describe('the life of a row', () => {
  test('a row filtered by its key is not looked at', async () => {
    const seen = new Set<string>();
    const filter = (): CellFilter =>
      filterOf({
        filterRowKey: (cell) => rowOf(cell) === 'b',
        filterCell: (cell) => {
          seen.add(rowOf(cell));
          return qualifierOf(cell) === 'c' ? FILTER_INCLUDE : FILTER_SKIP;
        },
      });
    const want = ['[a/f:c@1/Put=ac a/g:c@1/Put=ac]', '[c/f:c@1/Put=cc c/g:c@1/Put=cc]'];
    expect(await scan(grid(), filter)).toEqual(want);
    expect(await scan(grid(), filter, { reversed: true })).toEqual([...want].reverse());
    expect([...seen]).toEqual(['a', 'c']);
  });

  test('leaving the row leaves it in one family', async () => {
    const codes: FilterCode[] = [FILTER_INCLUDE_AND_SEEK_NEXT_ROW, FILTER_NEXT_ROW];
    const got = codes.map((code) =>
      scan(grid(), () => filterOf({ filterCell: () => code }), { limit: 1 }),
    );
    expect(await Promise.all(got)).toEqual([['[a/f:a@1/Put=aa a/g:a@1/Put=aa]'], []]);
  });

  test('a hint moves within the row and to another row, in both directions', async () => {
    const within = (): CellFilter =>
      filterOf({
        filterCell: (cell) =>
          qualifierOf(cell) === 'c' ? FILTER_INCLUDE : FILTER_SEEK_NEXT_USING_HINT,
        nextCellHint: (cell) => key(rowOf(cell), 'c'),
      });
    expect(await scan(grid(), within, { limit: 1 })).toEqual(['[a/f:c@1/Put=ac a/g:c@1/Put=ac]']);
    const toRow = (row: string) => (): CellFilter =>
      filterOf({
        filterCell: (cell) => (rowOf(cell) === row ? FILTER_INCLUDE : FILTER_SEEK_NEXT_USING_HINT),
        nextCellHint: () => key(row, null),
      });
    const options = { columns: ['f:b'] };
    expect(await scan(grid(), toRow('c'), options)).toEqual(['[c/f:b@1/Put=cb]']);
    const reversed = { ...options, reversed: true };
    expect(await scan(grid(), toRow('a'), reversed)).toEqual(['[a/f:b@1/Put=ab]']);
  });

  test('rows may be changed, dropped, and end the scan', async () => {
    const rowFilter = (): CellFilter => {
      let rows = 0;
      return filterOf({
        hasFilterRow: () => true,
        filterRowCells: (row: RowCells) => {
          for (let i = row.count - 1; i >= 0; i--) {
            if (qualifierOf(row.cellAt(i)) === 'b') row.remove(i);
          }
        },
        filterRow: () => ++rows === 1,
        filterAllRemaining: () => rows === 2,
      });
    };
    const got = await scan(grid(), rowFilter);
    expect(got).toEqual(['[b/f:a@1/Put=ba b/f:c@1/Put=bc b/g:a@1/Put=ba b/g:c@1/Put=bc]']);
    await expect(scan(grid(), rowFilter, { batch: 2 })).rejects.toThrow('hasFilterRow');
  });
});
