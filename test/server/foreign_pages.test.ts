/** Pages that a browser has open on the server's machine. */
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startServer } from '../../src/server/index.ts';
import type { RunningServer } from '../../src/server/index.ts';

let server: RunningServer;
beforeAll(async () => (server = await startServer({ http: { port: 0 } })));
afterAll(() => server.close());

function ask(
  { addresses }: RunningServer,
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<number> {
  const { hostname, port } = new URL(addresses.http!);
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, method, path, headers }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode!));
    });
    asked.once('error', reject).end(method === 'GET' ? undefined : '{}');
  });
}

test.each([
  { what: 'another site', headers: { origin: 'http://evil.example' } },
  { what: 'a page of no origin', headers: { origin: 'null' } },
  { what: 'a page of another port', headers: { origin: 'http://127.0.0.1:1' } },
  { what: 'a name that leads here', headers: { host: 'evil.example' } },
  {
    what: 'a page of such a name',
    headers: { host: 'evil.example:16030', origin: 'http://evil.example:16030' },
  },
])('$what is refused', async ({ headers }) => {
  const sent = { 'content-type': 'text/plain', ...headers } as Record<string, string>;
  expect(await ask(server, 'POST', '/api/admin/tasks', sent)).toBe(403);
  expect(await ask(server, 'PUT', '/advertise', sent)).toBe(403);
  expect(await ask(server, 'GET', '/api/tso', sent)).toBe(403);
  expect(await ask(server, 'GET', '/health', sent)).toBe(200);
});

test.each([
  {},
  { host: 'localhost:16030' },
  { host: '[::1]:16030' },
  { host: '10.0.0.7' },
  { host: 'localhost:16030', origin: 'http://localhost:16030' },
])('by %j it is answered', async (headers: Record<string, string>) => {
  expect(await ask(server, 'GET', '/advertise', headers)).toBe(200);
});

test('so it is by the name that is advertised, and where users are known', async () => {
  const named = await startServer({
    http: { port: 0 },
    advertise: { host: 'cellar.test', port: 16030 },
  });
  expect(await ask(named, 'GET', '/advertise', { host: 'Cellar.test:16030' })).toBe(200);
  expect(await ask(named, 'GET', '/advertise', { host: 'evil.example' })).toBe(403);
  await named.close();
  const users = [{ name: 'root', password: 'x' }];
  const closed = await startServer({ http: { port: 0, api: { auth: { users } } } });
  expect(await ask(closed, 'GET', '/advertise', { host: 'evil.example' })).toBe(200);
  await closed.close();
});
