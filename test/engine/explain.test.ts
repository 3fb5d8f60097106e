/** `table.explain`: each number against one that follows from how the store was filled. */
import { describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection, OpenOptions } from '../../src/engine/index.ts';
import { simEnv } from '../../src/io/index.ts';
import type {
  ExplainTarget,
  FamilyExplanation,
  FamilySpec,
  HiddenCells,
  ReadExplanation,
} from '../../src/model/index.ts';
import {
  binaryComparator,
  columnPrefixFilter,
  customFilter,
  rowFilter,
  singleColumnValueFilter,
  valueFilter,
} from '../../src/filter/builders.ts';
import { BaseFilter, FILTER_INCLUDE } from '../../src/filter/index.ts';

const NOW = 1_700_000_000_000;

interface Run {
  readonly store: EmbeddedConnection;
  do<T>(work: Promise<T>): Promise<T>;
  sleep(ms: number): Promise<void>;
  explain(target: ExplainTarget, table?: string): Promise<ReadExplanation>;
  reopen(): Promise<Run>;
}

async function begin(
  families: readonly (FamilySpec | string)[] = ['f'],
  more: OpenOptions = {},
): Promise<Run> {
  const env = simEnv({ seed: 5, startMs: NOW });
  const options: OpenOptions = { env, blockingSync: false, autoCompact: false, ...more };
  const runOf = (store: EmbeddedConnection): Run => ({
    store,
    do: (work) => env.drive(work),
    sleep: (ms) => env.drive(env.timers.sleep(ms)),
    explain: (target, table = 't') => env.drive(store.table(table).explain(target)),
    reopen: async () => {
      await env.drive(store.close());
      return runOf(await env.drive(open('/data', options)));
    },
  });
  const run = runOf(await env.drive(open('/data', options)));
  await run.do(run.store.admin.createTable({ name: 't', families: [...families] }));
  return run;
}

/** The only family of the only region. */
function familyOf(explanation: ReadExplanation): FamilyExplanation {
  expect(explanation.regions).toHaveLength(1);
  expect(explanation.regions[0]!.families).toHaveLength(1);
  return explanation.regions[0]!.families[0]!;
}

const NOTHING_HIDDEN: HiddenCells = {
  marker: 0,
  versions: 0,
  ttl: 0,
  timeRange: 0,
  filter: 0,
  readPoint: 0,
  column: 0,
  duplicate: 0,
  storeLimit: 0,
};

/** Of files: null or why they were ruled out, oldest first, as they were written. */
const ruledOutOf = (explanation: ReadExplanation): (string | null)[] =>
  familyOf(explanation)
    .sources.filter(({ kind }) => kind === 'store')
    .map(({ ruledOut }) => ruledOut)
    .reverse();

function expectSum({ totals: { cells } }: ReadExplanation): void {
  const counts: number[] = Object.values({ ...cells.hidden });
  const hidden = counts.reduce((sum, count) => sum + count, 0);
  expect(cells.lookedAt).toBe(cells.returned + cells.markers + hidden);
}

describe('files', () => {
  /** Five files of two rows each: a1 a2 at 100, b1 b2 at 200, … e1 e2 at 500. */
  async function fiveFiles(bloom: string): Promise<Run> {
    const run = await begin([{ name: 'f', BLOOMFILTER: bloom }]);
    const table = run.store.table('t');
    for (const [i, letter] of ['a', 'b', 'c', 'd', 'e'].entries()) {
      for (const number of [1, 9]) {
        await run.do(table.put(`${letter}${number}`, { 'f:q': 'v' }, { ts: 100 * (i + 1) }));
      }
      await run.do(run.store.admin.flush('t'));
    }
    return run.reopen();
  }

  test('a whole scan reads them all, from the disk and then from the cache', async () => {
    const run = await fiveFiles('ROW');
    const first = await run.explain({ scan: {} });
    expect(first).toMatchObject({ table: 't', operation: 'scan' });
    expect(ruledOutOf(first)).toEqual([null, null, null, null, null]);
    const { totals } = first;
    expect(totals).toMatchObject({
      regionsRead: 1,
      regionsRuledOut: 0,
      filesRead: 5,
      filesRuledOut: 0,
      rowsReturned: 10,
    });
    expect(totals.cells).toEqual({
      lookedAt: 10,
      returned: 10,
      markers: 0,
      hidden: NOTHING_HIDDEN,
    });
    expect(totals.blocks.data).toMatchObject({ fromCache: 0, fromDisk: 5 });
    expect(totals.blocks.data.fromDiskBytes).toBeGreaterThan(5 * 40);
    const files = familyOf(first).sources.filter(({ path }) => path !== null);
    expect(files.map(({ opened, cells }) => [opened, cells])).toEqual(
      Array.from({ length: 5 }, () => [true, 2]),
    );
    for (const { path } of files) expect(path).toMatch(/^data\/default\/t\/[0-9a-f]{32}\/f\//);
    expect(first.regions[0]).toMatchObject({ rowsLookedAt: 10, rowsDropped: 0, ruledOut: null });
    expect(first.waitedMs).toBeLessThanOrEqual(first.elapsedMs);

    const second = await run.explain({ scan: {} });
    expect(second.totals.blocks.data).toMatchObject({ fromCache: 5, fromDisk: 0 });
    expect(familyOf(second).sources.some(({ opened }) => opened)).toBe(false);
    await run.do(run.store.close());
  });

  test.each<[string, ExplainTarget, (string | null)[]]>([
    [
      'rows of a range',
      { scan: { start: 'b', stop: 'd' } },
      ['key range', null, null, 'key range', 'key range'],
    ],
    [
      'a time range',
      { scan: { timeRange: { min: 250, max: 400 } } },
      ['time range', 'time range', null, 'time range', 'time range'],
    ],
    [
      'both',
      { scan: { start: 'd', timeRange: { min: 250, max: 450 } } },
      ['key range', 'key range', 'key range', null, 'time range'],
    ],
    ['a row', { get: 'c1' }, ['key range', 'key range', null, 'key range', 'key range']],
    [
      'a row that no file has',
      { get: 'c5' },
      ['key range', 'key range', 'row Bloom filter', 'key range', 'key range'],
    ],
    [
      'a row at another time',
      { get: 'c1', options: { ts: 100 } },
      ['key range', 'key range', 'time range', 'key range', 'key range'],
    ],
  ])('ruled out for %s', async (_, target, expected) => {
    const run = await fiveFiles('ROW');
    const explanation = await run.explain(target);
    expect(ruledOutOf(explanation)).toEqual(expected);
    expect(explanation.totals.filesRead).toBe(expected.filter((why) => why === null).length);
    expectSum(explanation);
    await run.do(run.store.close());
  });

  test.each([64 << 20, 0])(
    'ruled out by the filter of columns, with a cache of %i bytes',
    async (blockCacheBytes) => {
      const run = await begin([{ name: 'f', BLOOMFILTER: 'ROWCOL', VERSIONS: 5 }], {
        blockCacheBytes,
      });
      const table = run.store.table('t');
      // Each file has the row, and two columns of it; the last has a marker of the family in another row.
      for (const [i, columns] of [
        ['a', 'b'],
        ['b', 'c'],
        ['c', 'd'],
      ].entries()) {
        const values = Object.fromEntries(columns.map((column) => [`f:${column}`, `${i}`]));
        await run.do(table.put('r', values, { ts: 10 * (i + 1) }));
        await run.do(table.put('r2', values, { ts: 10 * (i + 1) }));
        if (i === 2) await run.do(table.delete('r2', { families: ['f'], ts: 15 }));
        await run.do(run.store.admin.flush('t'));
      }
      const absent = 'column Bloom filter';
      const get = async (row: string, columns: string[]): Promise<[unknown, number]> => {
        const options = { columns, versions: 5 };
        const result = await run.do(table.get(row, options));
        const explanation = await run.explain({ get: row, options });
        expect(explanation.totals.cells.returned).toBe(result?.size ?? 0);
        return [ruledOutOf(explanation), result?.size ?? 0];
      };
      expect(await get('r', ['f:a'])).toEqual([[null, absent, absent], 1]);
      expect(await get('r', ['f:b'])).toEqual([[null, null, absent], 2]);
      expect(await get('r', ['f:d', 'f:none'])).toEqual([[absent, absent, null], 1]);
      expect(await get('r', ['f:none'])).toEqual([[absent, absent, absent], 0]);
      // The marker hides what is older: its file is asked whatever its columns are.
      expect(await get('r2', ['f:a'])).toEqual([[null, absent, null], 0]);
      expect(await get('r2', ['f:c'])).toEqual([[absent, null, null], 2]);
      expect((await run.explain({ get: 'r' })).totals.filesRead).toBe(3);
      await run.do(run.store.close());
    },
  );

  test('ruled out by the TTL, and by the moment of the read', async () => {
    const run = await begin([{ name: 'f', TTL: 100 }]);
    const table = run.store.table('t');
    await run.do(table.put('old', { 'f:q': 'v' }, { ts: NOW - 50_000 }));
    await run.do(run.store.admin.flush('t'));
    await run.sleep(60_000);
    await run.do(table.put('new', { 'f:q': 'v' }));
    await run.do(run.store.admin.flush('t'));
    const asOf = await run.do(run.store.tso());
    await run.do(table.put('later', { 'f:q': 'v' }));
    await run.do(run.store.admin.flush('t'));
    expect(ruledOutOf(await run.explain({ scan: {} }))).toEqual(['TTL', null, null]);
    expect(ruledOutOf(await run.explain({ scan: { asOf } }))).toEqual([
      'TTL',
      null,
      'write number',
    ]);
    await run.do(run.store.close());
  });

  test('history is read as of a moment before its cells were dropped, and not after', async () => {
    const run = await begin([{ name: 'f', VERSIONS: 1 }]);
    const table = run.store.table('t');
    await run.do(table.put('r', { 'f:q': 'old' }, { ts: 1 }));
    const before = await run.do(run.store.tso());
    await run.do(run.store.admin.flush('t'));
    await run.do(table.put('r', { 'f:q': 'new' }, { ts: 2 }));
    await run.do(run.store.admin.flush('t'));
    await run.do(run.store.admin.compact('t', { major: true }));
    const kinds = async (target: ExplainTarget): Promise<unknown[]> =>
      familyOf(await run.explain(target)).sources.map(({ kind, ruledOut }) => [kind, ruledOut]);
    expect(await kinds({ get: 'r' })).toEqual([
      ['memstore', 'empty'],
      ['store', null],
      ['history', 'drop TSO'],
    ]);
    expect(await kinds({ get: 'r', options: { asOf: before } })).toEqual([
      ['memstore', 'empty'],
      ['store', null],
      ['history', null],
    ]);
    await run.do(run.store.close());
  });
});

describe('regions', () => {
  test('outside the rows, and behind the limit', async () => {
    const run = await begin();
    const { admin } = run.store;
    await run.do(admin.createTable({ name: 'split', families: ['f'], SPLITS: ['b', 'c', 'd'] }));
    for (const row of ['a', 'b', 'c', 'd']) {
      await run.do(run.store.table('split').put(row, { 'f:q': row }));
    }
    const whyOf = async (target: ExplainTarget): Promise<(string | null)[]> =>
      (await run.explain(target, 'split')).regions.map(({ ruledOut }) => ruledOut);
    expect(await whyOf({ scan: { start: 'b', limit: 1 } })).toEqual([
      'key range',
      null,
      'limit',
      'limit',
    ]);
    expect(
      await whyOf({ scan: { start: 'bb', stop: 'b', stopInclusive: true, reversed: true } }),
    ).toEqual(['key range', null, 'key range', 'key range']);
    expect(await whyOf({ get: 'c' })).toEqual(['key range', 'key range', null, 'key range']);
    const { totals } = await run.explain({ get: 'c' }, 'split');
    expect(totals).toMatchObject({ regionsRead: 1, regionsRuledOut: 3, rowsReturned: 1 });
    await run.do(run.store.close());
  });
});

describe('what became of the cells', () => {
  async function explained(
    fill: (run: Run) => Promise<void>,
    target: ExplainTarget,
    families: readonly (FamilySpec | string)[] = [{ name: 'f', VERSIONS: 3 }],
  ): Promise<ReadExplanation> {
    const run = await begin(families);
    await fill(run);
    const inMemory = await run.explain(target);
    expectSum(inMemory);
    await run.do(run.store.admin.flush('t'));
    expectSum(await run.explain(target));
    await run.do(run.store.close());
    return inMemory;
  }

  const put = (run: Run, row: string, column: string, ts: number): Promise<bigint> =>
    run.do(run.store.table('t').put(row, { [column]: 'v' }, { ts }));

  const hiddenOf = (explanation: ReadExplanation): Partial<HiddenCells> =>
    Object.fromEntries(
      Object.entries(explanation.totals.cells.hidden).filter(([, count]) => count !== 0),
    );

  test('hidden by a marker', async () => {
    const explanation = await explained(
      async (run) => {
        for (const ts of [10, 20, 30]) await put(run, 'r', 'f:q', ts);
        await run.do(run.store.table('t').delete('r', { versions: ['f:q'], ts: 20 }));
      },
      { get: 'r', options: { versions: 3 } },
    );
    expect(hiddenOf(explanation)).toEqual({ marker: 1 });
    expect(explanation.totals.cells).toMatchObject({ lookedAt: 4, returned: 2, markers: 1 });
  });

  test('versions beyond those asked for, once they are stepped over', async () => {
    const explanation = await explained(
      async (run) => {
        for (const ts of [10, 20, 30, 40]) await put(run, 'r', 'f:a', ts);
        await put(run, 'r', 'f:b', 10);
      },
      { get: 'r', options: { versions: 2 } },
    );
    expect(hiddenOf(explanation)).toEqual({ versions: 2 });
    expect(explanation.totals.cells).toMatchObject({ lookedAt: 5, returned: 3 });
  });

  test('expired by the family and by their own TTL', async () => {
    const explanation = await explained(
      async (run) => {
        await put(run, 'r', 'f:a', NOW - 200_000);
        await put(run, 'r', 'f:b', NOW - 1000);
        await run.do(run.store.table('t').put('r', { 'f:c': 'v' }, { ts: NOW - 1000, ttl: 500 }));
      },
      { get: 'r' },
      [{ name: 'f', TTL: 100 }],
    );
    expect(hiddenOf(explanation)).toEqual({ ttl: 2 });
    expect(explanation.totals.cells).toMatchObject({ lookedAt: 3, returned: 1 });
  });

  test('outside the time range, on both sides', async () => {
    const explanation = await explained(
      async (run) => {
        for (const ts of [10, 20, 30, 40]) await put(run, 'r', 'f:q', ts);
      },
      { get: 'r', options: { versions: 3, timeRange: { min: 20, max: 40 } } },
    );
    expect(hiddenOf(explanation)).toEqual({ timeRange: 2 });
    expect(explanation.totals.cells).toMatchObject({ lookedAt: 4, returned: 2 });
  });

  test('by a filter, cell by cell, by the row key and with their row', async () => {
    const fill = async (run: Run): Promise<void> => {
      for (const row of ['r1', 'r2', 'r3']) {
        for (const column of ['f:a', 'f:b']) {
          await run.do(run.store.table('t').put(row, { [column]: `${row}${column}` }));
        }
      }
    };
    const byValue = await explained(fill, {
      scan: { filter: valueFilter('EQUAL', binaryComparator('r2f:b')) },
    });
    expect(hiddenOf(byValue)).toEqual({ filter: 5 });
    expect(byValue.totals).toMatchObject({ rowsReturned: 1, cells: { lookedAt: 6, returned: 1 } });

    const byRow = await explained(fill, {
      scan: { filter: rowFilter('EQUAL', binaryComparator('r2')) },
    });
    expect(hiddenOf(byRow)).toEqual({ filter: 4 });
    expect(byRow.regions[0]).toMatchObject({ rowsLookedAt: 3, rowsDropped: 2 });

    const withRow = await explained(fill, {
      scan: {
        filter: singleColumnValueFilter(['f', 'b'], 'EQUAL', 'r2f:b'),
      },
    });
    expect(hiddenOf(withRow)).toEqual({ filter: 4 });
    expect(withRow.totals).toMatchObject({ rowsReturned: 1, cells: { lookedAt: 6, returned: 2 } });
  });

  test('committed after the moment of the read', async () => {
    const run = await begin();
    await put(run, 'r', 'f:a', 10);
    const asOf = await run.do(run.store.tso());
    await put(run, 'r', 'f:a', 20);
    await put(run, 'r', 'f:b', 20);
    const explanation = await run.explain({ get: 'r', options: { asOf } });
    expect(hiddenOf(explanation)).toEqual({ readPoint: 2 });
    expect(explanation.totals.cells).toMatchObject({ lookedAt: 3, returned: 1 });
    expect(explanation.readPoint).toBe(asOf);
    await run.do(run.store.close());
  });

  test('of columns that were not asked for, and an older write of the same cell', async () => {
    const run = await begin();
    await put(run, 'r', 'f:a', 10);
    await put(run, 'r', 'f:c', 10);
    await run.do(run.store.admin.flush('t'));
    await put(run, 'r', 'f:b', 10);
    await put(run, 'r', 'f:c', 10);
    const one = await run.explain({ get: 'r', options: { columns: ['f:b'] } });
    expect(one.totals.cells).toMatchObject({ returned: 1, hidden: { column: 1 } });
    const all = await run.explain({ get: 'r' });
    // VERSIONS is 1: the second write of f:c is a version too many before it is a duplicate.
    expect(hiddenOf(all)).toEqual({ versions: 1 });
    const versions = await run.explain({ scan: { raw: true, versions: 5 } });
    expect(hiddenOf(versions)).toEqual({ duplicate: 1 });
    expectSum(versions);
    await run.do(run.store.close());
  });

  test('outside storeOffset and storeLimit', async () => {
    const explanation = await explained(
      async (run) => {
        for (const column of ['f:a', 'f:b', 'f:c', 'f:d']) await put(run, 'r', column, 10);
        await put(run, 's', 'f:a', 10);
      },
      { scan: { storeOffset: 1, storeLimit: 2 } },
    );
    // f:a of both rows is skipped, f:d stepped over.
    expect(hiddenOf(explanation)).toEqual({ storeLimit: 3 });
    expect(explanation.totals).toMatchObject({ rowsReturned: 1, cells: { returned: 2 } });
  });
});

describe('moves', () => {
  test('hints of a filter', async () => {
    const run = await begin();
    const values = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [`f:c${String(i).padStart(2, '0')}`, 'v']),
    );
    await run.do(run.store.table('t').put('r', values));
    const { totals } = await run.explain({ scan: { filter: columnPrefixFilter('c3') } });
    expect(totals.hints).toEqual({ given: 1, followed: 1 });
    // The first column, and the ten with the prefix.
    expect(totals.cells).toMatchObject({ lookedAt: 11, returned: 10, hidden: { filter: 1 } });
    // To the scan's start, and along the hint.
    expect(totals.seeks).toBe(2);
    await run.do(run.store.close());
  });

  test('seeks put off and never made: the newest file has the columns', async () => {
    const run = await begin([{ name: 'f', BLOCKSIZE: 1024 }]);
    const columns = Array.from({ length: 60 }, (_, i) => `f:q${String(i).padStart(2, '0')}`);
    for (const ts of [1000, 2000, 3000]) {
      const values = Object.fromEntries(columns.map((column) => [column, 'v'.repeat(100)]));
      await run.do(run.store.table('t').put('r', values, { ts }));
      await run.do(run.store.admin.flush('t'));
    }
    const wanted = [10, 30, 50].map((i) => columns[i]!);
    const explanation = await run.explain({ get: 'r', options: { columns: wanted } });
    expect(explanation.totals.cells).toMatchObject({ returned: 3 });
    const { lazySeeksSaved, sources } = familyOf(explanation);
    // Two older files, three columns: put off once for each, over and over.
    expect(lazySeeksSaved).toBe(6);
    const blocks = sources
      .filter(({ kind }) => kind === 'store')
      .map(({ blocks: { data } }) => data.fromCache + data.fromDisk);
    // The newest file: the row's start and a block for each column; the others their row's start only.
    expect(blocks).toEqual([4, 1, 1]);
    await run.do(run.store.close());
  });

  test('families read on demand', async () => {
    const run = await begin(['a', 'b']);
    for (const row of ['r1', 'r2', 'r3']) {
      await run.do(run.store.table('t').put(row, { 'a:q': row, 'b:q': row }));
    }
    const filter = singleColumnValueFilter(['a', 'q'], 'EQUAL', 'r2', { filterIfMissing: true });
    const families = async (target: ExplainTarget): Promise<unknown[]> =>
      (await run.explain(target)).regions[0]!.families.map((family) => [
        family.family,
        family.onDemand,
        family.cells.lookedAt,
        family.cells.returned,
      ]);
    expect(await families({ scan: { filter } })).toEqual([
      ['a', false, 3, 1],
      ['b', true, 1, 1],
    ]);
    expect(await families({ scan: { filter, loadColumnFamiliesOnDemand: false } })).toEqual([
      ['a', false, 3, 1],
      ['b', false, 3, 1],
    ]);
    expect(await families({ get: 'r2', options: { families: ['b'] } })).toEqual([
      ['b', false, 1, 1],
    ]);
    await run.do(run.store.close());
  });
});

test('a filter of the user runs as in a scan, and what is no read is refused', async () => {
  const run = await begin();
  await run.do(run.store.table('t').put('r', { 'f:q': 'v' }));
  class Counting extends BaseFilter {
    cells = 0;
    override filterCell(): typeof FILTER_INCLUDE {
      this.cells++;
      return FILTER_INCLUDE;
    }
  }
  const filter = new Counting();
  await run.explain({ scan: { filter: customFilter(() => filter) } });
  expect(filter.cells).toBe(1);
  for (const target of [undefined, {}, { get: 'r', scan: {} }, { row: 'r' }, 'r']) {
    await expect(run.explain(target as ExplainTarget)).rejects.toThrow(
      'what to explain is { get: row, options } or { scan: options }',
    );
  }
  await expect(run.explain({ scan: { nope: 1 } as object })).rejects.toThrow('nope');
  await expect(run.explain({ get: 'r' }, 'absent')).rejects.toThrow("Table 'absent'");
  const pinned = await run.do(run.store.snapshot());
  await run.do(run.store.table('t').put('r2', { 'f:q': 'v' }));
  const past = await run.do(pinned.table('t').explain({ scan: {} }));
  expect(past.totals.rowsReturned).toBe(1);
  expect(past.readPoint).toBe(pinned.tso);
  await run.do(pinned.release());
  await run.do(run.store.close());
});
