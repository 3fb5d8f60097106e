/** Bulk load as clients do it: a staging folder, files, a call for each region, the folder's end. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { open } from '../../../src/embedded/index.ts';
import type { StoreConnection } from '../../../src/embedded/index.ts';
import { startServer } from '../../../src/server/index.ts';
import type { RunningServer } from '../../../src/server/index.ts';
import { FrameClient } from './frame_client.ts';
import { cellTexts, fieldsOf, getRequest, message, nested, region } from './messages.ts';

const GOLDEN = path.resolve(import.meta.dirname, '../../golden/hfile');

let dir: string;
let connection: StoreConnection;
let server: RunningServer;
let client: FrameClient;
let name: Uint8Array;

beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'cellar-bulk-')).replaceAll('\\', '/');
  connection = await open(`${dir}/store`);
  await connection.admin.createTable({ name: 't', families: ['f'] });
  name = (await connection.regions('t'))[0]!.name;
  server = await startServer({ connection, port: 0 });
  client = await FrameClient.connect(server.addresses.rpc!);
});

afterEach(async () => {
  client.close();
  await server.close();
  await connection.close();
  rmSync(dir, { recursive: true, force: true });
});

function loadRequest(at: Uint8Array, family: string, file: string, copies: boolean): Uint8Array {
  return message((w) => {
    region(w, at);
    nested(w, 2, (pair) => {
      pair.bytes(1, Buffer.from(family));
      pair.string(2, file);
    });
    w.bool(3, true);
    w.bool(6, copies);
  });
}

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(fieldsOf(bytes).get(1)![0] as Uint8Array).toString();

test('a file that HBase takes, through the staging folder', async () => {
  const prepared = await client.call(
    'PrepareBulkLoad',
    message((w) => nested(w, 1, (t) => t.bytes(2, Buffer.from('t')))),
  );
  const token = textOf(prepared.message);
  expect(token).toMatch(/^file:\//);
  const folder = `${token.slice('file:'.length)}/f`;
  mkdirSync(folder, { recursive: true });
  copyFileSync(path.join(GOLDEN, 'minimal.hfile'), `${folder}/one`);
  const load = loadRequest(name, 'f', `file:${folder}/one`, false);
  const loaded = await client.call('BulkLoadHFile', load);
  expect(Buffer.from(loaded.message).toString('hex')).toBe('0801');
  const { cells } = await client.call('Get', getRequest(name, { row: 'py-007' }));
  expect(cellTexts(cells)).toEqual(['py-007/f:q@5007=val7']);
  expect(existsSync(`${folder}/one`)).toBe(false);
  await client.call(
    'CleanupBulkLoad',
    message((w) => w.string(1, token)),
  );
  expect(existsSync(path.dirname(folder))).toBe(false);
});

test('copies leave the file where it is; what does not fit is refused', async () => {
  const file = `${dir}/two`;
  copyFileSync(path.join(GOLDEN, 'minimal.hfile'), file);
  await client.call('BulkLoadHFile', loadRequest(name, 'f', `file://${file}`, true));
  expect(existsSync(file)).toBe(true);
  const unknown = client.call('BulkLoadHFile', loadRequest(name, 'no', file, true));
  await expect(unknown).rejects.toMatchObject({ className: 'NoSuchColumnFamilyException' });
  const elsewhere = client.call('BulkLoadHFile', loadRequest(name, 'f', 'hdfs://h/a', true));
  await expect(elsewhere).rejects.toMatchObject({ className: 'DoNotRetryIOException' });
  await connection.admin.createTable({ name: 'u', families: ['f'], SPLITS: ['py-010'] });
  const first = (await connection.regions('u'))[0]!.name;
  const across = client.call('BulkLoadHFile', loadRequest(first, 'f', file, true));
  await expect(across).rejects.toMatchObject({ className: 'WrongRegionException' });
});
