/**
 * What stands in hbase:meta for the tables of a store (protocol/bootstrap.md section 5):
 *
 *     row <table>            table:state            TableState
 *     row <region name>      info:regioninfo        "PBUF" RegionInfo
 *                            info:server            host:port
 *                            info:serverstartcode   int64
 *                            info:seqnumDuringOpen  int64
 *                            info:sn                host,port,startcode
 *                            info:state             OPEN, or CLOSED for a disabled table
 * For the n-th replica of a region (REGION_REPLICATION) server, serverstartcode, seqnumDuringOpen, sn and state stand there
 * once more, with `_` and n as four hexadecimal digits behind. All of them are this server.
 */
import type { Manifest } from '../../manifest/index.ts';
import { regionName } from '../../manifest/index.ts';
import type { TableState } from '../../engine/index.ts';
import type { Region } from '../../region/index.ts';
import {
  encodeRegionInfo,
  encodeTableState,
  serverNameText,
  withMagic,
  type RegionInfo,
  type ServerName,
} from '../../wire/index.ts';

/** Says nothing here; clients want one. */
const OPEN_SEQUENCE_NUMBER = 2;
const REPLICAS_MAX = 100;

/** A row to put. */
export interface MetaRow {
  /** The row as text, a character a byte: tells rows apart. */
  readonly key: string;
  readonly row: Uint8Array;
  readonly values: Readonly<Record<string, Uint8Array>>;
}

/** The regions of a table as clients know them, in order. */
export function regionInfosOf(manifest: Manifest, table: TableState): RegionInfo[] {
  return table.regions.map((region) => regionInfoOf(manifest, table, region));
}

function regionInfoOf(manifest: Manifest, table: TableState, region: Region): RegionInfo {
  const { id, startKey, endKey } = region;
  const regionIdMs = manifest.get('region', id)?.regionIdMs ?? 0;
  return { table: table.name, regionIdMs, startKey, endKey };
}

/** The rows of a table: its own, and one for each of its regions. */
export interface TableRows {
  readonly own: MetaRow;
  readonly regions: ReadonlyMap<Region, MetaRow>;
}

/** The rows of a table whose regions are all on this server. Rows that there are already for a region are taken as they are. */
export function metaRowsOf(
  manifest: Manifest,
  table: TableState,
  server: ServerName,
  known: ReadonlyMap<Region, MetaRow>,
): TableRows {
  const hostAndPort = Buffer.from(`${server.host}:${server.port}`, 'utf8');
  const serverText = Buffer.from(serverNameText(server), 'utf8');
  const state = Buffer.from(table.enabled ? 'OPEN' : 'CLOSED', 'latin1');
  const place: Readonly<Record<string, Uint8Array>> = {
    'info:server': hostAndPort,
    'info:serverstartcode': int64(server.startCode),
    'info:seqnumDuringOpen': int64(OPEN_SEQUENCE_NUMBER),
    'info:sn': serverText,
    'info:state': state,
  };
  const replicas = Array.from({ length: replicaCountOf(table) - 1 }, (_, i) =>
    Object.entries(place).map(([column, value]) => [replicaColumn(column, i + 1), value] as const),
  );
  const places = { ...place, ...Object.fromEntries(replicas.flat()) };
  const made = (region: Region): MetaRow => {
    const info = regionInfoOf(manifest, table, region);
    const regioninfo = withMagic(encodeRegionInfo(info));
    return rowOf(regionName(info), { 'info:regioninfo': regioninfo, ...places });
  };
  const own = { 'table:state': encodeTableState(table.enabled) };
  return {
    own: rowOf(Buffer.from(table.name, 'utf8'), own),
    regions: new Map(table.regions.map((region) => [region, known.get(region) ?? made(region)])),
  };
}

function rowOf(row: Uint8Array, values: MetaRow['values']): MetaRow {
  return { key: Buffer.from(row).toString('latin1'), row, values };
}

function replicaCountOf({ schema }: TableState): number {
  const count = Number(schema.attributes['REGION_REPLICATION'] ?? 1);
  return Number.isSafeInteger(count) ? Math.min(Math.max(count, 1), REPLICAS_MAX) : 1;
}

const replicaColumn = (column: string, replica: number): string =>
  `${column}_${replica.toString(16).toUpperCase().padStart(4, '0')}`;

function int64(value: number): Uint8Array {
  const buf = Buffer.alloc(8);
  buf.writeBigInt64BE(BigInt(value));
  return buf;
}
