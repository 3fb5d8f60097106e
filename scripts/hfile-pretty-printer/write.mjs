// Writes one HFile for each variant into a folder, and beside it the lines that HBase's printer has to print for its cells.
// Usage: node write.mjs DIST FOLDER
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [dist, folder] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.join(dist, name, 'index.js')).href);
const { realEnv } = await load('io');
const { writeKeyValue } = await load('cell');
const { HFileWriter } = await load('hfile');

const TYPES = {
  4: 'Put',
  8: 'Delete',
  10: 'DeleteFamilyVersion',
  12: 'DeleteColumn',
  14: 'DeleteFamily',
};

function* cells(count, hasTags, hasWriteNumbers) {
  for (let i = 0; i < count; i++) {
    const row = `row-${String(i).padStart(6, '0')}${i % 7 === 0 ? '-with-a-longer-name' : ''}`;
    const write = hasWriteNumbers ? 468412345614336017n + BigInt(i) * 4096n : 0n;
    const of = (qualifier, timestamp, type, value, tags = '') => ({
      row,
      qualifier,
      timestamp,
      type,
      value,
      write,
      tags: hasTags ? tags : '',
    });
    if (i % 11 === 0) yield of('', 6000n, 14, '');
    if (i % 13 === 0) yield of('', 5000n, 10, '');
    if (i % 5 === 0) yield of('a', 4000n, 12, '');
    yield of('a', 3000n, 4, `value ${i}`, i % 3 === 0 ? '0009080000000005265c00' : '');
    if (i % 3 === 0) yield of('a', 2000n, 8, '');
    yield of('a', 2000n, 4, 'same');
    yield of(
      'b-longer-qualifier',
      1700000000000n + BigInt(i),
      4,
      'x'.repeat(i % 90),
      i % 4 === 0 ? '000465616263' : '',
    );
    yield of('c', 1n << 61n, 4, 'same');
    yield of('c', 0n, 4, 'same');
  }
}

function viewOf(cell) {
  const bytes = (text) => Buffer.from(text, 'latin1');
  const row = bytes(cell.row),
    family = bytes('f'),
    qualifier = bytes(cell.qualifier);
  const value = bytes(cell.value),
    tags = Buffer.from(cell.tags, 'hex');
  const block = Buffer.alloc(64 + row.length + qualifier.length + value.length + tags.length);
  const timestampHigh = Number(cell.timestamp >> 32n);
  const timestampLow = Number(cell.timestamp & 0xffffffffn);
  const parts = {
    row,
    family,
    qualifier,
    timestampHigh,
    timestampLow,
    type: cell.type,
    value,
    tags,
  };
  const length = writeKeyValue(block, 0, parts);
  const qualifierAt = 10 + row.length + 2;
  const timestampAt = qualifierAt + qualifier.length;
  const valueAt = timestampAt + 9;
  return {
    block,
    at: 0,
    length,
    rowAt: 10,
    rowLength: row.length,
    qualifierAt,
    qualifierLength: qualifier.length,
    timestampAt,
    valueAt,
    valueLength: value.length,
    tagsAt: valueAt + value.length + (tags.length > 0 ? 2 : 0),
    tagsLength: tags.length,
    writeHigh: Number(cell.write >> 32n),
    writeLow: Number(cell.write & 0xffffffffn),
  };
}

const lineOf = (cell) =>
  `K: ${cell.row}/f:${cell.qualifier}/${cell.timestamp}/${TYPES[cell.type]}/vlen=${cell.value.length}/seqid=${cell.write} V: ${cell.value}`;

const variants = [];
for (const encoding of ['NONE', 'PREFIX', 'DIFF', 'FAST_DIFF', 'ROW_INDEX_V1']) {
  for (const hasTags of [false, true]) {
    for (const hasWriteNumbers of [false, true]) {
      variants.push({ encoding, hasTags, hasWriteNumbers });
    }
  }
}
for (const compression of ['GZ', 'SNAPPY', 'LZ4', 'ZSTD']) {
  variants.push({ compression }, { compression, encoding: 'FAST_DIFF', hasTags: true });
}
for (const bloomType of ['ROW', 'ROWCOL', 'ROWPREFIX_FIXED_LENGTH']) {
  variants.push({ bloomType, bloomPrefixLength: 8, bloomChunkBytes: 1024 });
}
// Four levels of index.
variants.push({ blockSizeBytes: 500, indexChunkBytes: 300, indexEntriesMin: 4, bloomType: 'ROW' });
variants.push({ blockSizeBytes: 65536, indexChunkBytes: 131072, bloomType: 'ROW', count: 20000 });
variants.push({ count: 0 });

const { fs } = realEnv();
for (const { count = 600, ...options } of variants) {
  const name = `file.${Object.entries(options)
    .map(([key, value]) => `${key}-${value}`)
    .join('.')}.${count}`;
  const file = path.join(folder, name);
  const writer = await HFileWriter.create(fs, file, {
    createdMs: 1700000000000,
    blockSizeBytes: 4096,
    indexChunkBytes: 2048,
    maxSequenceId: 42n,
    ...options,
  });
  const lines = [];
  for (const cell of cells(count, options.hasTags ?? false, options.hasWriteNumbers ?? true)) {
    if (writer.append(viewOf(cell))) await writer.drain();
    lines.push(lineOf(cell));
  }
  await writer.finish();
  writeFileSync(`${file}.expected`, lines.map((line) => `${line}\n`).join(''));
}
