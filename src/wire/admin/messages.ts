/**
 * The messages that many others contain (protocol/messages/HBase.md), each with its fields:
 *
 *     TableName             1 namespace, 2 qualifier (bytes)
 *     ServerName            1 host_name, 2 port, 3 start_code
 *     RegionInfo            1 region_id, 2 table_name, 3 start_key, 4 end_key, 5 offline, 6 split, 7 replica_id
 *     RegionSpecifier       1 type (1 name, 2 encoded name), 2 value
 *     BytesBytesPair        1 first, 2 second
 *     NameStringPair        1 name, 2 value
 *     ColumnFamilySchema    1 name, 2 attributes (BytesBytesPair), 3 configuration (NameStringPair)
 *     TableSchema           1 table_name, 2 attributes, 3 column_families, 4 configuration
 *     NamespaceDescriptor   1 name, 2 configuration
 *     TableState            1 state
 * Bytes that stand for text are UTF-8.
 */
import {
  DoNotRetryIOException,
  canonicalTableName,
  parseTableName,
  type FamilySchema,
  type TableSchema,
} from '../../model/index.ts';
import { MessageWriter } from './fields.ts';
import type { Fields } from './fields.ts';

/** Where a server listens, and since when (Unix milliseconds). */
export interface ServerName {
  readonly host: string;
  readonly port: number;
  readonly startCode: number;
}

/** HBase's text of a server name. */
export function serverNameText({ host, port, startCode }: ServerName): string {
  return `${host},${port},${startCode}`;
}

export function encodeServerName({ host, port, startCode }: ServerName): Uint8Array {
  return new MessageWriter().text(1, host).int(2, port).int(3, startCode).finish();
}

export function decodeServerName(message: Fields): ServerName {
  return { host: message.text(1) ?? '', port: message.int(2, 0), startCode: message.int(3, 0) };
}

/** From the name as users write it. */
export function encodeTableName(name: string): Uint8Array {
  const { namespace, qualifier } = parseTableName(name);
  return new MessageWriter().text(1, namespace).text(2, qualifier).finish();
}

/** The name as users write it, without namespace `default`. Throws IllegalArgumentException for an illegal one. */
export function decodeTableName(message: Fields | null): string {
  if (message === null) {
    throw new DoNotRetryIOException('Message missing required fields: table_name');
  }
  return canonicalTableName(`${message.text(1) ?? ''}:${message.text(2) ?? ''}`);
}

/** A region as clients know it. */
export interface RegionInfo {
  readonly table: string;
  readonly regionIdMs: number;
  readonly startKey: Uint8Array;
  readonly endKey: Uint8Array;
  /** Of a parent that was split: it serves nothing. */
  readonly split?: boolean;
}

export function encodeRegionInfo(region: RegionInfo): Uint8Array {
  const split = region.split === true;
  return new MessageWriter()
    .int(1, region.regionIdMs)
    .bytes(2, encodeTableName(region.table))
    .bytes(3, region.startKey)
    .bytes(4, region.endKey)
    .bool(5, split)
    .bool(6, split)
    .int(7, 0)
    .finish();
}

export function decodeRegionInfo(message: Fields | null): RegionInfo {
  if (message === null) {
    throw new DoNotRetryIOException('Message missing required fields: region_info');
  }
  return {
    table: decodeTableName(message.message(2)),
    regionIdMs: message.int(1, 0),
    startKey: message.bytes(3) ?? new Uint8Array(0),
    endKey: message.bytes(4) ?? new Uint8Array(0),
    split: message.bool(6, false),
  };
}

export function encodeRegionSpecifier(name: Uint8Array): Uint8Array {
  return new MessageWriter().int(1, 1).bytes(2, name).finish();
}

/** The region's full or encoded name. */
export function decodeRegionSpecifier(message: Fields | null): Uint8Array {
  const value = message?.bytes(2) ?? null;
  if (value === null) {
    throw new DoNotRetryIOException('Message missing required fields: region');
  }
  return value;
}

type Texts = Readonly<Record<string, string>>;

/** As BytesBytesPair and as NameStringPair: their bytes are the same. */
function writePairs(message: MessageWriter, number: number, texts: Texts): void {
  for (const [name, value] of Object.entries(texts)) {
    message.bytes(number, new MessageWriter().text(1, name).text(2, value).finish());
  }
}

function readPairs(messages: readonly Fields[]): Texts {
  return Object.fromEntries(messages.map((pair) => [pair.text(1) ?? '', pair.text(2) ?? '']));
}

export function encodeFamily(family: FamilySchema): Uint8Array {
  const message = new MessageWriter().text(1, family.name);
  writePairs(message, 2, family.attributes);
  writePairs(message, 3, family.configuration);
  return message.finish();
}

export function decodeFamily(message: Fields): FamilySchema {
  return {
    name: message.text(1) ?? '',
    attributes: readPairs(message.messages(2)),
    configuration: readPairs(message.messages(3)),
  };
}

export function encodeTable(table: TableSchema): Uint8Array {
  const message = new MessageWriter().bytes(1, encodeTableName(table.name));
  writePairs(message, 2, table.attributes);
  message.allBytes(3, table.families.map(encodeFamily));
  writePairs(message, 4, table.configuration);
  return message.finish();
}

/** Families come in byte order of their names. Nothing is checked but the table's name. */
export function decodeTable(message: Fields | null): TableSchema {
  if (message === null) {
    throw new DoNotRetryIOException('Message missing required fields: table_schema');
  }
  const families = message.messages(3).map(decodeFamily);
  return {
    name: decodeTableName(message.message(1)),
    attributes: readPairs(message.messages(2)),
    configuration: readPairs(message.messages(4)),
    families: families.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)),
  };
}

export interface Namespace {
  readonly name: string;
  readonly configuration: Texts;
}

export function encodeNamespace({ name, configuration }: Namespace): Uint8Array {
  const message = new MessageWriter().text(1, name);
  writePairs(message, 2, configuration);
  return message.finish();
}

export function decodeNamespace(message: Fields | null): Namespace {
  if (message === null) {
    throw new DoNotRetryIOException('Message missing required fields: namespaceDescriptor');
  }
  return { name: message.text(1) ?? '', configuration: readPairs(message.messages(2)) };
}

/** What a table's state is called on the wire; the numbers never change. */
export const TABLE_ENABLED = 0;
export const TABLE_DISABLED = 1;

export function encodeTableState(enabled: boolean): Uint8Array {
  return new MessageWriter().int(1, enabled ? TABLE_ENABLED : TABLE_DISABLED).finish();
}

const MAGIC: Uint8Array = Buffer.from('PBUF', 'latin1');

/** A message as it stands in hbase:meta, behind HBase's four bytes. */
export function withMagic(message: Uint8Array): Uint8Array {
  return Buffer.concat([MAGIC, message]);
}
