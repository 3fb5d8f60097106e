/** Split and merge, seen from the API: the same rows before, meanwhile and after, also as of moments before and after a crash. */
import { describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection, OpenOptions } from '../../src/engine/index.ts';
import { simEnv } from '../../src/io/index.ts';
import type { SimEnv } from '../../src/io/index.ts';
import { DoNotRetryIOException, UnknownRegionException } from '../../src/model/index.ts';
import type { RegionDescription, Result, Scanner, TableSpec } from '../../src/model/index.ts';

const TABLE: TableSpec = { name: 't', families: [{ name: 'f', VERSIONS: 2 }, 'g'] };

const start = (env: SimEnv, options: OpenOptions = {}): Promise<EmbeddedConnection> =>
  open('/data', { env, blockingSync: false, logSegmentBytes: 1 << 17, ...options });

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

const cellsOf = (results: readonly Result[]): string[] =>
  results.flatMap((result) =>
    result.cells.map(
      (cell) =>
        `${result.rowText} ${cell.family}:${text(cell.qualifier)}@${cell.ts}=${text(cell.value)}`,
    ),
  );

async function everything(
  connection: EmbeddedConnection,
  options: { asOf?: bigint; reversed?: boolean } = {},
): Promise<string[]> {
  const results = await all(connection.table('t').scan({ versions: 10, ...options }));
  return cellsOf(options.reversed === true ? results.toReversed() : results);
}

async function all(scanner: Scanner): Promise<Result[]> {
  const results: Result[] = [];
  for await (const result of scanner) results.push(result);
  return results;
}

async function bordersOf(connection: EmbeddedConnection): Promise<string[]> {
  const regions = await connection.regions('t');
  regions.forEach((region, i) =>
    expect(text(region.endKey)).toBe(text(regions[i + 1]?.startKey ?? new Uint8Array(0))),
  );
  return regions.map(({ startKey }) => text(startKey));
}

async function mergeAt(connection: EmbeddedConnection, index: number): Promise<void> {
  const regions = await connection.regions('t');
  await connection.admin.mergeRegions(
    't',
    regions[index]!.encodedName,
    regions[index + 1]!.encodedName,
  );
}

const referencesOf = (regions: readonly RegionDescription[]): number =>
  regions.reduce((sum, { references }) => sum + references, 0);

/** Rows row00 … row49, some overwritten, some deleted, partly in files with history, partly in memory. */
async function fill(connection: EmbeddedConnection, round: string): Promise<bigint> {
  const table = connection.table('t');
  for (let i = 0; i < 50; i++) {
    const row = `row${String(i).padStart(2, '0')}`;
    await table.put(row, { 'f:a': `${round}.${i}`, 'g:b': 'x'.repeat(i) });
  }
  await table.delete('row10', { columns: ['f:a'] });
  return table.delete('row40', { families: ['g'] });
}

const run = (env: SimEnv, work: () => Promise<void>): Promise<void> => env.drive(work());

describe('split and merge by hand', () => {
  test('rows, history and moments before stay, through compactions and reopening', async () => {
    const env = simEnv({ seed: 11 });
    await run(env, async () => {
      let connection = await start(env);
      await connection.admin.createTable(TABLE);
      const moments: { tso: bigint; seen: string[] }[] = [];
      const note = async (tso: bigint): Promise<void> => {
        moments.push({ tso, seen: await everything(connection, { asOf: tso }) });
      };
      const check = async (): Promise<void> => {
        for (const { tso, seen } of moments) {
          expect(await everything(connection, { asOf: tso })).toEqual(seen);
        }
        const forward = await everything(connection);
        expect(await everything(connection, { reversed: true })).toEqual(forward);
      };
      await note(await fill(connection, 'one'));
      await connection.admin.flush('t');
      await note(await fill(connection, 'two'));
      await connection.admin.flush('t');
      await note(await fill(connection, 'three'));
      await connection.admin.compact('t', { major: true });
      await note(await fill(connection, 'four'));
      await connection.admin.split('t', 'row20');
      expect(await bordersOf(connection)).toEqual(['', 'row20']);
      await check();
      await note(await fill(connection, 'five'));
      await connection.admin.split('t', 'row45');
      await connection.admin.split('t', 'row05');
      expect(await bordersOf(connection)).toEqual(['', 'row05', 'row20', 'row45']);
      await check();
      await connection.close();
      connection = await start(env);
      expect(await bordersOf(connection)).toEqual(['', 'row05', 'row20', 'row45']);
      await check();
      await mergeAt(connection, 1);
      await note(await fill(connection, 'six'));
      await mergeAt(connection, 0);
      expect(await bordersOf(connection)).toEqual(['', 'row45']);
      await check();
      await connection.admin.compact('t', { major: true });
      expect(referencesOf(await connection.regions('t'))).toBe(0);
      await check();
      await connection.close();
      connection = await start(env);
      await check();
      await connection.close();
    });
  });

  test('without a row it is the middle of the largest file; a file goes with its last reader', async () => {
    const env = simEnv({ seed: 12 });
    await run(env, async () => {
      const connection = await start(env, { autoCompact: false, historyRetentionMs: 0 });
      await connection.admin.createTable(TABLE);
      await fill(connection, 'one');
      await connection.admin.flush('t');
      const [file] = await connection.files('t');
      const path = `/data/${file!.path}`;
      await connection.admin.split('t');
      const [, middle] = await bordersOf(connection);
      expect(middle! > 'row10' && middle! < 'row45', middle).toBe(true);
      const regions = await connection.regions('t');
      expect(regions.map(({ references }) => references > 0)).toEqual([true, true]);
      const seen = await everything(connection);
      await connection.admin.compact('t');
      expect(referencesOf(await connection.regions('t'))).toBe(0);
      expect(await everything(connection)).toEqual(seen);
      expect(await env.fs.stat(path)).toBeNull();
      await connection.close();
    });
  });

  test('what cannot be is refused, and changes nothing', async () => {
    const env = simEnv({ seed: 13 });
    await run(env, async () => {
      const connection = await start(env);
      const { admin } = connection;
      await admin.createTable({ ...TABLE, SPLITS: ['m', 't'] });
      const [a, , c] = await connection.regions('t');
      await expect(admin.split('t', 'm')).rejects.toThrow(/equal to startkey/);
      await expect(admin.split('t')).rejects.toThrow(/bestSplitPoint = null/);
      await expect(admin.split(a!.encodedName, 'x')).rejects.toThrow(/not inside region key range/);
      await expect(admin.mergeRegions('t', a!.encodedName, c!.encodedName)).rejects.toThrow(
        DoNotRetryIOException,
      );
      await expect(admin.mergeRegions('t', a!.encodedName, 'none')).rejects.toThrow(
        UnknownRegionException,
      );
      expect(await admin.setSwitch('split', false)).toBe(true);
      await expect(admin.split('t', 'p')).rejects.toThrow(/switch is off/);
      expect(await admin.setSwitch('split', true)).toBe(false);
      await admin.alterTable({ name: 't', MERGE_ENABLED: 'false' });
      await expect(mergeAt(connection, 0)).rejects.toThrow(/MERGE_ENABLED/);
      await admin.disableTable('t');
      await expect(admin.split('t', 'p')).rejects.toThrow(/disabled/);
      expect(await bordersOf(connection)).toEqual(['', 'm', 't']);
      await connection.close();
    });
  });

  test('scans that are under way see each row once, in both directions', async () => {
    const env = simEnv({ seed: 14 });
    await run(env, async () => {
      const connection = await start(env);
      await connection.admin.createTable({ ...TABLE, SPLITS: ['row30'] });
      await fill(connection, 'one');
      await connection.admin.flush('t');
      await fill(connection, 'two');
      const seen = await everything(connection);
      const changes: (() => Promise<void>)[] = [
        () => connection.admin.split('t', 'row12'),
        () => connection.admin.split('t', 'row40'),
        () => fill(connection, 'three').then(() => undefined),
        () => mergeAt(connection, 0),
        () => connection.admin.compact('t', { major: true }),
        () => mergeAt(connection, 1),
        () => connection.admin.split('t', 'row20'),
        () => mergeAt(connection, 0),
      ];
      const forward = connection.table('t').scan({ versions: 10 });
      const backward = connection.table('t').scan({ versions: 10, reversed: true });
      const results: [Result[], Result[]] = [[], []];
      for (let i = 0; i < 20; i++) {
        results[0].push(...(await forward.nextBatch(4)));
        results[1].push(...(await backward.nextBatch(4)));
        await changes[i]?.();
      }
      expect(cellsOf(results[0])).toEqual(seen);
      expect(cellsOf(results[1].toReversed())).toEqual(seen);
      await connection.close();
    });
  });
});
