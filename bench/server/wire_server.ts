/**
 * The server of the wire bench, a process of its own: `node wire_server.js FOLDER DURABILITY TABLE…`. Makes the tables, with one family f, and
 * prints a line of JSON with its address and the names of their regions. For each line on standard input it flushes all tables
 * and prints `flushed`.
 */
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import type { open as openStore } from '../../src/embedded/index.ts';
import type { startServer as start } from '../../src/server/index.ts';

const DIST = path.resolve(import.meta.dirname, '../../../../../dist');
const built = async (file: string): Promise<Record<string, unknown>> =>
  (await import(pathToFileURL(path.join(DIST, file)).href)) as Record<string, unknown>;
const { open } = (await built('embedded/index.js')) as { open: typeof openStore };
const { startServer } = (await built('server/index.js')) as { startServer: typeof start };

const [folder, durability, ...tables] = process.argv.slice(2);
const connection = await open(folder, { durability: durability as 'SYNC_WAL' });
const regions: Record<string, string> = {};
for (const name of tables) {
  await connection.admin.createTable({ name, families: ['f'] });
  const [region] = await connection.regions(name);
  regions[name] = region!.encodedName;
}
const server = await startServer({ connection, port: 0 });
console.log(JSON.stringify({ rpc: server.addresses.rpc, regions }));
createInterface({ input: process.stdin }).on('line', () => {
  void Promise.all(tables.map((name) => connection.admin.flush(name))).then(() =>
    console.log('flushed'),
  );
});
process.on('SIGTERM', () => {
  void server
    .close()
    .then(() => connection.close())
    .then(() => process.exit(0));
});
