/** What the engine acts on: a descriptor's attributes as numbers and words, with HBase's defaults filled in. */
import { FAMILY_ATTRIBUTES, TABLE_ATTRIBUTES, findAttribute } from './attributes.ts';
import { PREFIX_LENGTH } from './sanity.ts';
import {
  TTL_FOREVER,
  type FamilySchema,
  type FamilySettings,
  type KeepDeletedCells,
  type TableSchema,
  type TableSettings,
} from './schema.ts';

/** Settings of a family whose descriptor went through `checkTable`. */
export function familySettings(schema: FamilySchema): FamilySettings {
  const text = (name: string): string =>
    schema.attributes[name] ?? findAttribute(FAMILY_ATTRIBUTES, name)?.default ?? '';
  const word = (name: string): string => text(name).toUpperCase();
  const isTrue = (name: string): boolean => word(name) === 'TRUE';
  const prefixLength = schema.configuration[PREFIX_LENGTH] ?? schema.attributes[PREFIX_LENGTH];
  return {
    name: schema.name,
    nameBytes: Buffer.from(schema.name, 'latin1'),
    // A raw "0" passes HBase's server; it cannot mean that nothing is kept.
    versions: Math.max(1, Number(text('VERSIONS'))),
    minVersions: Number(text('MIN_VERSIONS')),
    ttlSeconds: Math.min(TTL_FOREVER, Number(text('TTL'))),
    keepDeletedCells: word('KEEP_DELETED_CELLS') as KeepDeletedCells,
    newVersionBehavior: isTrue('NEW_VERSION_BEHAVIOR'),
    blockSizeBytes: Number(text('BLOCKSIZE')),
    compression: word('COMPRESSION'),
    dataBlockEncoding: word('DATA_BLOCK_ENCODING'),
    bloomFilter: word('BLOOMFILTER') as FamilySettings['bloomFilter'],
    bloomPrefixLength: prefixLength === undefined ? 0 : Number(prefixLength),
    inMemory: isTrue('IN_MEMORY'),
    blockCache: isTrue('BLOCKCACHE'),
    durability: word('DURABILITY'),
    storeFileSync: text('STORE_FILE_SYNC') === '' ? null : isTrue('STORE_FILE_SYNC'),
  };
}

/** Settings of a table whose descriptor went through `checkTable`. */
export function tableSettings(schema: TableSchema): TableSettings {
  const text = (name: string): string =>
    schema.attributes[name] ?? findAttribute(TABLE_ATTRIBUTES, name)?.default ?? '';
  return {
    name: schema.name,
    durability: text('DURABILITY').toUpperCase(),
    storeFileSync: text('STORE_FILE_SYNC').toUpperCase() === 'TRUE',
    readOnly: text('READONLY').toUpperCase() === 'TRUE',
    changeBefore: text('CHANGE_BEFORE').toUpperCase() === 'TRUE',
    maxFileSizeBytes: Number(text('MAX_FILESIZE')),
    maxCellSizeBytes: maxCellSize(schema),
    memstoreFlushSizeBytes: Number(text('MEMSTORE_FLUSHSIZE')),
  };
}

/** HBase: HRegion.HBASE_MAX_CELL_SIZE_KEY. */
const MAX_CELL_SIZE = 'hbase.server.keyvalue.maxsize';
const MAX_CELL_SIZE_DEFAULT = 10_485_760;

function maxCellSize({ attributes, configuration }: TableSchema): number {
  const text = attributes[MAX_CELL_SIZE] ?? configuration[MAX_CELL_SIZE];
  const size = text === undefined ? MAX_CELL_SIZE_DEFAULT : Number(text);
  if (!Number.isSafeInteger(size)) return MAX_CELL_SIZE_DEFAULT;
  return size <= 0 ? Infinity : size;
}
