/** hbase:meta as a table: its rows, their order, and how they follow the catalog (protocol/bootstrap.md section 5). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { END, WAIT } from '../../src/cell/index.ts';
import { open } from '../../src/embedded/index.ts';
import type { StoreConnection } from '../../src/embedded/index.ts';
import { normalizeScan } from '../../src/model/index.ts';
import type { ScanOptions } from '../../src/model/index.ts';
import { CellBatch } from '../../src/region/index.ts';
import { Cluster, compareMetaRows } from '../../src/server/meta/index.ts';
import { ServerPlace } from '../../src/server/place.ts';
import type { RpcPeer, SystemRegion } from '../../src/server/rpc/service.ts';

let connection: StoreConnection;
let cluster: Cluster;
let place: ServerPlace;

beforeAll(async () => {
  connection = await open();
  place = new ServerPlace({ startCode: 1700, clusterId: 'id', advertised: null });
  place.rpcPort = 16020;
  cluster = await Cluster.start(connection.server, place);
});

afterAll(async () => {
  await cluster.close();
  await connection.close();
});

function peerAt(localAddress: string): RpcPeer {
  return {
    localAddress,
    localPort: 1,
    remoteAddress: '',
    remotePort: 0,
    user: '',
    clientVersion: '',
    cellBlocks: true,
    cellBlocksForGets: true,
    cellTags: false,
  };
}

interface Row {
  readonly row: string;
  readonly cells: Readonly<Record<string, Buffer>>;
}

async function scan(options: ScanOptions, at = '10.0.0.1', index = 0): Promise<Row[]> {
  const system: SystemRegion = cluster.systemRegions[index]!;
  const scanner = system.open(normalizeScan(options), peerAt(at));
  const batch = new CellBatch();
  for (;;) {
    const state = scanner.next(batch, { resultsMax: 1000, bytesMax: 1e9 });
    if (state === END) break;
    if (state === WAIT) await scanner.load();
  }
  scanner.close();
  return Array.from({ length: batch.size }, (_, i) => {
    const result = batch.result(i);
    const cells = result.cells.map((cell): [string, Buffer] => [
      `${Buffer.from(cell.family).toString()}:${Buffer.from(cell.qualifier).toString()}`,
      Buffer.from(cell.value),
    ]);
    return { row: Buffer.from(result.row).toString('latin1'), cells: Object.fromEntries(cells) };
  });
}

describe('rows', () => {
  test('a region row and a table row', async () => {
    await connection.admin.createTable({ name: 't', families: ['f'] });
    const [region] = await connection.regions('t');
    const [table, found] = await scan({ start: 't', stop: 't ,' });
    expect(table).toEqual({ row: 't', cells: { 'table:state': Buffer.from('0800', 'hex') } });
    expect(found!.row).toBe(Buffer.from(region!.name).toString('latin1'));
    const { cells } = found!;
    expect(Object.keys(cells)).toEqual([
      'info:regioninfo',
      'info:seqnumDuringOpen',
      'info:server',
      'info:serverstartcode',
      'info:sn',
      'info:state',
    ]);
    expect(cells['info:regioninfo']!.subarray(0, 5).toString('latin1')).toBe('PBUF\x08');
    expect(cells['info:server']!.toString()).toBe('10.0.0.1:16020');
    expect(cells['info:serverstartcode']).toEqual(Buffer.from('00000000000006a4', 'hex'));
    expect(cells['info:sn']!.toString()).toBe('10.0.0.1,16020,1700');
    expect(cells['info:state']!.toString()).toBe('OPEN');
  });

  test('each client reads the address at which it arrived, or what is advertised', async () => {
    const serverOf = async (at: string): Promise<string> =>
      (await scan({ prefix: 't,' }, at))[0]!.cells['info:server']!.toString();
    expect(await serverOf('::ffff:127.0.0.1')).toBe('127.0.0.1:16020');
    expect(await serverOf('10.0.0.1')).toBe('10.0.0.1:16020');
    place.advertised = { host: 'box', port: 9 };
    expect(await serverOf('10.0.0.1')).toBe('box:9');
    place.advertised = null;
    for (let i = 0; i < 40; i++) expect(await serverOf(`10.1.0.${i}`)).toBe(`10.1.0.${i}:16020`);
  });

  test('follow the catalog', async () => {
    const states = async (): Promise<string[]> =>
      (await scan({ prefix: 't,' })).map(({ cells }) => cells['info:state']!.toString());
    await connection.admin.split('t', 'm');
    expect(await states()).toEqual(['OPEN', 'OPEN']);
    await connection.admin.disableTable('t');
    expect(await states()).toEqual(['CLOSED', 'CLOSED']);
    await connection.admin.dropTable('t');
    expect(await states()).toEqual([]);
    expect(await scan({ start: 't', limit: 1 })).toEqual([]);
  });

  test('a change is seen by clients that read up to now, and its undoing, too', async () => {
    const state = async (): Promise<string | undefined> => {
      const timeRange = { min: 0, max: Date.now() };
      const [row] = await scan({ start: 's', stop: 's,', columns: ['table:state'], timeRange });
      return row?.cells['table:state']?.toString('hex');
    };
    const { admin } = connection;
    for (let round = 0; round < 3; round++) {
      await admin.createTable({ name: 's', families: ['f'] });
      expect(await state()).toBe('0800');
      await admin.disableTable('s');
      expect(await state()).toBe('0801');
      await admin.enableTable('s');
      expect(await state()).toBe('0800');
      await admin.disableTable('s');
      await admin.dropTable('s');
      expect(await state()).toBeUndefined();
    }
  });

  test('namespaces', async () => {
    await connection.admin.createNamespace('mine', { k: 'v' });
    const rows = await scan({}, '10.0.0.1', 1);
    expect(rows.map(({ row }) => row)).toEqual(['default', 'hbase', 'mine']);
    expect(rows[2]!.cells['info:d']!.toString('latin1')).toContain('mine');
    await connection.admin.dropNamespace('mine');
    expect(await scan({}, '10.0.0.1', 1)).toHaveLength(2);
  });

  test('a family that is none is refused at once', () => {
    const system = cluster.systemRegions[0]!;
    expect(() => system.open(normalizeScan({ families: ['x'] }), peerAt(''))).toThrow(/family x/);
  });
});

describe('order', () => {
  const inOrder = [
    't',
    't,,1',
    't,a,1',
    't,a,2',
    't,a\0,1',
    't,a!,1',
    't,a,b,1',
    't,b,1',
    't-1,,1',
  ];

  test('is by table, start key and id', () => {
    const rows = inOrder.map((row) => Buffer.from(row, 'latin1'));
    for (const [i, a] of rows.entries()) {
      for (const [j, b] of rows.entries()) {
        expect(Math.sign(compareMetaRows(a, b)), `${inOrder[i]} ${inOrder[j]}`).toBe(
          Math.sign(i - j),
        );
      }
    }
  });

  test('of start keys that are prefixes of others, in both directions', async () => {
    const splits = ['a', 'a\0', 'a\0\0', 'a!', 'a,', 'a,b', 'b'];
    await connection.admin.createTable({ name: 'o', families: ['f'], SPLITS: splits });
    const keys = (rows: readonly Row[]): string[] =>
      rows.map(({ row }) => row.slice(2, row.lastIndexOf(',')));
    const all = await scan({ start: 'o,,', stop: 'o ,' });
    expect(keys(all)).toEqual(['', ...splits]);
    const backwards = await scan({ reversed: true, start: 'o,zz,9999', stop: 'o,,' });
    expect(keys(backwards)).toEqual(['', ...splits].reverse());
  });

  test('so the region of any row is found as clients look for it', async () => {
    const splits = ['', 'a', 'a\0', 'a\0\0', 'a!', 'a,', 'a,b', 'b'];
    for (const row of [
      '',
      'A',
      'a',
      'a\0',
      'a\0\x01',
      'a ',
      'a!z',
      'a,',
      'a,a',
      'a,bb',
      'aa',
      'c',
    ]) {
      const [found] = await scan({
        families: ['info'],
        reversed: true,
        start: `o,${row},99999999999999`,
        stop: 'o,,',
        stopInclusive: true,
        limit: 1,
      });
      const want = splits.filter((key) => Buffer.compare(Buffer.from(key), Buffer.from(row)) <= 0);
      expect(found!.row.slice(2, found!.row.lastIndexOf(','))).toBe(want.at(-1));
    }
  });
});
