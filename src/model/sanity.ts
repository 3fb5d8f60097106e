/**
 * The checks a server makes before it takes a descriptor, whoever wrote it (HBase: TableDescriptorChecker). They throw
 * DoNotRetryIOException, as HBase 2.6 does; those HBase lets a table turn off are off with `hbase.table.sanity.checks` false.
 */
import { FAMILY_ATTRIBUTES, TABLE_ATTRIBUTES, findAttribute } from './attributes.ts';
import { DoNotRetryIOException } from './errors.ts';
import { checkFamilyName, parseTableName } from './names.ts';
import type { FamilySchema, TableSchema } from './schema.ts';

const SANITY_CHECKS = 'hbase.table.sanity.checks';
const FILE_SIZE_MIN = 2 * 1024 * 1024;
const FLUSH_SIZE_MIN = 1024 * 1024;
const BLOCK_SIZE_MIN = 1024;
const BLOCK_SIZE_MAX = 16 * 1024 * 1024;
/** Cellar reads and writes these; HBase refuses the others too unless their libraries are installed. */
const CODECS = new Set(['NONE', 'GZ', 'SNAPPY', 'LZ4', 'ZSTD']);

/** Throws for a descriptor that must not be stored; IllegalArgumentException for illegal names. */
export function checkTable(table: TableSchema): void {
  parseTableName(table.name);
  for (const family of table.families) checkFamilyName(family.name);
  for (const family of table.families) checkAlways(family);
  const off = table.attributes[SANITY_CHECKS] ?? table.configuration[SANITY_CHECKS];
  if (off?.toLowerCase() === 'false') return;
  checkTableAttributes(table);
  for (const family of table.families) checkFamily(family);
}

function insane(message: string): never {
  throw new DoNotRetryIOException(
    `${message} Set ${SANITY_CHECKS} to false at conf or table descriptor if you want to bypass sanity checks`,
  );
}

/** The attribute as a number, its default if absent; a text that is none is refused (a client wrote it raw). */
function numberOf(schema: FamilySchema | TableSchema, name: string, isTable: boolean): number {
  const attribute = findAttribute(isTable ? TABLE_ATTRIBUTES : FAMILY_ATTRIBUTES, name);
  const text = schema.attributes[name] ?? attribute?.default ?? '0';
  if (!/^[+-]?\d{1,19}$/.test(text)) {
    const owner = isTable ? 'table' : 'column family';
    throw new DoNotRetryIOException(`${name} of ${owner} ${schema.name} is no number: '${text}'`);
  }
  return Number(text);
}

function checkTableAttributes(table: TableSchema): void {
  const fileSize = numberOf(table, 'MAX_FILESIZE', true);
  if (fileSize < FILE_SIZE_MIN) {
    insane(
      `MAX_FILESIZE for table descriptor or "hbase.hregion.max.filesize" (${fileSize}) is too small, which might cause over splitting into unmanageable number of regions.`,
    );
  }
  const flushSize = numberOf(table, 'MEMSTORE_FLUSHSIZE', true);
  if (flushSize < FLUSH_SIZE_MIN) {
    insane(
      `MEMSTORE_FLUSHSIZE for table descriptor or "hbase.hregion.memstore.flush.size" (${flushSize}) is too small, which might cause very frequent flushing.`,
    );
  }
  if (table.families.length === 0) {
    insane(`Table should have at least one column family: ${table.name}.`);
  }
  if (numberOf(table, 'REGION_REPLICATION', true) < 1) {
    insane('Table region replication should be at least one.');
  }
}

function checkFamily(family: FamilySchema): void {
  const { name } = family;
  if (numberOf(family, 'TTL', false) <= 0)
    insane(`TTL for column family ${name} must be positive.`);
  const blockSize = numberOf(family, 'BLOCKSIZE', false);
  if (blockSize < BLOCK_SIZE_MIN || blockSize > BLOCK_SIZE_MAX) {
    insane(`Block size for column family ${name}  must be between 1K and 16MB.`);
  }
  const minVersions = numberOf(family, 'MIN_VERSIONS', false);
  if (minVersions < 0) insane(`Min versions for column family ${name}  must be positive.`);
  if (minVersions > numberOf(family, 'VERSIONS', false)) {
    insane(`Min versions for column family ${name} must be less than the Max versions.`);
  }
  if (numberOf(family, 'DFS_REPLICATION', false) < 0) {
    insane(`HFile Replication for column family ${name}  must be greater than zero.`);
  }
}

/** Checks that no setting turns off. */
function checkAlways(family: FamilySchema): void {
  const { name, attributes, configuration } = family;
  const scope = numberOf(family, 'REPLICATION_SCOPE', false);
  if (scope !== 0 && scope !== 1) {
    throw new DoNotRetryIOException(
      `Replication scope for column family ${name} is ${scope} which is invalid.`,
    );
  }
  for (const attribute of FAMILY_ATTRIBUTES) {
    const text = attributes[attribute.name];
    if (text === undefined || attribute.words === undefined) continue;
    if (!attribute.words.includes(text.toUpperCase())) {
      throw new DoNotRetryIOException(
        `${attribute.name} of column family ${name} is unknown: '${text}'`,
      );
    }
    if (attribute.name.startsWith('COMPRESSION') && !CODECS.has(text.toUpperCase())) {
      throw new DoNotRetryIOException(
        `Compression algorithm '${text.toLowerCase()}' of column family ${name} is not available`,
      );
    }
  }
  if (attributes['ENCRYPTION'] !== undefined) {
    throw new DoNotRetryIOException(`ENCRYPTION of column family ${name} is not supported`);
  }
  if (attributes['BLOOMFILTER']?.toUpperCase() === 'ROWPREFIX_FIXED_LENGTH') {
    const length = attributes[PREFIX_LENGTH] ?? configuration[PREFIX_LENGTH];
    if (length === undefined || !/^\d{1,5}$/.test(length) || Number(length) < 1) {
      throw new DoNotRetryIOException(
        `Failed to get bloom filter param of column family ${name}: ${PREFIX_LENGTH} is ${length ?? 'not specified'}`,
      );
    }
  }
}

/** Configuration of a Bloom filter over row prefixes: bytes of the prefix. */
export const PREFIX_LENGTH = 'RowPrefixBloomFilter.prefix_length';
