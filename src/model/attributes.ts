/**
 * The attributes of families and tables that HBase knows: name, default, how a given value becomes the stored text and
 * how HBase's shell shows it (protocol/admin.md section 9; HBase: ColumnFamilyDescriptorBuilder, TableDescriptorBuilder,
 * PrettyPrinter).
 */
import { IllegalArgumentException } from './errors.ts';
import { TTL_FOREVER } from './schema.ts';
import { shown } from './values.ts';

export type AttributeKind = 'versions' | 'int' | 'long' | 'bytes' | 'ttl' | 'boolean' | 'text';

export interface Attribute {
  readonly name: string;
  readonly kind: AttributeKind;
  /** The stored text when absent; null: absent means absent. */
  readonly default: string | null;
  /** Legal upper-case words; absent: any text of the kind. */
  readonly words?: readonly string[];
  /** HBase's Java client always sends it, and the shell always shows it. */
  readonly always?: true;
}

const CODECS = ['NONE', 'GZ', 'SNAPPY', 'LZ4', 'ZSTD', 'LZO', 'BZIP2', 'LZMA', 'BROTLI'];

/** In the order in which HBase's shell shows those it always shows, then the others. */
export const FAMILY_ATTRIBUTES: readonly Attribute[] = [
  {
    name: 'INDEX_BLOCK_ENCODING',
    kind: 'text',
    default: 'NONE',
    words: ['NONE', 'PREFIX_TREE'],
    always: true,
  },
  { name: 'VERSIONS', kind: 'versions', default: '1', always: true },
  {
    name: 'KEEP_DELETED_CELLS',
    kind: 'text',
    default: 'FALSE',
    words: ['FALSE', 'TRUE', 'TTL'],
    always: true,
  },
  {
    name: 'DATA_BLOCK_ENCODING',
    kind: 'text',
    default: 'NONE',
    words: ['NONE', 'PREFIX', 'DIFF', 'FAST_DIFF', 'ROW_INDEX_V1'],
    always: true,
  },
  { name: 'TTL', kind: 'ttl', default: String(TTL_FOREVER), always: true },
  { name: 'MIN_VERSIONS', kind: 'int', default: '0', always: true },
  { name: 'REPLICATION_SCOPE', kind: 'int', default: '0', always: true },
  {
    name: 'BLOOMFILTER',
    kind: 'text',
    default: 'ROW',
    words: ['NONE', 'ROW', 'ROWCOL', 'ROWPREFIX_FIXED_LENGTH'],
    always: true,
  },
  { name: 'IN_MEMORY', kind: 'boolean', default: 'false', always: true },
  { name: 'COMPRESSION', kind: 'text', default: 'NONE', words: CODECS, always: true },
  { name: 'BLOCKCACHE', kind: 'boolean', default: 'true', always: true },
  { name: 'BLOCKSIZE', kind: 'bytes', default: '65536', always: true },
  { name: 'NEW_VERSION_BEHAVIOR', kind: 'boolean', default: 'false' },
  { name: 'CACHE_DATA_ON_WRITE', kind: 'boolean', default: 'false' },
  { name: 'CACHE_INDEX_ON_WRITE', kind: 'boolean', default: 'false' },
  { name: 'CACHE_BLOOMS_ON_WRITE', kind: 'boolean', default: 'false' },
  { name: 'EVICT_BLOCKS_ON_CLOSE', kind: 'boolean', default: 'false' },
  { name: 'PREFETCH_BLOCKS_ON_OPEN', kind: 'boolean', default: 'false' },
  { name: 'COMPRESS_TAGS', kind: 'boolean', default: 'true' },
  { name: 'COMPRESSION_COMPACT', kind: 'text', default: null, words: CODECS },
  { name: 'COMPRESSION_COMPACT_MAJOR', kind: 'text', default: null, words: CODECS },
  { name: 'COMPRESSION_COMPACT_MINOR', kind: 'text', default: null, words: CODECS },
  { name: 'DFS_REPLICATION', kind: 'int', default: '0' },
  { name: 'STORAGE_POLICY', kind: 'text', default: null },
  {
    name: 'IN_MEMORY_COMPACTION',
    kind: 'text',
    default: null,
    words: ['NONE', 'BASIC', 'EAGER', 'ADAPTIVE'],
  },
  { name: 'IS_MOB', kind: 'boolean', default: 'false' },
  { name: 'MOB_THRESHOLD', kind: 'bytes', default: '102400' },
  {
    name: 'MOB_COMPACT_PARTITION_POLICY',
    kind: 'text',
    default: 'DAILY',
    words: ['DAILY', 'WEEKLY', 'MONTHLY'],
  },
  { name: 'ENCRYPTION', kind: 'text', default: null },
  { name: 'ENCRYPTION_KEY', kind: 'text', default: null },
  // Cellar's own: overrides the table's durability for this family.
  {
    name: 'DURABILITY',
    kind: 'text',
    default: 'USE_DEFAULT',
    words: ['USE_DEFAULT', 'SKIP_WAL', 'ASYNC_WAL', 'SYNC_WAL', 'FSYNC_WAL'],
  },
  // Cellar's own: whether a flush syncs its files before they count; overrides the table's.
  { name: 'STORE_FILE_SYNC', kind: 'boolean', default: null },
];

export const TABLE_ATTRIBUTES: readonly Attribute[] = [
  {
    name: 'DURABILITY',
    kind: 'text',
    default: 'USE_DEFAULT',
    words: ['USE_DEFAULT', 'SKIP_WAL', 'ASYNC_WAL', 'SYNC_WAL', 'FSYNC_WAL'],
  },
  { name: 'READONLY', kind: 'boolean', default: 'false' },
  // Cellar's own: the log keeps what was visible of a row before each change, for the feed.
  { name: 'CHANGE_BEFORE', kind: 'boolean', default: 'false' },
  { name: 'MAX_FILESIZE', kind: 'bytes', default: '10737418240' },
  { name: 'MEMSTORE_FLUSHSIZE', kind: 'bytes', default: '134217728' },
  { name: 'SPLIT_POLICY', kind: 'text', default: null },
  { name: 'FLUSH_POLICY', kind: 'text', default: null },
  { name: 'COMPACTION_ENABLED', kind: 'boolean', default: 'true' },
  { name: 'SPLIT_ENABLED', kind: 'boolean', default: 'true' },
  { name: 'MERGE_ENABLED', kind: 'boolean', default: 'true' },
  { name: 'REGION_REPLICATION', kind: 'int', default: '1' },
  { name: 'REGION_MEMSTORE_REPLICATION', kind: 'boolean', default: 'true' },
  { name: 'PRIORITY', kind: 'int', default: '0' },
  { name: 'NORMALIZATION_ENABLED', kind: 'boolean', default: 'false' },
  { name: 'NORMALIZER_TARGET_REGION_COUNT', kind: 'int', default: null },
  { name: 'NORMALIZER_TARGET_REGION_SIZE_MB', kind: 'long', default: null },
  { name: 'IS_META', kind: 'boolean', default: 'false' },
  { name: 'OWNER', kind: 'text', default: null },
  { name: 'ERASURE_CODING_POLICY', kind: 'text', default: null },
  // Cellar's own.
  { name: 'STORE_FILE_SYNC', kind: 'boolean', default: 'true' },
];

const COPROCESSOR = /^coprocessor\$([0-9]+)$/i;
const OTHER_TABLE_KEYS = new Set([
  'hbase.rsgroup.name',
  'hbase.store.file-tracker.impl',
  'hbase.table.sanity.checks',
]);

/** The attribute of this name in any case, or undefined. */
export function findAttribute(
  attributes: readonly Attribute[],
  name: string,
): Attribute | undefined {
  const upper = name.toUpperCase();
  return attributes.find((attribute) => attribute.name === upper);
}

/** Table keys that HBase knows but that are not upper-case attributes, in their stored spelling; null for others. */
export function otherTableKey(name: string): string | null {
  if (COPROCESSOR.test(name)) return name.toLowerCase();
  return OTHER_TABLE_KEYS.has(name) ? name : null;
}

const UNITS: Readonly<Record<string, bigint>> = {
  B: 1n,
  KB: 1024n,
  MB: 1024n ** 2n,
  GB: 1024n ** 3n,
  TB: 1024n ** 4n,
};
const SECONDS: readonly (readonly [word: string, seconds: number])[] = [
  ['DAY', 86_400],
  ['HOUR', 3_600],
  ['MINUTE', 60],
  ['SECOND', 1],
];

function refuse(what: string, value: unknown, wanted: string): never {
  throw new IllegalArgumentException(`${what} must be ${wanted}, not ${shown(value)}`);
}

/** A text, number or boolean as text; anything else is refused. */
export function plainText(value: unknown, what: string): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      return refuse(what, value, 'a plain value');
  }
}

/** The text to store for `value`, given by a caller in any of the forms that HBase's shell accepts. */
export function attributeText(attribute: Attribute, value: unknown, owner: string): string {
  const what = `${attribute.name} of ${owner}`;
  const text = plainText(value, what).trim();
  switch (attribute.kind) {
    case 'versions':
      if (text.toUpperCase() === 'ALL') return String(0x7fffffff);
      return integerText(what, text, 1n, 0x7fffffffn, 'Maximum versions must be positive');
    case 'int':
      return integerText(what, text, -0x80000000n, 0x7fffffffn);
    case 'long':
      return integerText(what, text, -(2n ** 63n), 2n ** 63n - 1n);
    case 'bytes':
      return byteCountText(what, text);
    case 'ttl':
      return ttlText(what, text);
    case 'boolean':
      if (!/^(true|false)$/i.test(text)) refuse(what, value, 'true or false');
      return text.toLowerCase();
    case 'text':
      if (attribute.words === undefined) return text;
      if (!attribute.words.includes(text.toUpperCase())) {
        refuse(what, value, `one of ${attribute.words.join(', ')}`);
      }
      return text.toUpperCase();
  }
}

function integerText(what: string, text: string, min: bigint, max: bigint, low?: string): string {
  if (!/^[+-]?\d{1,19}$/.test(text)) refuse(what, text, 'an integer');
  const number = BigInt(text);
  if (number < min) {
    throw new IllegalArgumentException(`${low ?? `${what} is below ${min}`}: ${what} is ${number}`);
  }
  if (number > max) throw new IllegalArgumentException(`${what} is above ${max}: ${number}`);
  return String(number);
}

/** `65536`, `64 KB`, `10 GB`, or the shell's own `65536 B (64KB)`. */
function byteCountText(what: string, text: string): string {
  const plain = text.toUpperCase().replace(/\s*\(.*\)$/, '');
  if (/^[+-]?\d{1,19}$/.test(plain)) {
    return integerText(what, plain, -(2n ** 63n), 2n ** 63n - 1n);
  }
  if (!/^(\d+\s*(TB|GB|MB|KB|B)\s*)+$/.test(plain)) {
    refuse(what, text, "a number of bytes or a size such as '64 KB'");
  }
  let total = 0n;
  for (const match of plain.matchAll(/(\d+)\s*(TB|GB|MB|KB|B)/g)) {
    total += BigInt(match[1]!) * UNITS[match[2]!]!;
  }
  return String(total);
}

/** Seconds, `FOREVER`, `1 DAY 2 HOURS`, or the shell's own `86400 SECONDS (1 DAY)`. */
function ttlText(what: string, text: string): string {
  const plain = text.toUpperCase().replace(/\s*\(.*\)$/, '');
  if (plain === 'FOREVER') return String(TTL_FOREVER);
  if (/^[+-]?\d{1,19}$/.test(plain)) return integerText(what, plain, -0x80000000n, 0x7fffffffn);
  const wanted = "seconds, 'FOREVER' or a time such as '1 DAY 2 HOURS'";
  if (!/^(\d+\s*(DAY|HOUR|MINUTE|SECOND)S?\s*)+$/.test(plain)) refuse(what, text, wanted);
  let total = 0;
  for (const match of plain.matchAll(/(\d+)\s*(DAY|HOUR|MINUTE|SECOND)S?/g)) {
    total += Number(match[1]) * SECONDS.find(([word]) => word === match[2])![1];
  }
  if (total > TTL_FOREVER) refuse(what, text, `at most ${TTL_FOREVER} seconds`);
  return String(total);
}

/** The stored text as HBase's shell shows it. */
export function shownAttribute(attribute: Attribute, text: string): string {
  if (!/^\d+$/.test(text)) return text;
  if (attribute.kind === 'ttl') return shownTtl(Number(text));
  if (attribute.kind === 'bytes') return shownByteCount(BigInt(text));
  return text;
}

function shownTtl(seconds: number): string {
  if (seconds >= TTL_FOREVER) return 'FOREVER';
  const parts: string[] = [];
  let rest = seconds;
  for (const [word, size] of SECONDS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${word}${count === 1 ? '' : 'S'}`);
  }
  if (seconds < 60) return `${seconds} SECOND${seconds === 1 ? '' : 'S'}`;
  return `${seconds} SECONDS (${parts.join(' ')})`;
}

function shownByteCount(bytes: bigint): string {
  if (bytes < 1024n) return `${bytes} B`;
  const parts: string[] = [];
  let rest = bytes;
  for (const unit of ['TB', 'GB', 'MB', 'KB', 'B']) {
    const count = rest / UNITS[unit]!;
    rest -= count * UNITS[unit]!;
    if (count > 0n) parts.push(`${count}${unit}`);
  }
  return `${bytes} B (${parts.join(' ')})`;
}
