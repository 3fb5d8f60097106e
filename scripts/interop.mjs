// npm run test:interop: exports, imports and HFiles there and back through Apache HBase's own Export, Import, bulk load and
// HFilePrettyPrinter, compared cell by cell. Needs a JDK of 17 or newer and Maven; starts one JVM and ends it.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { HBase } from './interop/hbase.mjs';
import { ROOT, newFolder, readSource, transpile, writeBuilt } from './sim_build.mjs';

const built = newFolder('interop');
const work = mkdtempSync(path.join(tmpdir(), 'cellar-interop-'));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));
process.on('exit', () => {
  for (const folder of [built, work]) rmSync(folder, { recursive: true, force: true });
});

for (const found of readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })) {
  const name = path.posix.join('src', found.split(path.sep).join('/'));
  if (!name.endsWith('.ts') || name.endsWith('.d.ts')) continue;
  writeBuilt(built, name, transpile(readSource(name), name));
}
const load = (name) => import(pathToFileURL(path.join(built, 'src', name, 'index.js')).href);
const { open } = await load('engine');
const { realEnv } = await load('io');
const { exportTables, importTables, verifyExport } = await load('backup');

const TYPES = { Put: 4, Delete: 8, DeleteFamilyVersion: 10, DeleteColumn: 12, DeleteFamily: 14 };

/** Cells in the words of the driver. */
async function cellsOf(store, table) {
  const hex = (bytes) => `x${Buffer.from(bytes).toString('hex')}`;
  const lines = [];
  for await (const result of store.table(table).scan({ raw: true, versions: 1000 })) {
    for (const { row, family, qualifier, ts, type, value, tags } of result.cells) {
      lines.push(
        [
          hex(row),
          hex(Buffer.from(family)),
          hex(qualifier),
          ts,
          TYPES[type],
          hex(value),
          hex(tags),
        ].join('\t'),
      );
    }
  }
  return lines;
}

function same(what, found, wanted) {
  const at = wanted.findIndex((line, i) => line !== found[i]);
  if (at < 0 && found.length === wanted.length) {
    console.log(`ok   ${what}: ${wanted.length} cells`);
    return;
  }
  process.exitCode = 1;
  console.log(`FAIL ${what}: ${found.length} cells, not ${wanted.length}`);
  const i = at < 0 ? Math.min(found.length, wanted.length) : at;
  console.log(`     found  ${found[i]}\n     wanted ${wanted[i]}`);
}

const withoutTags = (lines) => lines.map((line) => line.slice(0, line.lastIndexOf('\t')));

async function fill(store, table) {
  await store.admin.createTable({
    name: table,
    families: [
      { name: 'f', VERSIONS: 10 },
      { name: 'g', VERSIONS: 10 },
    ],
    SPLITS: ['row0100'],
  });
  const at = store.table(table);
  for (let i = 0; i < 300; i++) {
    const row = Buffer.concat([
      Buffer.from(`row${String(i).padStart(4, '0')}`),
      Buffer.from([i & 255, 0, 255]),
    ]);
    await at.put(row, [
      {
        family: 'f',
        qualifier: Uint8Array.of(0, 9, i & 255),
        value: Buffer.alloc((i * 7) % 900, i),
        ts: 1000 + i,
      },
      { family: 'f', qualifier: 'q', value: 'older', ts: 5 },
      { family: 'g', qualifier: '', value: 'late', ts: 2n ** 63n - 3n },
    ]);
    await at.put(row, [
      { family: 'f', qualifier: 'q', value: 'newer', ts: 6, ttl: 10_000_000_000_000 },
    ]);
    if (i % 10 === 1) await at.delete(row, { families: ['g'], ts: 3 });
    if (i % 10 === 2) await at.delete(row, { familyVersions: ['g'], ts: 4 });
    if (i % 10 === 3) await at.delete(row, { columns: ['f:q'], ts: 4 });
    if (i % 10 === 4) await at.delete(row, { versions: ['f:q'], ts: 5 });
    if (i % 10 === 5) for (const ts of [1, 2]) await at.delete(row, { families: ['f'], ts });
  }
}

const env = realEnv();
const store = await open(path.join(work, 'store'), { env });
const hbase = new HBase({ work, suite: path.join(ROOT, 'scripts', 'interop') });
await hbase.start();
const url = (name) => `file://${path.join(work, name)}`;
const CODECS = {
  deflate: 'DefaultCodec',
  gz: 'GzipCodec',
  snappy: 'SnappyCodec',
  lz4: 'Lz4Codec',
};

try {
  await fill(store, 't');
  const ours = await cellsOf(store, 't');

  // Cellar's SequenceFiles → HBase's Import → HBase's Export → Cellar.
  // Hadoop's zstd needs its native library.
  for (const compress of ['none', 'deflate', 'gz', 'snappy', 'lz4']) {
    const out = path.join(work, `seq-${compress}`);
    await exportTables(store, env, ['t'], out, { raw: true, format: 'sequencefile', compress });
    const table = `seq_${compress}`;
    await hbase.run('create', table, 'f', 'g');
    await hbase.run('import', table, url(`seq-${compress}/default/t`));
    same(
      `Cellar's SequenceFile (${compress}) → HBase's Import`,
      withoutTags(await hbase.run('scan', table)),
      withoutTags(ours),
    );
    const options =
      compress === 'none'
        ? []
        : [
            '-Dmapreduce.output.fileoutputformat.compress=true',
            `-Dmapreduce.output.fileoutputformat.compress.type=${compress === 'gz' ? 'RECORD' : 'BLOCK'}`,
            `-Dmapreduce.output.fileoutputformat.compress.codec=org.apache.hadoop.io.compress.${CODECS[compress]}`,
          ];
    await hbase.run(
      'export',
      ...options,
      '-Dhbase.mapreduce.include.deleted.rows=true',
      table,
      url(`back-${compress}`),
      '1000',
    );
    await store.admin.createTable({
      name: `back_${compress}`,
      families: [
        { name: 'f', VERSIONS: 10 },
        { name: 'g', VERSIONS: 10 },
      ],
    });
    await importTables(store, env, path.join(work, `back-${compress}`), {
      rename: { '': `back_${compress}` },
    });
    same(
      `… → HBase's Export → Cellar`,
      withoutTags(await cellsOf(store, `back_${compress}`)),
      withoutTags(ours),
    );
  }

  // HBase's own cells, with tags → Export → Cellar → Export → Import.
  await hbase.run('create', 'h', 'f', 'g');
  await hbase.run('fill', 'h');
  const theirs = await hbase.run('scan', 'h');
  await hbase.run('export', '-Dhbase.mapreduce.include.deleted.rows=true', 'h', url('h'), '1000');
  await store.admin.createTable({
    name: 'h',
    families: [
      { name: 'f', VERSIONS: 10 },
      { name: 'g', VERSIONS: 10 },
    ],
  });
  await importTables(store, env, path.join(work, 'h'), { rename: { '': 'h' } });
  same(`HBase's Export → Cellar, with TTL tags`, await cellsOf(store, 'h'), theirs);
  await exportTables(store, env, ['h'], path.join(work, 'h-again'), { raw: true });
  await hbase.run('create', 'h_again', 'f', 'g');
  await hbase.run('import', 'h_again', url('h-again/default/h'));
  same(`… → Cellar's SequenceFile → HBase's Import`, await hbase.run('scan', 'h_again'), theirs);

  // HFiles.
  for (const compress of ['none', 'gz', 'snappy', 'lz4', 'zstd']) {
    const out = path.join(work, `hfile-${compress}`);
    const manifest = await exportTables(store, env, ['t'], out, {
      raw: true,
      format: 'hfile',
      compress,
    });
    let accepted = 0;
    for (const { path: file } of manifest.tables[0].files) {
      if (compress !== 'none' && compress !== 'gz') break; // The others need native libraries in the tool.
      await hbase.run('pretty', url(`hfile-${compress}/${file}`));
      accepted++;
    }
    if (accepted > 0)
      console.log(`ok   HFilePrettyPrinter -m -k accepts ${accepted} HFiles (${compress})`);
    if (compress === 'none' || compress === 'gz') {
      const table = `hfile_${compress}`;
      await hbase.run('create', table, 'f', 'g');
      await hbase.run('bulkload', table, url(`hfile-${compress}/default/t`));
      same(`Cellar's HFiles (${compress}) → bulk load`, await hbase.run('scan', table), ours);
    }
    const { faults } = await verifyExport(env, out);
    if (faults.length > 0) {
      process.exitCode = 1;
      console.log(`FAIL verify ${compress}: ${JSON.stringify(faults)}`);
    }
  }
} finally {
  hbase.stop();
  await store.close();
}
process.exit();
