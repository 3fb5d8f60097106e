/** HbckService and LockService over a socket, and locks on a clock that is stepped. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StoreConnection } from '../../src/embedded/index.ts';
import { simEnv } from '../../src/io/index.ts';
import { LOCK_TIMEOUT_MS, Locks } from '../../src/server/master/locks.ts';
import { startServer } from '../../src/server/index.ts';
import type { RunningServer } from '../../src/server/index.ts';
import {
  Fields,
  MessageWriter,
  encodeServerName,
  encodeTableName,
  encodeTableState,
} from '../../src/wire/index.ts';
import { RemoteError, RpcTestClient } from './rpc_client.ts';

let server: RunningServer;
let hbck: RpcTestClient;
let region: string;

beforeAll(async () => {
  server = await startServer({ port: 0 });
  await server.connection.admin.createTable({ name: 't', families: ['f'] });
  region = (await server.connection.regions('t'))[0]!.encodedName;
  hbck = await RpcTestClient.connect(server.addresses.rpc!, 'HbckService');
});

afterAll(async () => {
  hbck.close();
  await server.close();
});

const message = (): MessageWriter => new MessageWriter();
/** A RegionSpecifier by encoded name. */
const specifier = (name: string): Uint8Array => message().int(1, 2).text(2, name).finish();
const regions = (names: readonly string[], override = false): Uint8Array =>
  message().allBytes(1, names.map(specifier)).bool(2, override).finish();

async function failure(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(RemoteError);
  return (error as RemoteError).className.replace('org.apache.hadoop.hbase.', '');
}

const isEnabled = (): boolean =>
  (server.connection as StoreConnection).server.catalog.find('t')!.enabled;

describe('HbckService', () => {
  const setState = async (enabled: boolean): Promise<number> => {
    const request = message()
      .bytes(1, encodeTableName('t'))
      .bytes(2, encodeTableState(enabled))
      .finish();
    return (await hbck.call('SetTableStateInMeta', request)).message(1)!.int(1, -1);
  };

  test("a table's state is set, and the one before is told", async () => {
    expect(await setState(false)).toBe(0);
    expect(isEnabled()).toBe(false);
    expect(await setState(false)).toBe(1);
    expect(await setState(true)).toBe(1);
    expect(isEnabled()).toBe(true);
    const enabling = message()
      .bytes(1, encodeTableName('t'))
      .bytes(2, message().int(1, 3).finish())
      .finish();
    expect(await failure(hbck.call('SetTableStateInMeta', enabling))).toBe('DoNotRetryIOException');
    const unknown = message()
      .bytes(1, encodeTableName('none'))
      .bytes(2, encodeTableState(true))
      .finish();
    expect(await failure(hbck.call('SetTableStateInMeta', unknown))).toBe('TableNotFoundException');
  });

  test('a region is open with its table, and is not made otherwise', async () => {
    const request = (state: number): Uint8Array =>
      message()
        .bytes(1, message().bytes(1, specifier(region)).int(2, state).finish())
        .finish();
    const answer = await hbck.call('SetRegionStateInMeta', request(3));
    expect(answer.messages(1).map((one) => [one.message(1)!.text(2), one.int(2, -1)])).toEqual([
      [region, 3],
    ]);
    expect(await failure(hbck.call('SetRegionStateInMeta', request(9)))).toBe(
      'DoNotRetryIOException',
    );
  });

  test('assigning and unassigning: a finished procedure, or none', async () => {
    const none = 'f'.repeat(32);
    const assigned = await hbck.call('Assigns', regions([region, none]));
    expect(assigned.ints(1)).toEqual([-1, -1]);
    const overridden = (await hbck.call('Assigns', regions([region, none], true))).ints(1);
    const unassigned = (await hbck.call('Unassigns', regions([region]))).ints(1);
    expect(overridden[1]).toBe(-1);
    const master = await RpcTestClient.connect(server.addresses.rpc!, 'MasterService');
    for (const id of [overridden[0]!, unassigned[0]!]) {
      const result = await master.call('getProcedureResult', message().int(1, id).finish());
      expect(result.int(1, -1)).toBe(2);
    }
    master.close();
    expect(isEnabled()).toBe(true);
  });

  test('what a single server has not: nothing was begun, nothing is wrong', async () => {
    const name = encodeServerName({ host: 'gone', port: 1, startCode: 2 });
    const scheduled = await hbck.call(
      'ScheduleServerCrashProcedure',
      message().allBytes(1, [name, name]).finish(),
    );
    expect(scheduled.ints(1)).toEqual([-1, -1]);
    expect((await hbck.call('ScheduleSCPsForUnknownServers')).ints(1)).toEqual([]);
    expect((await hbck.call('RunHbckChore')).bool(1, false)).toBe(true);
    await hbck.call('FixMeta');
    const bypass = message().int(1, 7).int(1, 8).int(2, 100).finish();
    expect((await hbck.call('BypassProcedure', bypass)).ints(1)).toEqual([0, 0]);
  });
});

describe('LockService', () => {
  test('over a socket: a lock, one that waits for it, and what is listed', async () => {
    const locks = await RpcTestClient.connect(server.addresses.rpc!, 'LockService');
    const master = await RpcTestClient.connect(server.addresses.rpc!, 'MasterService');
    const request = (type: number, nonce: number): Uint8Array =>
      message().int(1, type).bytes(3, encodeTableName('t')).text(5, 'why').int(7, nonce).finish();
    const ask = async (type: number, nonce: number): Promise<number> =>
      (await locks.call('RequestLock', request(type, nonce))).int(1, -1);
    const beat = async (id: number, keep = true): Promise<number[]> => {
      const answer = await locks.call('LockHeartbeat', message().int(1, id).bool(2, keep).finish());
      return [answer.int(1, -1), answer.int(2, -1)];
    };
    const first = await ask(1, 11);
    const second = await ask(2, 12);
    expect(await ask(1, 11)).toBe(first);
    expect(await beat(first)).toEqual([2, LOCK_TIMEOUT_MS]);
    expect(await beat(second)).toEqual([1, -1]);
    const listed = (await master.call('GetLocks')).messages(1);
    expect(
      listed.map((one) => [one.int(1, 0), one.text(2), one.int(3, 0), one.messages(6).length]),
    ).toEqual([
      [2, 'default', 2, 1],
      [3, 't', 1, 1],
    ]);
    expect(listed[1]!.message(4)!.int(3, -1)).toBe(first);
    expect(await beat(first, false)).toEqual([1, -1]);
    expect(await beat(second)).toEqual([2, LOCK_TIMEOUT_MS]);
    expect(await beat(9999)).toEqual([1, -1]);
    expect(await beat(second, false)).toEqual([1, -1]);
    expect((await master.call('GetLocks')).messages(1)).toEqual([]);
    expect(await failure(locks.call('RequestLock', message().int(1, 1).finish()))).toBe(
      'DoNotRetryIOException',
    );
    locks.close();
    master.close();
  });

  const claim = (name: string, isExclusive: boolean) => ({ type: 3, name, isExclusive });
  function make() {
    const env = simEnv({ seed: 1 });
    let lastId = 0;
    return { env, locks: new Locks(env, { takeId: () => ++lastId }) };
  }

  test('shared ones are held together; who waits is not overtaken', () => {
    const { locks } = make();
    const [a, b] = [1, 2].map(() => locks.request([claim('t', false)], 'me', null));
    const alone = locks.request([claim('t', true)], 'me', null);
    const late = locks.request([claim('t', false)], 'me', null);
    const other = locks.request([claim('u', true)], 'me', null);
    const held = (): boolean[] =>
      [a!, b!, alone, late, other].map((id) => locks.heartbeat(id, true));
    expect(held()).toEqual([true, true, false, false, true]);
    locks.heartbeat(a!, false);
    expect(held()).toEqual([false, true, false, false, true]);
    locks.heartbeat(b!, false);
    expect(held()).toEqual([false, false, true, false, true]);
    locks.heartbeat(alone, false);
    expect(held()).toEqual([false, false, false, true, true]);
  });

  test('locks of more things than are kept are refused; those that were given stay', () => {
    const { locks } = make();
    const things = Array.from({ length: 99_999 }, (_, i) => claim(`t${i}`, true));
    const first = locks.request(things, 'me', null);
    expect(() => locks.request([claim('a', true), claim('b', true)], 'me', null)).toThrow(
      'more than 100000 things',
    );
    expect(locks.heartbeat(first, true)).toBe(true);
    locks.heartbeat(first, false);
    const both = locks.request([claim('a', true), claim('b', true)], 'me', null);
    expect(locks.heartbeat(both, true)).toBe(true);
  });

  test('who is silent for too long loses it', async () => {
    const { env, locks } = make();
    const first = locks.request([claim('t', true)], 'me', null);
    const second = locks.request([claim('t', true)], 'me', null);
    await env.drive(env.timers.sleep(LOCK_TIMEOUT_MS));
    expect([first, second].map((id) => locks.heartbeat(id, true))).toEqual([true, false]);
    await env.drive(env.timers.sleep(LOCK_TIMEOUT_MS - 1));
    expect(locks.heartbeat(second, true)).toBe(false);
    await env.drive(env.timers.sleep(2));
    expect(locks.heartbeat(second, true)).toBe(true);
    expect(locks.heartbeat(first, true)).toBe(false);
    expect(locks.resources().map((bytes) => new Fields(bytes).text(2))).toEqual(['t']);
  });
});
