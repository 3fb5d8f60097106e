/** Calls whose client no longer waits when their turn comes are not run; those that run know how long they may. */
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SILENT } from '../../../src/engine/logger.ts';
import { realEnv } from '../../../src/io/index.ts';
import { RpcDoor } from '../../../src/server/rpc/door.ts';
import { RPC_LIMITS } from '../../../src/server/rpc/limits.ts';
import type { RpcCall, RpcMethod } from '../../../src/server/rpc/service.ts';
import { FrameClient, requestFrame, setUp } from './frame_client.ts';

const EMPTY = new Uint8Array(0);

let nowMs = 0;
let door: RpcDoor;
let listener: Server;
/** Methods that were run, and the deadline of each. */
const ran: [string, number][] = [];
let begun: () => void;
let finish: () => void;
const hasBegun = new Promise<void>((resolve) => (begun = resolve));
const mayFinish = new Promise<void>((resolve) => (finish = resolve));

function note(name: string): (call: RpcCall) => { message: Uint8Array } {
  return ({ deadlineMs }) => {
    ran.push([name, deadlineMs]);
    return { message: EMPTY };
  };
}

beforeAll(async () => {
  const hold = async ({ deadlineMs }: RpcCall): Promise<{ message: Uint8Array }> => {
    ran.push(['hold', deadlineMs]);
    begun();
    await mayFinish;
    return { message: EMPTY };
  };
  const methods = new Map<string, RpcMethod>([['hold', hold]]);
  for (const name of ['patient', 'hasty', 'instant', 'endless']) methods.set(name, note(name));
  const { timers, clock } = realEnv();
  door = new RpcDoor({
    services: [{ name: 'TestService', methods }],
    env: { timers, clock: { ...clock, monotonicMs: () => nowMs } },
    limits: { ...RPC_LIMITS, callsMax: 1 },
    clusterId: '',
    logger: SILENT,
  });
  listener = createServer((socket) => door.accept(socket));
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
});

afterAll(async () => {
  await door.close();
  listener.close();
});

test('a call past its deadline is dropped without an answer, the others are run', async () => {
  const { port } = listener.address() as AddressInfo;
  const client = await FrameClient.open(`127.0.0.1:${port}`);
  const call = (id: number, method: string, timeoutMs: number): Buffer =>
    requestFrame(id, method, EMPTY, undefined, timeoutMs);
  nowMs = 1000;
  client.socket.write(
    Buffer.concat([
      setUp({ service: 'TestService' }),
      call(1, 'hold', 500),
      call(2, 'hasty', 100),
      call(3, 'patient', 60_000),
      call(4, 'instant', 1),
      call(5, 'endless', 0),
    ]),
  );
  await hasBegun;
  nowMs = 1101; // The others have waited 101 ms behind the one call that runs at a time.
  const answers = [1, 3, 5].map((id) => client.answerTo(id));
  const hasty = client.answerTo(2);
  let isAnswered = false;
  hasty.then(
    () => (isAnswered = true),
    () => undefined,
  );
  finish();
  await Promise.all(answers);
  expect(ran).toEqual([
    ['hold', 1500],
    ['patient', 61_000],
    ['endless', Infinity],
  ]);
  expect(isAnswered).toBe(false);
  ran.length = 0;
  client.socket.write(call(6, 'instant', 1));
  await client.answerTo(6);
  expect(ran).toEqual([['instant', 1101 + 20]]); // As in HBase no client waits for less than 20 ms.
  client.close();
});
