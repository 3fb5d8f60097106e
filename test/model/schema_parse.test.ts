import { describe, expect, test } from 'vitest';
import {
  alterSchema,
  checkTable,
  familySettings,
  parseFamily,
  parseTable,
  tableSettings,
  withFamily,
  withModifiedFamily,
  withoutFamily,
  type FamilySpec,
  type TableSpec,
} from '../../src/model/index.ts';

const familyOf = (spec: Omit<FamilySpec, 'name'>): Readonly<Record<string, string>> =>
  parseFamily({ name: 'f', ...spec }).attributes;

describe('attributes of a family', () => {
  test.each([
    { name: 'number', spec: { VERSIONS: 3 }, want: { VERSIONS: '3' } },
    { name: 'text', spec: { VERSIONS: '3' }, want: { VERSIONS: '3' } },
    { name: 'bigint', spec: { VERSIONS: 3n }, want: { VERSIONS: '3' } },
    { name: 'all versions', spec: { VERSIONS: 'ALL' }, want: { VERSIONS: '2147483647' } },
    { name: 'lower-case name', spec: { versions: 2, Ttl: 5 }, want: { VERSIONS: '2', TTL: '5' } },
    { name: 'forever', spec: { TTL: 'forever' }, want: { TTL: '2147483647' } },
    { name: 'one day', spec: { TTL: '1 DAY' }, want: { TTL: '86400' } },
    {
      name: 'many units',
      spec: { TTL: '1 day 2 hours 3 minutes 4 seconds' },
      want: { TTL: '93784' },
    },
    { name: 'shown form', spec: { TTL: '86400 SECONDS (1 DAY)' }, want: { TTL: '86400' } },
    { name: 'size', spec: { BLOCKSIZE: '64 KB' }, want: { BLOCKSIZE: '65536' } },
    { name: 'shown size', spec: { BLOCKSIZE: '65536 B (64KB)' }, want: { BLOCKSIZE: '65536' } },
    { name: 'boolean', spec: { IN_MEMORY: true }, want: { IN_MEMORY: 'true' } },
    { name: 'boolean text', spec: { IN_MEMORY: 'TRUE' }, want: { IN_MEMORY: 'true' } },
    {
      name: 'boolean word',
      spec: { KEEP_DELETED_CELLS: true },
      want: { KEEP_DELETED_CELLS: 'TRUE' },
    },
    { name: 'word', spec: { COMPRESSION: 'snappy' }, want: { COMPRESSION: 'SNAPPY' } },
    { name: 'metadata', spec: { METADATA: { mine: 1 } }, want: { mine: '1' } },
    { name: 'absent', spec: { TTL: undefined }, want: {} },
  ])('$name', ({ spec, want }) => {
    expect(familyOf(spec)).toEqual(want);
  });

  test.each([
    {
      name: 'zero versions',
      spec: { VERSIONS: 0 },
      want: /Maximum versions must be positive.*family f/,
    },
    { name: 'fraction', spec: { VERSIONS: 1.5 }, want: /VERSIONS of family f must be an integer/ },
    { name: 'huge', spec: { VERSIONS: 2 ** 40 }, want: /VERSIONS of family f is above/ },
    { name: 'object', spec: { VERSIONS: {} }, want: /VERSIONS of family f must be a plain value/ },
    { name: 'TTL text', spec: { TTL: 'soon' }, want: /TTL of family f must be seconds/ },
    { name: 'TTL too long', spec: { TTL: '99999 DAYS' }, want: /at most 2147483647 seconds/ },
    {
      name: 'boolean',
      spec: { IN_MEMORY: 'yes' },
      want: /IN_MEMORY of family f must be true or false/,
    },
    {
      name: 'word',
      spec: { BLOOMFILTER: 'COLUMN' },
      want: /BLOOMFILTER of family f must be one of NONE, ROW,/,
    },
    {
      name: 'misspelt',
      spec: { VERSION: 3 },
      want: /Unknown attribute 'VERSION' of family f \(did you mean VERSIONS\?\)/,
    },
    {
      name: 'unknown',
      spec: { COLOUR: 'red' },
      want: /Unknown attribute 'COLOUR' of family f \(other keys go into METADATA/,
    },
    { name: 'metadata', spec: { METADATA: 'x' }, want: /METADATA of family f must be an object/ },
  ])('refuses $name', ({ spec, want }) => {
    expect(() => familyOf(spec)).toThrow(
      expect.objectContaining({
        code: 'IllegalArgumentException',
        message: expect.stringMatching(want) as string,
      }),
    );
  });
});

describe('sanity checks', () => {
  const table = (
    family: Record<string, unknown>,
    more: Record<string, unknown> = {},
  ): TableSpec => ({
    name: 't',
    families: [{ name: 'f', ...family }],
    ...more,
  });
  test.each([
    { spec: table({ TTL: 0 }), want: /^TTL for column family f must be positive\. Set hbase/ },
    { spec: table({ TTL: -1 }), want: /TTL for column family f must be positive/ },
    {
      spec: table({ BLOCKSIZE: 1023 }),
      want: /Block size for column family f {2}must be between 1K and 16MB/,
    },
    { spec: table({ BLOCKSIZE: '17 MB' }), want: /Block size for column family f/ },
    {
      spec: table({ MIN_VERSIONS: 2 }),
      want: /Min versions for column family f must be less than/,
    },
    {
      spec: table({ MIN_VERSIONS: -1 }),
      want: /Min versions for column family f {2}must be positive/,
    },
    { spec: table({ REPLICATION_SCOPE: 2 }), want: /Replication scope for column family f is 2/ },
    { spec: table({ COMPRESSION: 'LZO' }), want: /Compression algorithm 'lzo' of column family f/ },
    { spec: table({ ENCRYPTION: 'AES' }), want: /ENCRYPTION of column family f is not supported/ },
    {
      spec: table({ BLOOMFILTER: 'ROWPREFIX_FIXED_LENGTH' }),
      want: /prefix_length is not specified/,
    },
    { spec: table({}, { MAX_FILESIZE: 1024 }), want: /MAX_FILESIZE.*\(1024\) is too small/ },
    {
      spec: table({}, { MEMSTORE_FLUSHSIZE: '512 KB' }),
      want: /MEMSTORE_FLUSHSIZE.*\(524288\) is too small/,
    },
    {
      spec: table({}, { REGION_REPLICATION: 0 }),
      want: /region replication should be at least one/,
    },
    { spec: { name: 't' }, want: /at least one column family: t/ },
  ])('$want', ({ spec, want }) => {
    expect(() => parseTable(spec)).toThrow(
      expect.objectContaining({
        code: 'DoNotRetryIOException',
        message: expect.stringMatching(want) as string,
      }),
    );
  });

  test('can be turned off by the table', () => {
    const schema = parseTable(
      table({ TTL: 0 }, { CONFIGURATION: { 'hbase.table.sanity.checks': 'false' } }),
    );
    expect(schema.families[0]!.attributes).toEqual({ TTL: '0' });
  });

  test('an attribute written raw by a client is checked', () => {
    const family = { name: 'f', attributes: { TTL: 'x' }, configuration: {} };
    expect(() =>
      checkTable({ name: 't', attributes: {}, configuration: {}, families: [family] }),
    ).toThrow(/TTL of column family f is no number: 'x'/);
  });
});

describe('names', () => {
  test.each([
    { name: '', want: /Table qualifier must not be empty/ },
    { name: '.t', want: /Illegal first character <\.> at 0/ },
    { name: '-t', want: /Illegal first character <-> at 0/ },
    { name: 'a b', want: /Illegal character code:32, < > at 1/ },
    { name: 'a/b', want: /Illegal character code:47/ },
    { name: 'ns:a:b', want: /Illegal character code:58, <:> at 1/ },
    { name: ':t', want: /Namespace name must not be empty/ },
    { name: 'n-s:t', want: /Illegal character <-> at 1\. Namespaces/ },
    { name: 'zookeeper', want: /may not be named 'zookeeper'/ },
    { name: 'x'.repeat(256), want: /Table name of 256 bytes is longer than 255/ },
  ])('refuses table "$name"', ({ name, want }) => {
    expect(() => parseTable({ name, families: ['f'] })).toThrow(want);
  });

  test.each([
    ['t', 't'],
    ['default:t', 't'],
    ['ns:t_1.x-y', 'ns:t_1.x-y'],
    ['täble', 'täble'],
  ])('%s is table %s', (name, want) => {
    expect(parseTable({ name, families: ['f'] }).name).toBe(want);
  });

  test.each([
    { name: '', want: /can not be empty/ },
    { name: '.f', want: /cannot start with a period/ },
    { name: 'a:b', want: /Illegal character <58>/ },
    { name: 'a/b', want: /Illegal character <47>/ },
    { name: 'a\tb', want: /Illegal character <9>/ },
    { name: 'é', want: /Illegal character <195>/ },
    { name: 'recovered.edits', want: /cannot be: recovered.edits/ },
    { name: 'f'.repeat(128), want: /bigger than 127/ },
  ])('refuses family "$name"', ({ name, want }) => {
    expect(() => parseFamily(name)).toThrow(want);
  });

  test('of families that are not text', () => {
    expect(() => parseTable({ name: 't', families: 'f' as never })).toThrow(
      /families of table t must be an array/,
    );
    expect(() => parseTable({ name: 't', families: [3 as never] })).toThrow(
      /described by an object/,
    );
    expect(() => parseTable({ families: ['f'] } as never)).toThrow(/A table must have a name/);
    expect(() => parseTable({ name: 't', families: ['f', { NAME: 'f' } as never] })).toThrow(
      /named twice/,
    );
  });
});

test('a table: families in byte order, attributes and configuration apart', () => {
  const schema = parseTable({
    name: 'ns:t',
    families: [
      'b',
      { name: 'a', VERSIONS: 2, CONFIGURATION: { 'hbase.hstore.blockingStoreFiles': 10 } },
    ],
    durability: 'async_wal',
    NUMREGIONS: 4,
    SPLITALGO: 'HexStringSplit',
    COPROCESSOR$1: '|x.Y||',
    METADATA: { team: 'blue' },
    CONFIGURATION: { k: 'v' },
  });
  expect(schema).toEqual({
    name: 'ns:t',
    attributes: { DURABILITY: 'ASYNC_WAL', coprocessor$1: '|x.Y||', team: 'blue' },
    configuration: { k: 'v' },
    families: [
      {
        name: 'a',
        attributes: { VERSIONS: '2' },
        configuration: { 'hbase.hstore.blockingStoreFiles': '10' },
      },
      { name: 'b', attributes: {}, configuration: {} },
    ],
  });
});

describe('changes', () => {
  const old = parseTable({
    name: 't',
    families: [{ name: 'f', VERSIONS: 3, TTL: 60 }, 'g'],
    READONLY: true,
  });

  test('alter merges, adds, drops and takes attributes away', () => {
    const next = alterSchema(old, {
      name: 't',
      READONLY: null,
      DURABILITY: 'SKIP_WAL',
      families: [{ name: 'f', TTL: 'FOREVER' }, { name: 'g', METHOD: 'delete' }, 'h'],
    });
    expect(next.attributes).toEqual({ DURABILITY: 'SKIP_WAL' });
    expect(next.families).toEqual([
      { name: 'f', attributes: { VERSIONS: '3', TTL: '2147483647' }, configuration: {} },
      { name: 'h', attributes: {}, configuration: {} },
    ]);
    expect(old.families).toHaveLength(2);
  });

  test.each([
    { run: () => alterSchema(old, { name: 'u' }), want: /cannot be renamed: t to u/ },
    {
      run: () => alterSchema(old, { name: 't', SPLITS: ['a'] }),
      want: /SPLITS of table t can only be given at creation/,
    },
    {
      run: () => alterSchema(old, { name: 't', families: [{ name: 'f', TTL: 0 }] }),
      want: /TTL for column family f/,
    },
    {
      run: () => alterSchema(old, { name: 't', families: [{ name: 'f', METHOD: 'x' }] }),
      want: /Unknown METHOD 'x'/,
    },
    {
      run: () => withFamily(old, 'f'),
      want: /Column family 'f' in table 't' already exists so cannot be added/,
    },
    {
      run: () => withModifiedFamily(old, { name: 'zz' }),
      want: /Family 'zz' does not exist, so it cannot be modified/,
    },
    {
      run: () => withoutFamily(old, 'zz'),
      want: /Family 'zz' does not exist, so it cannot be deleted/,
    },
    {
      run: () => withoutFamily(withoutFamily(old, 'g'), 'f'),
      want: /'f' is the only column family/,
    },
  ])('refuses: $want', ({ run, want }) => {
    expect(run).toThrow(want);
  });
});

test('settings fill in the defaults', () => {
  expect(familySettings(parseFamily('f'))).toEqual({
    name: 'f',
    nameBytes: Buffer.from('f'),
    versions: 1,
    minVersions: 0,
    ttlSeconds: 0x7fffffff,
    keepDeletedCells: 'FALSE',
    newVersionBehavior: false,
    blockSizeBytes: 65536,
    compression: 'NONE',
    dataBlockEncoding: 'NONE',
    bloomFilter: 'ROW',
    bloomPrefixLength: 0,
    inMemory: false,
    blockCache: true,
    durability: 'USE_DEFAULT',
    storeFileSync: null,
  });
  expect(tableSettings(parseTable({ name: 't', families: ['f'] }))).toEqual({
    name: 't',
    durability: 'USE_DEFAULT',
    storeFileSync: true,
    changeBefore: false,
    readOnly: false,
    maxFileSizeBytes: 10737418240,
    maxCellSizeBytes: 10485760,
    memstoreFlushSizeBytes: 134217728,
  });
});

test('settings read what was set', () => {
  const family = parseFamily({
    name: 'f',
    VERSIONS: 5,
    MIN_VERSIONS: 1,
    TTL: '2 MINUTES',
    KEEP_DELETED_CELLS: 'ttl',
    NEW_VERSION_BEHAVIOR: 'True',
    BLOOMFILTER: 'ROWPREFIX_FIXED_LENGTH',
    CONFIGURATION: { 'RowPrefixBloomFilter.prefix_length': 4 },
    DURABILITY: 'SKIP_WAL',
  });
  expect(familySettings(family)).toMatchObject({
    versions: 5,
    minVersions: 1,
    ttlSeconds: 120,
    keepDeletedCells: 'TTL',
    newVersionBehavior: true,
    bloomFilter: 'ROWPREFIX_FIXED_LENGTH',
    bloomPrefixLength: 4,
    durability: 'SKIP_WAL',
  });
  // A client of the wire may store a raw "0", which HBase's server accepts.
  expect(
    familySettings({ name: 'f', attributes: { VERSIONS: '0' }, configuration: {} }).versions,
  ).toBe(1);
});
