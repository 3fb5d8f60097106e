/** Registry, MasterService and AdminService over a socket, with what HBase 2.6.3 answered (protocol/golden/wire). */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer } from '../../src/server/index.ts';
import type { RunningServer } from '../../src/server/index.ts';
import {
  Fields,
  MessageWriter,
  decodeNamespace,
  decodeRegionInfo,
  decodeServerName,
  decodeTable,
  decodeTableName,
  encodeNamespace,
  encodeRegionSpecifier,
  encodeTable,
  encodeTableName,
} from '../../src/wire/index.ts';
import { RemoteError, RpcTestClient } from './rpc_client.ts';

let server: RunningServer;
let master: RpcTestClient;
let admin: RpcTestClient;

beforeAll(async () => {
  server = await startServer({ port: 0 });
  master = await RpcTestClient.connect(server.addresses.rpc!, 'MasterService');
  admin = await RpcTestClient.connect(server.addresses.rpc!, 'AdminService');
});

afterAll(async () => {
  master.close();
  admin.close();
  await server.close();
});

const message = (): MessageWriter => new MessageWriter();
const tableRequest = (name: string): Uint8Array =>
  message().bytes(1, encodeTableName(name)).finish();

function createRequest(
  name: string,
  families: readonly string[],
  splits: readonly string[] = [],
): Uint8Array {
  const schema = {
    name,
    attributes: { IS_META: 'false', owner: 'me' },
    configuration: {},
    families: families.map((family) => ({
      name: family,
      attributes: { VERSIONS: '3', 'my.own': 'x' },
      configuration: { k: 'v' },
    })),
  };
  return message()
    .bytes(1, encodeTable(schema))
    .allBytes(
      2,
      splits.map((split) => Buffer.from(split)),
    )
    .finish();
}

/** What HBase says of every family. */
const ALWAYS_TOLD = {
  BLOCKCACHE: 'true',
  BLOCKSIZE: '65536',
  BLOOMFILTER: 'ROW',
  COMPRESSION: 'NONE',
  DATA_BLOCK_ENCODING: 'NONE',
  INDEX_BLOCK_ENCODING: 'NONE',
  IN_MEMORY: 'false',
  KEEP_DELETED_CELLS: 'FALSE',
  MIN_VERSIONS: '0',
  REPLICATION_SCOPE: '0',
  TTL: '2147483647',
  VERSIONS: '1',
};

async function failure(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(RemoteError);
  const { className, doNotRetry } = error as RemoteError;
  expect(doNotRetry).toBe(true);
  return className.replace('org.apache.hadoop.hbase.', '');
}

describe('registry', () => {
  test('tells who and where', async () => {
    const registry = await RpcTestClient.connect(server.addresses.rpc!, 'ClientMetaService');
    const id = (await registry.call('GetClusterId')).text(1);
    expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    const active = decodeServerName((await registry.call('GetActiveMaster')).message(1)!);
    expect(`${active.host}:${active.port}`).toBe(server.addresses.rpc);
    const location = (await registry.call('GetMetaRegionLocations')).message(1)!;
    expect(decodeRegionInfo(location.message(1))).toEqual({
      table: 'hbase:meta',
      regionIdMs: 1,
      startKey: Buffer.alloc(0),
      endKey: Buffer.alloc(0),
      split: false,
    });
    expect(decodeServerName(location.message(2)!)).toEqual(active);
    expect(location.int(3, 0)).toBe(-1);
    registry.close();
  });

  test('what is advertised is told instead', async () => {
    const registry = await RpcTestClient.connect(server.addresses.rpc!, 'ClientMetaService');
    server.advertise({ host: 'box.example', port: 7 });
    const { host, port } = decodeServerName((await registry.call('GetActiveMaster')).message(1)!);
    server.advertise(null);
    expect({ host, port }).toEqual({ host: 'box.example', port: 7 });
    registry.close();
  });
});

describe('tables', () => {
  test('are created with everything that was said of them', async () => {
    const answer = await master.call('CreateTable', createRequest('t1', ['g', 'f'], ['m']));
    expect(answer.int(1, 0)).toBeGreaterThan(0);
    expect(await server.connection.regions('t1')).toHaveLength(2);
  });

  test('descriptors come back as they were given', async () => {
    const [schema] = (await master.call('GetTableDescriptors', tableRequest('t1')))
      .messages(1)
      .map((table) => decodeTable(table));
    expect(schema).toEqual({
      name: 't1',
      attributes: {
        IS_META: 'false',
        owner: 'me',
        'hbase.store.file-tracker.impl': 'DEFAULT',
      },
      configuration: {},
      families: ['f', 'g'].map((name) => ({
        name,
        attributes: { ...ALWAYS_TOLD, VERSIONS: '3', 'my.own': 'x' },
        configuration: { k: 'v' },
      })),
    });
    const none = await master.call('GetTableDescriptors', tableRequest('missing'));
    expect(none.messages(1)).toEqual([]);
  });

  test('names by pattern, with and without the system tables', async () => {
    const named = async (regex: string, system: boolean): Promise<string[]> =>
      (await master.call('GetTableNames', message().text(1, regex).bool(2, system).finish()))
        .messages(1)
        .map((name) => decodeTableName(name));
    expect(await named('t.*', false)).toEqual(['t1']);
    expect(await named('default:t1', false)).toEqual(['t1']);
    expect(await named('.*', true)).toEqual(['t1', 'hbase:meta', 'hbase:namespace']);
  });

  test('a modified table loses what the new descriptor does not say', async () => {
    const schema = {
      name: 't1',
      attributes: { READONLY: 'true' },
      configuration: {},
      families: [{ name: 'f', attributes: { VERSIONS: '1' }, configuration: {} }],
    };
    const request = message().bytes(1, encodeTableName('t1')).bytes(2, encodeTable(schema));
    await master.call('ModifyTable', request.finish());
    const [after] = (await master.call('GetTableDescriptors', tableRequest('t1'))).messages(1);
    expect(decodeTable(after!)).toEqual({
      ...schema,
      families: [{ ...schema.families[0], attributes: ALWAYS_TOLD }],
      attributes: { READONLY: 'true', 'hbase.store.file-tracker.impl': 'DEFAULT' },
    });
    const status = await master.call('GetSchemaAlterStatus', tableRequest('t1'));
    expect([status.int(1, -1), status.int(2, -1)]).toEqual([0, 2]);
  });

  test('refusals have the classes of HBase', async () => {
    const call = (method: string, name: string) => failure(master.call(method, tableRequest(name)));
    expect(await failure(master.call('CreateTable', createRequest('t1', ['f'])))).toBe(
      'TableExistsException',
    );
    expect(await failure(master.call('CreateTable', createRequest('t2', [])))).toBe(
      'DoNotRetryIOException',
    );
    expect(await failure(master.call('CreateTable', createRequest('no:t', ['f'])))).toBe(
      'NamespaceNotFoundException',
    );
    const enabled = (await master.call('EnableTable', tableRequest('t1'))).int(1, 0);
    const result = await master.call('getProcedureResult', message().int(1, enabled).finish());
    expect(result.message(5)!.message(2)!.text(1)).toMatch(/TableNotDisabledException$/);
    expect(await call('DeleteTable', 't1')).toBe('TableNotDisabledException');
    expect(await call('truncateTable', 't1')).toBe('TableNotDisabledException');
    expect(await call('DisableTable', 'missing')).toBe('TableNotFoundException');
    expect(await call('GetTableState', 'missing')).toBe('TableNotFoundException');
    expect(await call('DisableTable', 'hbase:meta')).toBe('constraint.ConstraintException');
    const column = message().bytes(1, encodeTableName('t1')).text(2, 'zz').finish();
    expect(await failure(master.call('DeleteColumn', column))).toBe(
      'InvalidFamilyOperationException',
    );
  });

  test('a repeated request gets the number of the first, and its procedure is finished', async () => {
    const request = message().bytes(1, encodeTableName('t1')).int(2, 5).int(3, 9).finish();
    const first = (await master.call('DisableTable', request)).int(1, 0);
    expect((await master.call('DisableTable', request)).int(1, 0)).toBe(first);
    const result = await master.call('getProcedureResult', message().int(1, first).finish());
    expect(result.int(1, -1)).toBe(2);
    const unknown = await master.call('getProcedureResult', message().int(1, 999_999).finish());
    expect(unknown.int(1, -1)).toBe(0);
  });

  test('truncate keeps the splits if asked to, and enables', async () => {
    const truncate = (keep: boolean) =>
      master.call(
        'truncateTable',
        message().bytes(1, encodeTableName('t1')).bool(2, keep).finish(),
      );
    await truncate(true);
    expect(await server.connection.regions('t1')).toHaveLength(2);
    await master.call('DisableTable', tableRequest('t1'));
    await truncate(false);
    expect(await server.connection.regions('t1')).toHaveLength(1);
    expect(await server.connection.admin.isEnabled('t1')).toBe(true);
  });
});

describe('namespaces', () => {
  test('from creation to removal', async () => {
    const descriptor = (configuration: Record<string, string>): Uint8Array =>
      message()
        .bytes(1, encodeNamespace({ name: 'ns', configuration }))
        .finish();
    const get = async () =>
      decodeNamespace(
        (await master.call('GetNamespaceDescriptor', message().text(1, 'ns').finish())).message(1),
      );
    await master.call('CreateNamespace', descriptor({ k: 'v' }));
    expect(await get()).toEqual({ name: 'ns', configuration: { k: 'v' } });
    await master.call('ModifyNamespace', descriptor({ other: 'w' }));
    expect(await get()).toEqual({ name: 'ns', configuration: { other: 'w' } });
    expect(await failure(master.call('CreateNamespace', descriptor({})))).toBe(
      'NamespaceExistException',
    );
    await master.call('CreateTable', createRequest('ns:t', ['f']));
    const drop = (name: string) => master.call('DeleteNamespace', message().text(1, name).finish());
    expect(await failure(drop('ns'))).toBe('constraint.ConstraintException');
    expect(await failure(drop('hbase'))).toBe('constraint.ConstraintException');
    await master.call('DisableTable', tableRequest('ns:t'));
    await master.call('DeleteTable', tableRequest('ns:t'));
    await drop('ns');
    expect(await failure(get())).toBe('NamespaceNotFoundException');
    const names = (await master.call('ListNamespaceDescriptors')).messages(1);
    expect(names.map((name) => decodeNamespace(name).name)).toEqual(['default', 'hbase']);
  });
});

describe('regions', () => {
  test('a truncated region is empty, its neighbour is not', async () => {
    await master.call('CreateTable', createRequest('t3', ['f'], ['m']));
    const table = server.connection.table('t3');
    for (const row of ['a', 'b', 'm', 'z']) await table.put(row, { 'f:q': row });
    const [region] = await server.connection.regions('t3');
    const info = await admin.call(
      'GetRegionInfo',
      message().bytes(1, encodeRegionSpecifier(region!.name)).bool(2, true).finish(),
    );
    expect(info.int(2, -1)).toBe(0);
    await master.call('TruncateRegion', message().bytes(1, info.required(1, 'region')).finish());
    const rows: string[] = [];
    for await (const result of table.scan()) rows.push(Buffer.from(result.row).toString());
    expect(rows).toEqual(['m', 'z']);
    await table.put('b', { 'f:q': 'again' });
    expect(await table.count()).toBe(3);
  });

  test('split and merge', async () => {
    const infos = async (): Promise<Uint8Array[]> =>
      (await admin.call('GetOnlineRegion'))
        .allBytes(1)
        .filter((info) => decodeRegionInfo(new Fields(info)).table === 't3');
    const [first] = await infos();
    const split = message().bytes(1, first).text(2, 'f').finish();
    await master.call('SplitRegion', split);
    const keys = (await infos()).map((info) =>
      Buffer.from(decodeRegionInfo(new Fields(info)).startKey).toString(),
    );
    expect(keys).toEqual(['', 'f', 'm']);
    expect(await failure(master.call('SplitRegion', split))).toBe('UnknownRegionException');
    const names = (await server.connection.regions('t3')).map(({ encodedName }) => encodedName);
    const merge = message().allBytes(
      1,
      names.map((name) => message().int(1, 2).text(2, name).finish()),
    );
    await master.call('MergeTableRegions', merge.finish());
    expect(await infos()).toHaveLength(1);
  });

  test('one that is not there is not served', async () => {
    const request = message()
      .bytes(1, encodeRegionSpecifier(Buffer.from('t3,,1.x.')))
      .finish();
    const error = await admin.call('GetRegionInfo', request).catch((thrown: unknown) => thrown);
    expect((error as RemoteError).className).toMatch(/NotServingRegionException$/);
    expect((error as RemoteError).doNotRetry).toBe(false);
  });
});

describe('snapshots', () => {
  test('taken, listed, cloned, restored, deleted', async () => {
    const table = server.connection.table('t3');
    const snapshot = (target: string): Uint8Array =>
      message().bytes(1, message().text(1, 's').text(2, target).int(8, 0).finish()).finish();
    const before = await table.count();
    expect((await master.call('Snapshot', snapshot('t3'))).int(2, 0)).toBeGreaterThan(0);
    await table.put('new', { 'f:q': '1' });
    const [listed] = (await master.call('GetCompletedSnapshots')).messages(1);
    expect([listed!.text(1), listed!.text(2)]).toEqual(['s', 't3']);
    await master.call('RestoreSnapshot', snapshot('t4'));
    expect(await server.connection.table('t4').count()).toBe(before);
    expect(await failure(master.call('RestoreSnapshot', snapshot('t3')))).toBe(
      'TableNotDisabledException',
    );
    await master.call('DisableTable', tableRequest('t3'));
    await master.call('RestoreSnapshot', snapshot('t3'));
    await master.call('EnableTable', tableRequest('t3'));
    expect(await table.count()).toBe(before);
    await master.call('DeleteSnapshot', snapshot('t3'));
    expect(await failure(master.call('DeleteSnapshot', snapshot('t3')))).toBe(
      'snapshot.SnapshotDoesNotExistException',
    );
    expect(await failure(master.call('Snapshot', snapshot('missing')))).toBe(
      'snapshot.SnapshotCreationException',
    );
  });
});

describe('the cluster', () => {
  test('status says what is asked for, or all', async () => {
    const all = (await master.call('GetClusterStatus')).message(1)!;
    expect(all.message(1)!.text(1)).toMatch(/^2\.6\./);
    expect(all.messages(2)).toHaveLength(1);
    const loads = all.message(2)!.message(2)!.messages(5);
    expect(loads.length).toBeGreaterThanOrEqual(3);
    const one = (await master.call('GetClusterStatus', message().int(1, 1).finish())).message(1)!;
    expect(one.has(5)).toBe(true);
    expect(one.has(2)).toBe(false);
  });

  test('switches answer what they were', async () => {
    const off = message().bool(1, false).finish();
    expect((await master.call('SetBalancerRunning', off)).bool(1, false)).toBe(true);
    expect((await master.call('SetBalancerRunning', off)).bool(1, true)).toBe(false);
    const both = message().bool(1, false).int(3, 0).int(3, 1).finish();
    expect((await master.call('SetSplitOrMergeEnabled', both)).ints(1)).toEqual([1, 1]);
    const merge = message().int(1, 1).finish();
    expect((await master.call('IsSplitOrMergeEnabled', merge)).bool(1, true)).toBe(false);
  });
});

describe('replicas', () => {
  test('are the region itself', async () => {
    await server.connection.admin.createTable({
      name: 'r',
      families: ['f'],
      REGION_REPLICATION: 2,
    });
    await server.connection.table('r').put('a', { 'f:q': '1' });
    const [region] = await server.connection.regions('r');
    const prefix = Buffer.from(region!.name).toString('latin1').split('.')[0]!;
    const replica = `${prefix}_0001`;
    const encoded = createHash('md5').update(Buffer.from(replica, 'latin1')).digest('hex');
    const client = await RpcTestClient.connect(server.addresses.rpc!, 'ClientService');
    const get = (name: string): Promise<Fields> =>
      client.call(
        'Get',
        message()
          .bytes(1, encodeRegionSpecifier(Buffer.from(name, 'latin1')))
          .bytes(2, message().text(1, 'a').finish())
          .finish(),
      );
    expect((await get(`${replica}.${encoded}.`)).message(1)!.messages(1)).toHaveLength(1);
    const unknown = get(`${prefix}9_0001.${'0'.repeat(32)}.`).catch((thrown: unknown) => thrown);
    expect(((await unknown) as RemoteError).className).toMatch(/NotServingRegionException$/);
    client.close();
  });
});
