import { expect, test } from 'vitest';
import { describeLines, parseTable } from '../../src/model/index.ts';

test('a plain table reads as in HBase 2.6', () => {
  const table = parseTable({ name: 't', families: ['f'] });
  expect(describeLines({ ...table, enabled: true, splits: [new Uint8Array(0)] })).toEqual([
    'Table t is ENABLED',
    't',
    'COLUMN FAMILIES DESCRIPTION',
    "{NAME => 'f', INDEX_BLOCK_ENCODING => 'NONE', VERSIONS => '1', KEEP_DELETED_CELLS => 'FALSE', DATA_BLOCK_ENCODING => 'NONE', TTL => 'FOREVER', MIN_VERSIONS => '0', REPLICATION_SCOPE => '0', BLOOMFILTER => 'ROW', IN_MEMORY => 'false', COMPRESSION => 'NONE', BLOCKCACHE => 'true', BLOCKSIZE => '65536 B (64KB)'}",
  ]);
});

test('attributes, metadata and configuration that were set', () => {
  const table = parseTable({
    name: 'ns:t',
    MAX_FILESIZE: '1 GB 5 MB',
    METADATA: { "it's": 'x' },
    CONFIGURATION: { c: 1 },
    families: [
      {
        name: 'f',
        TTL: 90061,
        NEW_VERSION_BEHAVIOR: true,
        METADATA: { m: 'n' },
        CONFIGURATION: { a: 'b' },
      },
    ],
  });
  const lines = describeLines({ ...table, enabled: false, splits: [new Uint8Array(0)] });
  expect(lines[0]).toBe('Table ns:t is DISABLED');
  expect(lines[1]).toBe(
    "ns:t, {TABLE_ATTRIBUTES => {MAX_FILESIZE => '1078984704 B (1GB 5MB)', METADATA => {'it\\'s' => 'x'}, CONFIGURATION => {'c' => '1'}}}",
  );
  expect(lines[3]).toContain("TTL => '90061 SECONDS (1 DAY 1 HOUR 1 MINUTE 1 SECOND)'");
  expect(lines[3]).toContain(
    "BLOCKSIZE => '65536 B (64KB)', NEW_VERSION_BEHAVIOR => 'true', METADATA => {'m' => 'n'}, CONFIGURATION => {'a' => 'b'}}",
  );
});
