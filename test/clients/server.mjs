// The server that clients are tried on: `node server.mjs [--zookeeper-port N] [--table NAME:FAMILY]…`, all doors on one free
// port by default. Prints its addresses as a line of JSON when it is ready. Uses the built output, or that in CELLAR_DIST.
import path from 'node:path';
import { parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';

const dist = process.env.CELLAR_DIST ?? path.resolve(import.meta.dirname, '../../dist');
const { startServer } = await import(pathToFileURL(path.join(dist, 'server', 'index.js')).href);

const { values } = parseArgs({
  options: {
    'zookeeper-port': { type: 'string' },
    table: { type: 'string', multiple: true, default: [] },
  },
});
const zookeeperPort = values['zookeeper-port'];
const server = await startServer(
  zookeeperPort === undefined
    ? { port: 0 }
    : { rpc: { port: 0 }, zookeeper: { port: Number(zookeeperPort) } },
);
for (const table of values.table) {
  const [name, family] = table.split(':');
  await server.connection.admin.createTable({ name, families: [family] });
}
console.log(JSON.stringify(server.addresses));
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => void server.close().then(() => process.exit(0)));
}
