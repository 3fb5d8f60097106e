import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { realEnv } from '../../src/io/index.ts';
import { BindException, startServer } from '../../src/server/index.ts';
import type { RunningServer, ServerOptions } from '../../src/server/index.ts';
import { FakeConnection, STATUS } from './fake_connection.ts';

const running: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()));
});

async function start(
  connection: FakeConnection,
  http: ServerOptions['http'] = {},
): Promise<RunningServer> {
  const server = await startServer({ connection, env: realEnv(), http: { port: 0, ...http } });
  running.push(server);
  return server;
}

test('health and metrics tell what the store tells', async () => {
  const connection = new FakeConnection();
  const { addresses } = await start(connection);
  const health = await fetch(`${addresses.http}/health`);
  expect(health.status).toBe(200);
  expect(await health.json()).toEqual({
    status: 'ok',
    reason: null,
    data: STATUS.data,
    durability: 'FSYNC_WAL',
    tables: 2,
    readPoint: '468412345614336017',
  });
  const metrics = await fetch(`${addresses.http}/metrics`);
  expect(metrics.headers.get('content-type')).toContain('text/plain; version=0.0.4');
  const text = await metrics.text();
  expect(text).toContain('cellar_memstore_cells 41\n');
  expect(text).toMatch(/^process_resident_memory_bytes [1-9]\d*$/m);
});

test('a store that takes no writes any more is not healthy, and says why', async () => {
  const connection = new FakeConnection();
  connection.figures = { ...STATUS, fatal: 'sync of the log failed' };
  const { addresses } = await start(connection);
  const health = await fetch(`${addresses.http}/health`);
  expect(health.status).toBe(503);
  expect(await health.json()).toMatchObject({
    status: 'read-only',
    reason: 'sync of the log failed',
  });
});

test('several servers in one process; each announces its address and takes it back', async () => {
  const first = new FakeConnection();
  const second = new FakeConnection();
  const [one, two] = [await start(first), await start(second)];
  expect(one.addresses.http).not.toBe(two.addresses.http);
  await one.close();
  await one.close();
  expect(first.announced).toEqual([one.addresses.http, null]);
  expect(first.closed).toBe(false);
  expect(second.announced).toEqual([two.addresses.http]);
  await expect(fetch(`${one.addresses.http}/health`)).rejects.toThrow();
  expect((await fetch(`${two.addresses.http}/health`)).status).toBe(200);
});

test('a port in use is named', async () => {
  const { addresses } = await start(new FakeConnection());
  const port = Number(new URL(addresses.http ?? '').port);
  const second = start(new FakeConnection(), { port });
  await expect(second).rejects.toThrow(BindException);
  await expect(second).rejects.toThrow(`port ${port} on 127.0.0.1 is in use`);
  await expect(second).rejects.toMatchObject({ host: '127.0.0.1', port });
});

test('an address of another machine is refused by name', async () => {
  // 192.0.2.0/24 is for documentation: no machine has it.
  await expect(start(new FakeConnection(), { host: '192.0.2.1' })).rejects.toThrow(
    '192.0.2.1 is no address of this machine',
  );
});

test('what is not there, too large or no HTTP is answered as such', async () => {
  const { addresses } = await start(new FakeConnection(), { limits: { bodyBytesMax: 10 } });
  const absent = await fetch(`${addresses.http}/nothing`);
  expect(absent.status).toBe(404);
  expect(await absent.json()).toMatchObject({ error: 'NotFound' });
  expect((await fetch(`${addresses.http}/health`, { method: 'POST' })).status).toBe(404);
  const large = await fetch(`${addresses.http}/health`, {
    method: 'POST',
    body: JSON.stringify('x'.repeat(100)),
    headers: { 'content-type': 'application/json' },
  });
  expect([404, 413]).toContain(large.status);
  expect(await rawAnswer(addresses.http ?? '', 'no http\r\n\r\n')).toMatch(/^HTTP\/1\.1 400/);
  const header = `GET /health HTTP/1.1\r\nhost: x\r\na: ${'b'.repeat(20_000)}\r\n\r\n`;
  expect(await rawAnswer(addresses.http ?? '', header)).toMatch(/^HTTP\/1\.1 431/);
});

test('an open idle connection does not hold up closing', async () => {
  const server = await start(new FakeConnection());
  const url = new URL(server.addresses.http ?? '');
  const socket = connect(Number(url.port), url.hostname);
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => undefined); // A reset is as good as an end here.
  await server.close();
  await ended;
});

function rawAnswer(address: string, text: string): Promise<string> {
  const url = new URL(address);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(url.port), url.hostname, () => socket.write(text));
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    socket.on('close', () => resolve(answer));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
  });
}
