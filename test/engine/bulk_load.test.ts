/** Bulk load, seen from the API: files of HBase's tools and of our writer, whole or not at all. */
import { describe, expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { HFileWriter } from '../../src/hfile/index.ts';
import type { HFileWriterOptions } from '../../src/hfile/index.ts';
import { memoryEnv, simEnv } from '../../src/io/index.ts';
import type { Env, SimEnv } from '../../src/io/index.ts';
import { GOLDEN_FILES, goldenBytes, goldenCells, viewOf } from '../hfile/support.ts';
import type { PlainCell } from '../hfile/support.ts';
import { contentOf, crashesOf, filesOnDisk, resultsOf, start } from './store_support.ts';

const LATEST = 0x7fffffffffffffffn;
const PUT = 4;
const DELETE_COLUMN = 12;

function cell(row: string, qualifier: string, ts: bigint, value: string, type = PUT): PlainCell {
  return { row, family: 'f', qualifier, timestamp: ts, type, value, write: 0n, tags: '' };
}

async function writeHFile(
  env: Env,
  path: string,
  cells: readonly PlainCell[],
  options: Partial<HFileWriterOptions> = {},
): Promise<void> {
  await env.fs.ensureFolder(path.slice(0, path.lastIndexOf('/')));
  const writer = await HFileWriter.create(env.fs, path, { createdMs: 1, ...options });
  for (const one of cells) if (writer.append(viewOf(one))) await writer.drain();
  await writer.finish();
}

async function writeBytes(env: Env, path: string, bytes: Uint8Array): Promise<void> {
  await env.fs.ensureFolder(path.slice(0, path.lastIndexOf('/')));
  const handle = await env.fs.open(path, 'create');
  await handle.write(bytes, 0);
  await handle.close();
}

/** As a raw scan shows the cells, newest write first at equal keys. */
async function rawOf(connection: EmbeddedConnection, table: string): Promise<string[]> {
  const results = await resultsOf(connection.table(table).scan({ raw: true, versions: 100 }));
  return results.flatMap((result) =>
    result.cells.map((one) =>
      [
        result.rowText,
        Buffer.from(one.qualifier).toString('latin1'),
        one.ts,
        one.type,
        Buffer.from(one.value).toString('latin1'),
      ].join(' '),
    ),
  );
}

const TYPES = new Map([
  [4, 'Put'],
  [8, 'Delete'],
  [10, 'DeleteFamilyVersion'],
  [12, 'DeleteColumn'],
  [14, 'DeleteFamily'],
]);

const rawText = (one: PlainCell): string =>
  [one.row, one.qualifier, one.timestamp, TYPES.get(one.type), one.value].join(' ');

describe('files of HBase', () => {
  test.each(GOLDEN_FILES)('%s: every cell, after reopening and compaction too', async (name) => {
    const env = memoryEnv();
    await writeBytes(env, 'in/f/some-name', goldenBytes(name));
    await writeBytes(env, 'in/_SUCCESS', new Uint8Array(0));
    let connection = await open('/data', { env });
    await connection.admin.createTable({
      name: 't',
      families: [{ name: 'f', VERSIONS: 100, KEEP_DELETED_CELLS: 'TRUE' }],
      SPLITS: ['row-0004', 'row-0011', 'zzz'],
    });
    const before = await connection.tso();
    const result = await connection.admin.bulkLoad('t', 'in');
    expect(result).toMatchObject({ files: 1, cells: 68, filesAcrossRegions: 1 });
    const cells = goldenCells({ tags: name.includes('tags'), mvcc: false });
    // Those with a TTL tag (type 8, nine bytes) have long expired.
    const wanted = cells.filter(({ tags }) => !tags.includes('000908')).map(rawText);
    expect(await rawOf(connection, 't')).toEqual(wanted);
    expect(await contentOf(connection, 't', before)).toEqual([]);
    const files = await connection.files('t');
    expect(new Set(files.map(({ path }) => path)).size).toBe(1);
    expect(files.reduce((sum, file) => sum + file.cells, 0)).toBe(68);
    for (const { minTso, maxTso, flags } of files) {
      expect([minTso, maxTso, flags.includes('bulk')]).toEqual([result.tso, result.tso, true]);
    }
    const content = await contentOf(connection, 't');
    await connection.close();
    connection = await open('/data', { env });
    expect(await rawOf(connection, 't')).toEqual(wanted);
    await connection.admin.compact('t', { major: true });
    expect(await contentOf(connection, 't')).toEqual(content);
    expect(await contentOf(connection, 't', before)).toEqual([]);
    await connection.close();
  });
});

describe('files of our writer', () => {
  const encodings = ['NONE', 'PREFIX', 'DIFF', 'FAST_DIFF', 'ROW_INDEX_V1'] as const;

  test.each(encodings)('%s: LATEST becomes the time of the load', async (encoding) => {
    const env = memoryEnv();
    const cells = [];
    for (let i = 0; i < 200; i++) {
      const row = `row${String(i).padStart(3, '0')}`;
      cells.push(cell(row, 'a', LATEST, `latest${i}`), cell(row, 'a', 5n, `old${i}`));
      if (i % 3 === 0) cells.push(cell(row, 'b', LATEST, '', DELETE_COLUMN));
      cells.push(cell(row, 'b', 7n, `b${i}`));
    }
    await writeHFile(env, 'in/f/x', cells, { encoding, blockSizeBytes: 512, bloomType: 'ROW' });
    const connection = await open('/data', { env });
    const spec = { families: [{ name: 'f', VERSIONS: 10 }], SPLITS: ['row050', 'row120'] };
    await connection.admin.createTable({ name: 't', ...spec });
    const { tso } = await connection.admin.bulkLoad('t', 'in');
    const ms = tso! >> 18n;
    const wanted = [];
    for (let i = 0; i < 200; i++) {
      const row = `row${String(i).padStart(3, '0')}`;
      wanted.push(`${row} f:a@${ms}=latest${i}`, `${row} f:a@5=old${i}`);
      if (i % 3 !== 0) wanted.push(`${row} f:b@7=b${i}`);
    }
    expect(await contentOf(connection, 't')).toEqual(wanted);
    expect((await connection.table('t').get('row050'))?.text('f:a')).toBe('latest50');
    expect((await connection.table('t').get('row049'))?.text('f:a')).toBe('latest49');
    expect(await connection.table('t').get('row0495')).toBeNull();
    const reversed = await resultsOf(connection.table('t').scan({ reversed: true }));
    expect(reversed.map(({ rowText }) => rowText)).toEqual(
      Array.from({ length: 200 }, (_, i) => `row${String(199 - i).padStart(3, '0')}`),
    );
    await connection.admin.compact('t', { major: true });
    expect(await contentOf(connection, 't')).toEqual(wanted);
    await connection.close();
  });

  test('at equal keys the later of load and write wins', async () => {
    const env = memoryEnv();
    await writeHFile(env, 'in/f/x', [cell('r', 'a', 5n, 'loaded'), cell('r', 'b', 5n, 'loaded')]);
    const connection = await open('/data', { env });
    await connection.admin.createTable({ name: 't', families: ['f'] });
    const table = connection.table('t');
    await table.put('r', { 'f:a': 'before', 'f:b': 'before' }, { ts: 5n });
    const before = await contentOf(connection, 't');
    const { tso } = await connection.admin.bulkLoad('t', 'in');
    expect((await table.get('r'))?.text('f:a')).toBe('loaded');
    await table.put('r', { 'f:a': 'after' }, { ts: 5n });
    const wanted = ['r f:a@5=after', 'r f:b@5=loaded'];
    expect(await contentOf(connection, 't')).toEqual(wanted);
    await connection.admin.flush('t');
    expect(await contentOf(connection, 't')).toEqual(wanted);
    await connection.admin.compact('t', { major: true });
    expect(await contentOf(connection, 't')).toEqual(wanted);
    expect(await contentOf(connection, 't', tso! - 1n)).toEqual(before);
    expect(await contentOf(connection, 't', tso!)).toEqual(['r f:a@5=loaded', 'r f:b@5=loaded']);
    await connection.close();
  });

  test('a counter sees what was loaded', async () => {
    const env = memoryEnv();
    const eight = Buffer.from('0000000000000029', 'hex').toString('latin1');
    await writeHFile(env, 'in/f/x', [cell('r', 'n', LATEST, eight)]);
    const connection = await open('/data', { env });
    await connection.admin.createTable({ name: 't', families: ['f'] });
    await connection.table('t').increment('r', { 'f:n': 1 });
    await connection.admin.bulkLoad('t', 'in');
    const { result } = await connection.table('t').increment('r', { 'f:n': 1 });
    expect(result?.int64('f:n')).toBe(42n);
    await connection.close();
  });

  test('moved files leave their folder; a snapshot of the table keeps them', async () => {
    const env = simEnv({ seed: 3 });
    await env.drive(
      (async (): Promise<void> => {
        const rows = ['a', 'm', 'z'].map((row) => cell(row, 'q', 5n, row));
        await writeHFile(env, '/in/f/x', rows);
        await writeHFile(
          env,
          '/in/g/y',
          rows.map((one) => ({ ...one, family: 'g' })),
        );
        const connection = await start(env);
        await connection.admin.createTable({ name: 't', families: ['f', 'g'], SPLITS: ['m'] });
        const result = await connection.admin.bulkLoad('t', '/in', { move: true });
        expect(result).toMatchObject({ files: 2, cells: 6, filesAcrossRegions: 2 });
        expect(await env.fs.list('/in/f')).toEqual([]);
        expect(await env.fs.list('/in/g')).toEqual([]);
        const content = await contentOf(connection, 't');
        await connection.admin.snapshot('s', 't');
        await connection.admin.disableTable('t');
        await connection.admin.dropTable('t');
        await connection.admin.cloneSnapshot('s', 'c');
        expect(await contentOf(connection, 'c')).toEqual(content);
        expect(content).toHaveLength(6);
        const again = await connection.admin.bulkLoad('c', '/in');
        expect(again).toMatchObject({ tso: null, files: 0 });
        await connection.close();
      })(),
    );
  });
});

describe('what is refused', () => {
  const good = [cell('r', 'a', 5n, 'v')];
  const cases: { name: string; error: string; make: (env: Env) => Promise<void> }[] = [
    {
      name: 'an unknown family',
      error: 'NoSuchColumnFamilyException',
      make: (env) => writeHFile(env, 'in/g/x', good),
    },
    {
      name: 'cells of another family',
      error: 'DoNotRetryIOException',
      make: (env) => writeHFile(env, 'in/f/y', [{ ...good[0]!, family: 'h' }]),
    },
    {
      name: 'no HFile',
      error: 'CorruptionException',
      make: (env) => writeBytes(env, 'in/f/y', Buffer.alloc(5000, 7)),
    },
    {
      name: 'a damaged block',
      error: 'CorruptionException',
      make: (env) => {
        const bytes = Buffer.from(goldenBytes('none'));
        bytes[200]! ^= 1;
        return writeBytes(env, 'in/f/y', bytes);
      },
    },
    {
      name: 'LATEST before a time to come',
      error: 'DoNotRetryIOException',
      make: (env) =>
        writeHFile(env, 'in/f/y', [cell('r', 'a', LATEST, 'v'), cell('r', 'a', LATEST - 1n, 'v')]),
    },
    {
      name: 'a file beside the families',
      error: 'IllegalArgumentException',
      make: (env) => writeBytes(env, 'in/y', Buffer.alloc(1)),
    },
  ];
  test.each(cases)('$name, and nothing of it stays', async ({ error, make }) => {
    const env = simEnv({ seed: 4 });
    await env.drive(
      (async (): Promise<void> => {
        const connection = await start(env);
        await connection.admin.createTable({ name: 't', families: ['f'] });
        await writeHFile(env, 'in/f/x', good);
        await make(env);
        await expect(connection.admin.bulkLoad('t', 'in')).rejects.toMatchObject({ name: error });
        await expect(connection.admin.bulkLoad('t', 'gone')).rejects.toMatchObject({
          name: 'FileNotFoundException',
        });
        expect(await contentOf(connection, 't')).toEqual([]);
        if ((await env.fs.stat('/data/data')) !== null) expect(await filesOnDisk(env)).toEqual([]);
        await connection.close();
      })(),
    );
  });
});

test.each([false, true])(
  'after a crash at any step all is there or nothing, move %s',
  async (move) => {
    const env = simEnv({ seed: 12 });
    const found = await env.drive(crashLoads(env, move));
    expect(found.size).toBe(2);
  },
);

/** The contents that crashes during a load leave. */
async function crashLoads(env: SimEnv, move: boolean): Promise<Set<string>> {
  const connection = await start(env);
  await connection.admin.createTable({ name: 't', families: ['f', 'g'], SPLITS: ['m'] });
  await connection.table('t').put('b', { 'f:q': 'own' });
  const rows = ['a', 'k', 'm', 'z'].map((row) => cell(row, 'q', 5n, row));
  await writeHFile(env, '/in/f/x', rows);
  await writeHFile(
    env,
    '/in/g/y',
    rows.map((one) => ({ ...one, family: 'g' })),
  );
  await env.fs.syncFolder('/');
  await env.fs.syncFolder('/in');
  for (const family of ['f', 'g']) await env.fs.syncFolder(`/in/${family}`);
  const machines = await crashesOf(env, async () => {
    await connection.admin.bulkLoad('t', '/in', { move });
  });
  const whole = await contentOf(connection, 't');
  expect(whole).toHaveLength(9);
  const found = new Set<string>();
  for (const machine of machines) {
    await machine.drive(
      (async (): Promise<void> => {
        const after = await start(machine);
        const content = await contentOf(after, 't');
        found.add(content.join());
        if (content.length > 1) expect(content).toEqual(whole);
        else await after.admin.bulkLoad('t', '/in');
        expect(await contentOf(after, 't')).toHaveLength(9);
        await after.close();
      })(),
    );
  }
  await connection.close();
  return found;
}
