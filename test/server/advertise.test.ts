/** What clients are told can be set while the server runs, over HTTP. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { advertiseAt, parseHostPort, startServer } from '../../src/server/index.ts';
import type { RunningServer } from '../../src/server/index.ts';
import { decodeServerName } from '../../src/wire/index.ts';
import { RpcTestClient } from './rpc_client.ts';

let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ port: 0, advertise: { host: 'first.example', port: 1 } });
});
afterAll(() => server.close());

async function told(): Promise<string> {
  const registry = await RpcTestClient.connect(server.addresses.rpc!, 'ClientMetaService');
  const { host, port } = decodeServerName((await registry.call('GetActiveMaster')).message(1)!);
  registry.close();
  return `${host}:${port}`;
}

test('at the start, later, and no more', async () => {
  const http = server.addresses.http!;
  expect(await told()).toBe('first.example:1');
  await advertiseAt(http, 'localhost:32768');
  expect(await told()).toBe('localhost:32768');
  expect(await (await fetch(`${http}/advertise`)).json()).toEqual({ address: 'localhost:32768' });
  await advertiseAt(http, null);
  expect(await told()).toBe(server.addresses.rpc);
});

test('what is no address is refused, here and there', async () => {
  await expect(advertiseAt(server.addresses.http!, 'localhost')).rejects.toThrow(/host:port/);
  const response = await fetch(`${server.addresses.http}/advertise`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ address: 'no port' }),
  });
  expect(response.status).toBe(400);
});

test.each([
  { text: 'localhost:1', want: { host: 'localhost', port: 1 } },
  { text: '[::1]:16020', want: { host: '::1', port: 16020 } },
  { text: 'a.b-c:65535', want: { host: 'a.b-c', port: 65535 } },
  { text: 'a:65536', want: null },
  { text: 'a:0', want: null },
  { text: ':1', want: null },
  { text: 'a', want: null },
  { text: 'a b:1', want: null },
])('$text', ({ text, want }) => {
  expect(parseHostPort(text)).toEqual(want);
});
