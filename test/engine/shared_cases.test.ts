/**
 * Public reports of small, checkable faults in stores of this kind, by their number in docs/cases.md: those that no other test is
 * about. What is read is read in memory, after a flush, and after reopening.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { BaseFilter, FILTER_INCLUDE } from '../../src/filter/index.ts';
import type { CellView } from '../../src/cell/index.ts';
import { simEnv } from '../../src/io/index.ts';
import type { SimEnv } from '../../src/io/index.ts';
import type { FamilySpec, ReadOptions, Result, ScanOptions, Table } from '../../src/model/index.ts';
import { cellsOf } from './store_support.ts';

const NOW = 1_700_000_000_000;

let env: SimEnv;
let store: EmbeddedConnection;
let table: Table;

const run = <T>(work: Promise<T>): Promise<T> => env.drive(work);

async function start(): Promise<void> {
  store = await run(open('/data', { env, blockingSync: false, autoCompact: false }));
  table = store.table('t');
}

beforeEach(async () => {
  env = simEnv({ seed: 9, startMs: NOW });
  await start();
});
afterEach(async () => run(store.close()));

const make = (family: Partial<FamilySpec> = {}, others: readonly string[] = []): Promise<void> =>
  run(store.admin.createTable({ name: 't', families: [{ name: 'f', ...family }, ...others] }));

const put = (row: string, ts: number, value: string, column: string = 'f:q'): Promise<bigint> =>
  run(table.put(row, { [column]: value }, { ts }));

async function scanned(options: ScanOptions = {}): Promise<string[]> {
  const scanner = table.scan(options);
  return cellsOf(await run(scanner.nextBatch()));
}

const got = async (row: string, options: ReadOptions = {}): Promise<string[]> =>
  cellsOf([await run(table.get(row, options))].filter((result) => result !== null));

async function flush(): Promise<void> {
  await run(store.admin.flush('t'));
}

async function major(): Promise<void> {
  await flush();
  await run(store.admin.compact('t', { major: true }));
}

async function reopen(): Promise<void> {
  await run(store.close());
  await start();
}

/** The same in memory, in a file, after reopening and, unless a compaction may change it, after one. */
async function everywhere(check: () => Promise<void>, compacted: boolean = true): Promise<void> {
  await check();
  await flush();
  await check();
  await reopen();
  await check();
  if (!compacted) return;
  await major();
  await check();
}

async function refusal(work: () => Promise<unknown>): Promise<string> {
  try {
    await run(work());
    return 'no refusal';
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
}

describe('deletes, versions, TTL', () => {
  test('5: VERSIONS counts within the time range until the cells are gone', async () => {
    await make({ VERSIONS: 1 });
    await put('r', 10, 'a');
    await put('r', 20, 'b');
    const range = { timeRange: { min: 0, max: 20 } };
    expect(await scanned(range)).toEqual(['r f:q@10=a']);
    await major();
    expect(await scanned(range)).toEqual([]);
    expect(await scanned()).toEqual(['r f:q@20=b']);
  });

  test('7: with KEEP_DELETED_CELLS=TTL a marker goes once it is older than the TTL', async () => {
    await make({ VERSIONS: 3, KEEP_DELETED_CELLS: 'TTL', TTL: 10 });
    await run(table.put('r', { 'f:q': 'v' }));
    await run(env.timers.sleep(10));
    await run(table.delete('r'));
    await major();
    const raw = (): Promise<string[]> => scanned({ raw: true, versions: 10 });
    expect((await raw()).map((cell) => cell.replace(/@\d+/, ''))).toEqual([
      'r f:=DeleteFamily',
      'r f:q=v',
    ]);
    await run(env.timers.sleep(10_000));
    await major();
    expect(await raw()).toEqual([]);
  });

  test.each([
    { minVersions: 1, expected: ['r f:q@2=c'] },
    { minVersions: 0, expected: [] },
  ])('8: MIN_VERSIONS=$minVersions of a column that has expired', async (given) => {
    await make({ VERSIONS: 5, TTL: 10, MIN_VERSIONS: given.minVersions });
    for (const [i, value] of ['a', 'b', 'c'].entries()) {
      await put('r', NOW + i * 1000, value);
    }
    await run(env.timers.sleep(NOW + 60_000 - env.clock.nowMs()));
    const expected = given.expected.map((cell) => cell.replace('@2', `@${NOW + 2000}`));
    await everywhere(async () => {
      expect(await got('r', { versions: 5 })).toEqual(expected);
    });
  });

  test('8: a cell that is exactly as old as the TTL is alive', async () => {
    await make({ TTL: 10 });
    await put('r', NOW + 5000, 'v');
    const seenAt = async (ms: number): Promise<number> => {
      await run(env.timers.sleep(ms - env.clock.nowMs()));
      // The oracle's millisecond, which judges, is the clock's.
      expect(env.clock.nowMs()).toBe(ms);
      return (await got('r')).length;
    };
    expect(await seenAt(NOW + 15_000)).toBe(1);
    expect(await seenAt(NOW + 15_001)).toBe(0);
  });

  test('9: increments with a TTL of their own keep one TTL, and their size', async () => {
    const rounds = 10_000;
    const memory = await open();
    await memory.admin.createTable({ name: 't', families: [{ name: 'f', TTL: 86_400 }] });
    const counters = memory.table('t');
    const options = { ttl: 1_000_000 };
    let last: Result | null = null;
    for (let i = 0; i < rounds; i++) {
      last = (await counters.increment('r', { 'f:q': 1n }, options)).result;
    }
    expect(last!.int64('f:q')).toBe(BigInt(rounds));
    const { totals } = await counters.explain({ get: 'r' });
    expect(totals.cells.returned).toBe(1);
    await memory.admin.flush('t');
    const [file] = await memory.files('t');
    expect(file).toMatchObject({ cells: 1 });
    // Row, column, value and one TTL; the rest is the file's own.
    const once = await open();
    await once.admin.createTable({ name: 't', families: [{ name: 'f', TTL: 86_400 }] });
    await once.table('t').increment('r', { 'f:q': 1n }, options);
    await once.admin.flush('t');
    expect(file!.sizeBytes).toBe((await once.files('t'))[0]!.sizeBytes);
    await once.close();
    await memory.close();
  });

  test('9: a TTL of a cell does not outlive that of the family, nor the other way round', async () => {
    await make({ TTL: 86_400 });
    const ts = NOW - 86_399_000;
    await run(table.put('family', { 'f:q': 'v' }, { ts, ttl: 10 * 86_400_000 }));
    await run(table.put('cell', { 'f:q': 'v' }, { ttl: 1000 }));
    expect(await run(table.count())).toBe(2);
    await run(env.timers.sleep(2000));
    await everywhere(async () => {
      expect(await scanned()).toEqual([]);
    });
  });

  test('11: truncation leaves no marker behind', async () => {
    await make();
    for (let i = 0; i < 100; i++) await put(`r${i}`, 1000, 'old');
    await flush();
    await run(store.admin.disableTable('t'));
    await run(store.admin.truncateTable('t'));
    for (let i = 0; i < 200; i++) await put(`r${i}`, 500, 'new');
    await everywhere(async () => {
      expect(await run(table.count())).toBe(200);
    });
    expect(await got('r7')).toEqual(['r7 f:q@500=new']);
  });

  test('12: deleted rows do not use up the limit', async () => {
    await make();
    for (const row of ['r1', 'r2', 'r3']) await put(row, 1, 'v');
    await run(table.delete('r1', { ts: 5 }));
    await everywhere(async () => {
      expect(await scanned({ limit: 2 })).toEqual(['r2 f:q@1=v', 'r3 f:q@1=v']);
    });
  });

  test('13: the newest three of four versions', async () => {
    await make({ VERSIONS: 3 });
    for (const ts of [1, 2, 3, 4]) await put('r', ts, `v${ts}`);
    await everywhere(async () => {
      expect(await got('r', { versions: Infinity })).toEqual([
        'r f:q@4=v4',
        'r f:q@3=v3',
        'r f:q@2=v2',
      ]);
    });
  });
});

describe('conditions, counters, row mutations', () => {
  test('17: a counter of one byte is refused for good, and stays', async () => {
    await make();
    await put('r', 1, '1');
    const before = store.status().counters['commits'];
    expect(await refusal(() => table.increment('r', { 'f:q': 1n }))).toBe(
      "DoNotRetryIOException: Field is not a long, it's 1 bytes wide",
    );
    expect(store.status().counters['commits']).toBe(before);
    const { result } = await run(table.increment('r', { 'f:missing': 5n }));
    expect(result!.int64('f:missing')).toBe(5n);
    await everywhere(async () => {
      expect(await got('r', { columns: ['f:q'] })).toEqual(['r f:q@1=1']);
    });
  });

  test('19: an increment is newer than the cell it adds to', async () => {
    await make({ VERSIONS: 2 });
    const ahead = NOW + 9_000_000;
    await run(table.put('r', { 'f:q': 7n }, { ts: ahead }));
    const { result } = await run(table.increment('r', { 'f:q': 1n }));
    expect(result!.cells.map(({ ts }) => ts)).toEqual([BigInt(ahead + 1)]);
    expect(result!.int64('f:q')).toBe(8n);
    await everywhere(async () => {
      expect((await run(table.get('r')))!.int64('f:q')).toBe(8n);
    });
  });

  test('21: a condition on one row does not change another', async () => {
    await make();
    await put('r', 1, 'v');
    const text = await refusal(() =>
      table.checkAndMutate('r', { column: 'f:q', value: 'v' }, [
        { put: 'r', values: { 'f:a': 'x' } },
        { put: 's', values: { 'f:a': 'x' } },
      ]),
    );
    expect(text).toMatch(/^(DoNotRetryIOException|IllegalArgumentException|WrongRowIOException): /);
    await everywhere(async () => {
      expect(await scanned()).toEqual(['r f:q@1=v']);
    });
  });

  test('24: a row mutation of put, increment and append answers both, or does nothing', async () => {
    await make();
    const { result } = await run(
      table.mutateRow('r', [
        { put: 'r', values: { 'f:a': 'x' } },
        { increment: 'r', amounts: { 'f:b': 2n } },
        { append: 'r', values: { 'f:c': 'y' } },
      ]),
    );
    expect(result!.int64('f:b')).toBe(2n);
    expect(result!.text('f:c')).toBe('y');
    const text = await refusal(() =>
      table.mutateRow('r', [
        { put: 'r', values: { 'f:a': 'z' } },
        { append: 'r', values: { 'f:c': 'z' } },
        { increment: 'r', amounts: { 'f:a': 1n } },
      ]),
    );
    expect(text).toContain("Field is not a long, it's 1 bytes wide");
    await everywhere(async () => {
      const row = (await run(table.get('r')))!;
      expect([row.text('f:a'), row.int64('f:b'), row.text('f:c')]).toEqual(['x', 2n, 'y']);
    });
  });

  test('28: an option in the wrong place is refused when the table is made', async () => {
    const spec = { name: 't', families: ['f'], VERSIONS: 3 };
    expect(await refusal(() => store.admin.createTable(spec))).toMatch(/VERSIONS/);
    const family = { name: 'f', SPLIT_POLICY: 'x', MAX_FILESIZE: 3 };
    const wrong = { name: 't', families: [family as FamilySpec] };
    expect(await refusal(() => store.admin.createTable(wrong))).toMatch(
      /MAX_FILESIZE|SPLIT_POLICY/,
    );
    expect(await run(store.admin.tableExists('t'))).toBe(false);
  });
});

describe('scans', () => {
  test('41: bounds, reversed and forward, included and excluded', async () => {
    await make();
    for (const row of ['a', 'b', 'c', 'd']) await put(row, 1, 'v');
    const rows = async (options: ScanOptions): Promise<string> =>
      (await scanned(options)).map((cell) => cell[0]).join('');
    await everywhere(async () => {
      const down = { start: 'd', stop: 'b', reversed: true };
      expect(await rows(down)).toBe('dc');
      expect(await rows({ ...down, stopInclusive: true })).toBe('dcb');
      expect(await rows({ ...down, startInclusive: false })).toBe('c');
      expect(await rows({ start: 'a', stop: 'c', startInclusive: false })).toBe('b');
      expect(await rows({ start: 'a', stop: 'c', stopInclusive: true })).toBe('abc');
    });
  });

  test('43: a time range of one family', async () => {
    await make({ VERSIONS: 3 }, ['g']);
    for (const ts of [10, 20]) {
      await put('r', ts, 'v');
      await put('r', ts, 'v', 'g:q');
    }
    await everywhere(async () => {
      expect(await scanned({ familyTimeRanges: { f: { min: 0, max: 15 } } })).toEqual([
        'r f:q@10=v',
        'r g:q@20=v',
      ]);
    });
  });

  test('45: a filter is shown keys that are there, no borders of regions', async () => {
    await run(store.admin.createTable({ name: 't', families: ['f'], SPLITS: ['m'] }));
    for (const row of ['a1', 'mm1', 'mm2']) await put(row, 1, 'v');
    const seen: string[] = [];
    class Witness extends BaseFilter {
      override filterRowKey({ block, rowAt, rowLength }: CellView): boolean {
        seen.push(Buffer.from(block.subarray(rowAt, rowAt + rowLength)).toString());
        return false;
      }
      override filterCell(cell: CellView): typeof FILTER_INCLUDE {
        this.filterRowKey(cell);
        return FILTER_INCLUDE;
      }
    }
    await everywhere(async () => {
      seen.length = 0;
      await scanned({ filter: () => new Witness() });
      await scanned({ filter: () => new Witness(), reversed: true });
      expect([...new Set(seen)].sort()).toEqual(['a1', 'mm1', 'mm2']);
    });
  });

  test('54: a timestamp near the greatest keeps its nineteen digits', async () => {
    await make();
    const ts = 9_223_370_282_904_775_684n;
    await run(table.put('r', { 'f:q': 'v' }, { ts }));
    await everywhere(async () => {
      expect((await run(table.get('r')))!.cells[0]!.ts).toBe(ts);
      expect(await got('r', { ts })).toEqual([`r f:q@${ts}=v`]);
    });
  });
});
