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
 */
import type { Manifest } from '../../manifest/index.ts';
import { regionName } from '../../manifest/index.ts';
import type { TableState } from '../../engine/index.ts';
import {
  encodeRegionInfo,
  encodeTableState,
  serverNameText,
  withMagic,
  type RegionInfo,
  type ServerName,
} from '../../wire/index.ts';

/** A row to put. */
export interface MetaRow {
  readonly row: Uint8Array;
  readonly values: Readonly<Record<string, Uint8Array>>;
}

/** The regions of a table as clients know them, in order. */
export function regionInfosOf(manifest: Manifest, table: TableState): RegionInfo[] {
  return table.regions.map(({ id, startKey, endKey }) => ({
    table: table.name,
    regionIdMs: manifest.get('region', id)?.regionIdMs ?? 0,
    startKey,
    endKey,
  }));
}

/** The rows of a table and its regions, all on this server. */
export function metaRowsOf(manifest: Manifest, table: TableState, server: ServerName): MetaRow[] {
  const hostAndPort = Buffer.from(`${server.host}:${server.port}`, 'utf8');
  const serverText = Buffer.from(serverNameText(server), 'utf8');
  const state = Buffer.from(table.enabled ? 'OPEN' : 'CLOSED', 'latin1');
  const regions = regionInfosOf(manifest, table).map((region): MetaRow => ({
    row: regionName(region),
    values: {
      'info:regioninfo': withMagic(encodeRegionInfo(region)),
      'info:server': hostAndPort,
      'info:serverstartcode': int64(server.startCode),
      'info:seqnumDuringOpen': int64(2),
      'info:sn': serverText,
      'info:state': state,
    },
  }));
  const own = { 'table:state': encodeTableState(table.enabled) };
  return [{ row: Buffer.from(table.name, 'utf8'), values: own }, ...regions];
}

function int64(value: number): Uint8Array {
  const buf = Buffer.alloc(8);
  buf.writeBigInt64BE(BigInt(value));
  return buf;
}
