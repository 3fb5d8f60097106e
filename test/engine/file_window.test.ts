/** Files that the manifest rules out for a read stay closed, and what is read is the same with and without them. */
import { describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection, OpenOptions } from '../../src/engine/index.ts';
import { seeded, simEnv } from '../../src/io/index.ts';
import type { ReadOptions, ScanOptions } from '../../src/model/index.ts';

const NOW = 1_700_000_000_000;

/** A store that was just opened, none of whose files any read has looked at. */
async function reopened(
  fill: (store: EmbeddedConnection) => Promise<void>,
): Promise<{ store: EmbeddedConnection; run: <T>(work: Promise<T>) => Promise<T> }> {
  const env = simEnv({ seed: 11, startMs: NOW });
  const options: OpenOptions = { env, blockingSync: false, autoCompact: false };
  const first = await env.drive(open('/data', options));
  await env.drive(fill(first));
  await env.drive(first.close());
  return { store: await env.drive(open('/data', options)), run: (work) => env.drive(work) };
}

const openFiles = (store: EmbeddedConnection): number =>
  store.server.catalog
    .get('t')
    .regions.flatMap(({ stores }) => stores.flatMap(({ files }) => files))
    .filter(({ isOpen }) => isOpen).length;

/** Five files: rows a, b, …, e with timestamps 100, 200, … 500; the fourth has a marker for row a at 250. */
async function fiveFiles(store: EmbeddedConnection): Promise<void> {
  await store.admin.createTable({ name: 't', families: [{ name: 'f', VERSIONS: 5 }] });
  const table = store.table('t');
  for (const [i, row] of ['a', 'b', 'c', 'd', 'e'].entries()) {
    await table.put(row, { 'f:q': row }, { ts: 100 * (i + 1) });
    await table.put('all', { 'f:q': row }, { ts: 100 * (i + 1) });
    if (row === 'd') await table.delete('all', { columns: ['f:q'], ts: 250 });
    await store.admin.flush('t');
  }
}

describe('files that stay closed', () => {
  const scans: readonly [string, ScanOptions, number][] = [
    ['everything', {}, 5],
    [
      'a time range, and the file whose marker reaches into it',
      { timeRange: { min: 150, max: 250 } },
      2,
    ],
    ['a time range above all markers', { timeRange: { min: 450, max: 1000 } }, 1],
    ['a time range without cells', { timeRange: { min: 600 } }, 0],
    ['a time range of the family', { familyTimeRanges: { f: { min: 450 } } }, 1],
    ['rows behind all others', { start: 'z' }, 0],
    ['rows of the last file only', { start: 'e' }, 1],
    ['rows before all others, reversed', { start: 'A', reversed: true }, 0],
  ];
  test.each(scans)('a scan of %s', async (_, options, expected) => {
    const { store, run } = await reopened(fiveFiles);
    await run(store.table('t').count(options));
    expect(openFiles(store)).toBe(expected);
  });

  const gets: readonly [string, string, ReadOptions, number][] = [
    ['everything', 'all', {}, 5],
    ['a time range', 'all', { timeRange: { min: 150, max: 250 } }, 2],
    ['a time', 'all', { ts: 500 }, 1],
    ['a row before the range of the files', '0', {}, 0],
    ['a row that one file can hold', 'e', {}, 1],
  ];
  test.each(gets)('a get of %s', async (_, row, options, expected) => {
    const { store, run } = await reopened(fiveFiles);
    await run(store.table('t').get(row, options));
    expect(openFiles(store)).toBe(expected);
  });

  test('files that the TTL of the family has expired', async () => {
    const { store, run } = await reopened(async (first) => {
      await first.admin.createTable({ name: 't', families: [{ name: 'f', TTL: 100 }] });
      for (const age of [500_000, 200_000, 50_000]) {
        await first.table('t').put(`row${age}`, { 'f:q': 'x' }, { ts: NOW - age });
        await first.admin.flush('t');
      }
    });
    expect(await run(store.table('t').count())).toBe(1);
    expect(openFiles(store)).toBe(1);
    expect(await run(store.table('t').get('row200000'))).toBeNull();
    expect(openFiles(store)).toBe(1);
    // A raw read is not bound by it.
    expect(await run(store.table('t').count({ raw: true }))).toBeGreaterThanOrEqual(1);
  });

  test('files written after the moment that a read is as of', async () => {
    const { store, run } = await reopened(async () => undefined);
    await run(store.admin.createTable({ name: 't', families: ['f'] }));
    await run(store.table('t').put('a', { 'f:q': '1' }));
    await run(store.admin.flush('t'));
    const asOf = await run(store.table('t').put('b', { 'f:q': '2' }));
    await run(store.admin.flush('t'));
    await run(store.table('t').put('c', { 'f:q': '3' }));
    await run(store.admin.flush('t'));
    expect(await run(store.table('t').count({ asOf }))).toBe(2);
    expect(openFiles(store)).toBe(2);
  });
});

test('where a newer file has the columns asked for, blocks of older files are not read', async () => {
  const columns = Array.from({ length: 3000 }, (_, i) => `f:q${String(i).padStart(5, '0')}`);
  const { store, run } = await reopened(async (first) => {
    await first.admin.createTable({ name: 't', families: [{ name: 'f', BLOCKSIZE: 8192 }] });
    for (const ts of [1000, 2000, 3000]) {
      const values = Object.fromEntries(columns.map((column) => [column, `${ts}`.padEnd(60)]));
      await first.table('t').put('wide', values, { ts });
      await first.admin.flush('t');
    }
  });
  const misses = (): number => store.status().counters['block_cache_misses']!;
  const wanted = [10, 700, 1400, 2100, 2900].map((i) => columns[i]!);
  // The first read opens the files and reads the blocks at the row's start.
  await run(store.table('t').get('wide', { columns: ['f:a'] }));
  const before = misses();
  const result = await run(store.table('t').get('wide', { columns: wanted }));
  expect(wanted.map((column) => result!.text(column)!.trim())).toEqual(wanted.map(() => '3000'));
  const read = misses() - before;
  // Each column lies in a block of its own in each of three files; only the newest file's are read, with what leads there.
  expect(read).toBeGreaterThanOrEqual(4);
  expect(read).toBeLessThanOrEqual(2 * wanted.length);
});

test('the same answers as from memory, over random cells, markers, flushes and time ranges', async () => {
  for (let seed = 1; seed <= 3; seed++) {
    const random = seeded(seed);
    const env = simEnv({ seed, startMs: NOW });
    const store = await env.drive(open('/data', { env, blockingSync: false, autoCompact: false }));
    // All versions are kept: else what a flush drops would be missing in the one and not in the other.
    const family = {
      name: 'f',
      VERSIONS: 100,
      NEW_VERSION_BEHAVIOR: random.chance(0.3),
      ...(random.chance(0.4) ? { TTL: 2000 } : {}),
    };
    for (const name of ['flushed', 'memory']) {
      await env.drive(store.admin.createTable({ name, families: [family] }));
    }
    for (let i = 0; i < 120; i++) {
      const row = `r${random.int(4)}`;
      const ts = NOW - random.int(4000) * 1000;
      const qualifier = `f:q${random.int(2)}`;
      const pick = random.int(8);
      for (const name of ['flushed', 'memory']) {
        const table = store.table(name);
        if (pick < 6) await env.drive(table.put(row, { [qualifier]: `v${i}` }, { ts }));
        else if (pick === 6) await env.drive(table.delete(row, { columns: [qualifier], ts }));
        else await env.drive(table.delete(row, { versions: [qualifier], ts }));
      }
      if (random.chance(0.15)) await env.drive(store.admin.flush('flushed'));
    }
    for (let i = 0; i < 60; i++) {
      const min = NOW - random.int(4000) * 1000;
      const options = {
        versions: 1 + random.int(3),
        ...(random.chance(0.8) ? { timeRange: { min, max: min + random.int(1_000_000) } } : {}),
        ...(random.chance(0.3) ? { columns: ['f:q1'] } : {}),
      };
      const answers: string[] = [];
      for (const name of ['flushed', 'memory']) {
        const table = store.table(name);
        const results = await env.drive(table.scan(options).nextBatch(100));
        results.push(
          ...(await env.drive(table.getMany(['r0', 'r1', 'r2', 'r3'], options))).filter(
            (one) => one !== null,
          ),
        );
        answers.push(
          results
            .flatMap((one) =>
              one.cells.map(
                (cell) => `${one.rowText}/${cell.ts}/${Buffer.from(cell.value).toString()}`,
              ),
            )
            .join(' '),
        );
      }
      expect(answers[0], `seed ${seed} ${JSON.stringify(options)}`).toBe(answers[1]);
    }
    await env.drive(store.close());
  }
});
