/** Exports and imports: each format there and back, windows and markers, resuming, damage; the cases of HBase's users. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  exportTables,
  importTables,
  readExportManifest,
  verifyExport,
} from '../../src/backup/index.ts';
import type { ExportFormat } from '../../src/backup/index.ts';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { memoryEnv } from '../../src/io/index.ts';
import type { Env } from '../../src/io/index.ts';
import type { Connection } from '../../src/model/index.ts';

let env: Env;
let store: EmbeddedConnection;

beforeEach(async () => {
  env = memoryEnv();
  store = await open('source', { env });
});

afterEach(() => store.close());

/** Every cell of a table, raw, without write numbers. */
async function rawCells(connection: Connection, table: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const result of connection.table(table).scan({ raw: true, versions: 1000 })) {
    for (const { row, family, qualifier, ts, type, value, tags } of result.cells) {
      const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
      lines.push(
        `${hex(row)} ${family}:${hex(qualifier)}@${ts} ${type} ${hex(value)} ${hex(tags)}`,
      );
    }
  }
  return lines;
}

async function fill(): Promise<void> {
  await store.admin.createTable({
    name: 'ns1:t',
    families: [{ name: 'f', VERSIONS: 10 }, 'g'],
    SPLITS: ['m'],
  });
}

async function withRows(): Promise<void> {
  await store.admin.createNamespace('ns1');
  await fill();
  const table = store.table('ns1:t');
  for (let i = 0; i < 60; i++) {
    const row = Uint8Array.of(97 + (i % 26), 0, 255, 0x5c, 0x22, 0x2c, i);
    await table.put(row, [
      { family: 'f', qualifier: Uint8Array.of(0, 10, 13, i), value: `v"${i},\n\\x41`, ts: 100 + i },
      { family: 'f', qualifier: 'q', value: '', ts: 5, ttl: 10 ** 13 },
      { family: 'g', qualifier: '', value: Uint8Array.of(i, 0, 200), ts: 7 },
    ]);
    await table.put(row, { 'f:q': 'newer' }, { ts: 9_007_199_254_740_993n });
  }
  await table.put('r', { 'f:q': 'a', 'f:p': 'x' }, { ts: 5 });
  await table.put('r', { 'f:q': 'b' }, { ts: 15 });
  await table.delete('r', { families: ['f'], ts: 10 });
  await table.delete('r', { families: ['f'], ts: 20 });
  await table.delete('r', { familyVersions: ['g'], ts: 3 });
  await table.delete('r', { columns: ['f:q'], ts: 12 });
  await table.delete('r', { versions: ['f:q'], ts: 13 });
}

const FORMATS: readonly [ExportFormat, string | undefined][] = [
  ['sequencefile', undefined],
  ['sequencefile', 'gz'],
  ['sequencefile', 'deflate'],
  ['sequencefile', 'snappy'],
  ['sequencefile', 'lz4'],
  ['sequencefile', 'zstd'],
  ['jsonl', undefined],
  ['jsonl', 'gz'],
  ['csv', undefined],
  ['hfile', undefined],
  ['hfile', 'gz'],
];

describe('there and back', () => {
  test.each(FORMATS)('%s %s: every cell, version, marker and TTL', async (format, compress) => {
    await withRows();
    const wanted = await rawCells(store, 'ns1:t');
    const options = { format, raw: true, ...(compress === undefined ? {} : { compress }) };
    const manifest = await exportTables(store, env, null, 'out', options);
    expect(manifest.tables[0]).toMatchObject({
      name: 'ns1:t',
      rows: 61,
      cells: wanted.length,
      deletes: 5,
    });
    const report = await verifyExport(env, 'out');
    expect(report.faults).toEqual([]);
    expect(report.cells).toBe(wanted.length);
    const other = await open('other', { env });
    await other.admin.createNamespace('ns1');
    const done = await importTables(other, env, 'out', { create: true });
    expect(done[0]).toMatchObject({ table: 'ns1:t', deletes: 5, tagsLost: 0 });
    expect(await rawCells(other, 'ns1:t')).toEqual(wanted);
    const described = await other.admin.describeTable('ns1:t');
    expect(
      described.families.map(({ name, attributes }) => [name, attributes['VERSIONS']]),
    ).toEqual([
      ['f', '10'],
      ['g', undefined],
    ]);
    await other.close();
  });

  test('as of one moment over several tables, while writers go on', async () => {
    await store.admin.createTable({ name: 'a', families: ['f'] });
    await store.admin.createTable({ name: 'b', families: ['f'] });
    await store.table('a').put('r', { 'f:q': '1' });
    const tso = await store.table('b').put('r', { 'f:q': '1' });
    await store.table('a').put('r', { 'f:q': '2' });
    const manifest = await exportTables(store, env, ['a', 'b'], 'out', {
      format: 'jsonl',
      asOf: tso,
    });
    expect(manifest.tso).toBe(String(tso));
    const other = await open('other', { env });
    await importTables(other, env, 'out', { create: true, rename: { a: 'c' } });
    expect((await other.table('c').get('r'))?.text('f:q')).toBe('1');
    expect((await other.table('b').get('r'))?.text('f:q')).toBe('1');
    await other.close();
  });

  test.each(FORMATS)('%s %s: a table without rows', async (format, compress) => {
    await store.admin.createTable({ name: 't', families: ['f'] });
    const options = { format, ...(compress === undefined ? {} : { compress }) };
    await exportTables(store, env, ['t'], 'out', options);
    expect((await verifyExport(env, 'out')).faults).toEqual([]);
    const other = await open('other', { env });
    const done = await importTables(other, env, 'out', {
      create: true,
      rename: { 'default:t': 'u' },
    });
    expect(done).toMatchObject([{ table: 'u', puts: 0 }]);
    expect(await other.admin.listTables()).toEqual(['u']);
    await other.close();
  });

  test('columns, prefix, filter, versions', async () => {
    await withRows();
    const count = async (options: object): Promise<number> => {
      await env.fs.remove('out');
      const manifest = await exportTables(store, env, ['ns1:t'], 'out', {
        format: 'csv',
        ...options,
      });
      expect((await verifyExport(env, 'out')).faults).toEqual([]);
      return manifest.tables[0]!.cells;
    };
    expect(await count({})).toBe(60 * 3);
    expect(await count({ versions: 5 })).toBe(60 * 4);
    expect(await count({ columns: ['g'] })).toBe(60);
    expect(await count({ prefix: 'a' })).toBe(9);
    expect(await count({ prefix: 'z' })).toBe(6);
    expect(await count({ start: 'l', stop: 'n' })).toBe(2 * 2 * 3);
    expect(await count({ filter: "ValueFilter(=, 'binary:newer')" })).toBe(60);
  });

  test('import filters rows and renames families', async () => {
    await withRows();
    await exportTables(store, env, ['ns1:t'], 'out');
    const other = await open('other', { env });
    await other.admin.createTable({ name: 't', families: ['h', 'g'] });
    const done = await importTables(other, env, 'out', {
      rename: { 'ns1:t': 't' },
      renameFamilies: { f: 'h' },
      filter: "PrefixFilter('a')",
    });
    expect(done[0]).toMatchObject({ table: 't', puts: 9, filtered: 60 * 3 - 9 });
    expect(await other.table('t').count()).toBe(3);
    await other.close();
  });
});

describe('what HBase users met', () => {
  test('84: by default one version, no marker, and the summary says so', async () => {
    await store.admin.createTable({ name: 't', families: [{ name: 'f', VERSIONS: 3 }] });
    const table = store.table('t');
    for (const ts of [1, 2, 3]) await table.put('r', { 'f:q': `v${ts}` }, { ts });
    await table.delete('r', { versions: ['f:q'], ts: 2 });
    const manifest = await exportTables(store, env, ['t'], 'out', { format: 'jsonl' });
    expect(manifest.tables[0]).toMatchObject({ cells: 1, deletes: 0 });
    expect(manifest.notes).toContain('delete markers are not exported (raw exports have them)');
  });

  test('85: a start below 0 counts as 0, with a note; an end after the start of the export is cut', async () => {
    await store.admin.createTable({ name: 't', families: ['f'] });
    await store.table('t').put('r', { 'f:q': 'v' }, { ts: 0 });
    await store.table('t').put('r', { 'f:p': 'future' }, { ts: 10n ** 15n });
    const options = { format: 'jsonl', startTime: -2147483648n, endTime: 10n ** 16n } as const;
    const manifest = await exportTables(store, env, ['t'], 'out', options);
    expect(manifest.tables[0]!.cells).toBe(1);
    expect(manifest.options).toMatchObject({ startTime: '0' });
    expect(manifest.notes[0]).toBe('start time -2147483648 is below 0 and counts as 0');
    expect(manifest.notes[1]).toMatch(/^end time 10000000000000000 is after the export's moment/);
  });

  test('86: both family markers of a row survive', async () => {
    await store.admin.createTable({ name: 't', families: ['f'] });
    const table = store.table('t');
    await table.put('r', { 'f:q': 'a' }, { ts: 5 });
    await table.put('r', { 'f:q': 'b' }, { ts: 15 });
    await table.delete('r', { families: ['f'], ts: 10 });
    await table.delete('r', { families: ['f'], ts: 20 });
    const wanted = await rawCells(store, 't');
    await exportTables(store, env, ['t'], 'out', { raw: true });
    const other = await open('other', { env });
    await importTables(other, env, 'out', { create: true });
    expect(await rawCells(other, 't')).toEqual(wanted);
    await other.close();
  });

  test.each(['sequencefile', 'hfile'] as const)(
    '87, 92: markers alone, of every type, in %s',
    async (format) => {
      await store.admin.createTable({ name: 't', families: ['f'] });
      const table = store.table('t');
      await table.delete('r', { familyVersions: ['f'], ts: 7 });
      await table.delete('s', { families: ['f'], ts: 8 });
      await table.delete('s', { columns: ['f:q'], ts: 9 });
      const wanted = await rawCells(store, 't');
      expect(wanted).toHaveLength(3);
      await exportTables(store, env, ['t'], 'out', { raw: true, format });
      const other = await open('other', { env });
      await importTables(other, env, 'out', { create: true });
      expect(await rawCells(other, 't')).toEqual(wanted);
      await other.close();
    },
  );

  test('raw HFiles of NEW_VERSION_BEHAVIOR are refused', async () => {
    await store.admin.createTable({
      name: 't',
      families: [{ name: 'f', NEW_VERSION_BEHAVIOR: true }],
    });
    await expect(
      exportTables(store, env, ['t'], 'out', { raw: true, format: 'hfile' }),
    ).rejects.toThrow(/NEW_VERSION_BEHAVIOR/);
    expect(await env.fs.stat('out')).toBeNull();
  });
});

describe('interruptions and damage', () => {
  test('a stopped export leaves nothing; a folder that holds something else is refused', async () => {
    await withRows();
    let asked = 0;
    const stopped = exportTables(store, env, null, 'out', { isStopped: () => ++asked > 1 });
    await expect(stopped).rejects.toMatchObject({ code: 'InterruptedIOException' });
    expect(await env.fs.list('out')).toEqual([]);
    await exportTables(store, env, null, 'out');
    await expect(exportTables(store, env, null, 'out')).rejects.toThrow(/holds an export already/);
    await expect(exportTables(store, env, null, 'source')).rejects.toThrow(/is not empty/);
  });

  test('what a killed export left is replaced, and is no export', async () => {
    await withRows();
    await env.fs.ensureFolder('out/ns1/t');
    await (await env.fs.open('out/_cellar.partial', 'create')).close();
    await (await env.fs.open('out/ns1/t/part-m-00000', 'create')).close();
    await expect(verifyExport(env, 'out')).rejects.toThrow(
      /no export, or one that was not finished/,
    );
    await exportTables(store, env, null, 'out');
    expect((await verifyExport(env, 'out')).faults).toEqual([]);
  });

  test('an import goes on where it was stopped', async () => {
    await withRows();
    await exportTables(store, env, null, 'out', { versions: 9, format: 'jsonl' });
    const other = await open('other', { env });
    await other.admin.createNamespace('ns1');
    let asked = 0;
    const options = { create: true, batch: 10 };
    const first = importTables(other, env, 'out', { ...options, isStopped: () => ++asked > 15 });
    await expect(first).rejects.toMatchObject({ code: 'InterruptedIOException' });
    const done = await importTables(other, env, 'out', options);
    expect(done[0]!.resumed).toBeGreaterThanOrEqual(50);
    expect(done[0]!.resumed + done[0]!.puts).toBe(240);
    expect(await rawCells(other, 'ns1:t')).toHaveLength(240);
    await other.close();
  });

  test.each(FORMATS)(
    '%s %s: flipped and cut bytes are found, and nothing is imported',
    async (format, compress) => {
      await withRows();
      await exportTables(store, env, null, 'out', {
        format,
        ...(compress === undefined ? {} : { compress }),
      });
      const manifest = (await readExportManifest(env, 'out'))!;
      const other = await open('other', { env });
      await other.admin.createNamespace('ns1');
      const paths = manifest.tables.flatMap(({ files }) => files.map(({ path }) => `out/${path}`));
      for (const path of [...paths, 'out/_cellar.json']) {
        const whole = await env.fs.readFile(path);
        for (const damage of ['flip', 'cut', 'gone'] as const) {
          await env.fs.remove(path);
          if (damage !== 'gone') {
            const bytes = Buffer.from(whole);
            const at = Math.floor(whole.length / 2);
            bytes[at] = bytes[at]! ^ 1;
            const handle = await env.fs.open(path, 'create');
            await handle.write(damage === 'flip' ? bytes : bytes.subarray(0, whole.length - 1), 0);
            await handle.close();
          }
          if (path.endsWith('.json')) await expect(verifyExport(env, 'out')).rejects.toThrow();
          else
            expect((await verifyExport(env, 'out')).faults.map((fault) => fault.path)).toEqual([
              path,
            ]);
          if (path.endsWith('.json') && damage === 'gone') continue;
          await expect(importTables(other, env, 'out', { create: true })).rejects.toMatchObject({
            code: 'CorruptionException',
          });
        }
        await env.fs.remove(path);
        const handle = await env.fs.open(path, 'create');
        await handle.write(whole, 0);
        await handle.close();
      }
      const tables = await other.admin.listTables();
      if (tables.length > 0) expect(await rawCells(other, 'ns1:t')).toEqual([]);
      await other.close();
    },
  );
});
