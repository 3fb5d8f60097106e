/** The paging protocol of scans (protocol/client-service.md section 5). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { open } from '../../../src/embedded/index.ts';
import type { StoreConnection } from '../../../src/embedded/index.ts';
import { startServer } from '../../../src/server/index.ts';
import type { RunningServer } from '../../../src/server/index.ts';
import { FrameClient, RemoteError } from './frame_client.ts';
import { cellTexts, filter, nextScan, openScan, scanAnswer } from './messages.ts';
import type { ScanAnswer, ScanCallFields, ScanFields } from './messages.ts';

const LEASE_MS = 60_000;

let connection: StoreConnection;
let server: RunningServer;
let client: FrameClient;
let first: Uint8Array;
let second: Uint8Array;
let table = '';
let tables = 0;

beforeAll(async () => {
  connection = await open();
  server = await startServer({ connection, port: 0 });
  client = await FrameClient.connect(server.addresses.rpc!);
});

/** Rows r0 … r4 with two cells each in [m, ), and a row a before. */
beforeEach(async () => {
  table = `s${++tables}`;
  await connection.admin.createTable({ name: table, families: ['f'], SPLITS: ['m'] });
  const regions = await connection.regions(table);
  [first, second] = regions.map(({ name }) => name) as [Uint8Array, Uint8Array];
  const rows = connection.table(table);
  await rows.put('a', { 'f:q': 'va' }, { ts: 1 });
  for (let i = 0; i < 5; i++)
    await rows.put(`r${i}`, { 'f:q': `v${i}`, 'f:w': `w${i}` }, { ts: 1 });
});

afterAll(async () => {
  client.close();
  await server.close();
  await connection.close();
});

interface Page extends ScanAnswer {
  readonly cells: string[];
}

async function scan(request: Uint8Array, by: FrameClient = client): Promise<Page> {
  const { message, cells } = await by.call('Scan', request);
  return { ...scanAnswer(message), cells: cellTexts(cells) };
}

const ALL: ScanCallFields = { rows: 0x7fffffff, partials: true, heartbeats: true };
const start = (fields: ScanFields, call: ScanCallFields = ALL): Promise<Page> =>
  scan(openScan(second, fields, call));
const next = (id: bigint, call: ScanCallFields): Promise<Page> => scan(nextScan(id, call));

async function refusal(answer: Promise<unknown>): Promise<string> {
  const error: unknown = await answer.then(
    () => null,
    (reason: unknown) => reason,
  );
  return error instanceof RemoteError ? error.className : 'it was not refused';
}

test('a region in one call: everything, and the end of the region', async () => {
  const page = await start({});
  expect(page).toMatchObject({
    cellsPerResult: [2, 2, 2, 2, 2],
    partials: [false, false, false, false, false],
    moreResults: true,
    moreInRegion: false,
    ttl: LEASE_MS,
    heartbeat: false,
  });
  expect(page.cells).toHaveLength(10);
  expect(page.cells.slice(0, 2)).toEqual(['r0/f:q@1=v0', 'r0/f:w@1=w0']);
  expect(page.readPoint).toBeGreaterThan(0n);
});

test('page by page, with a sequence that is checked', async () => {
  const opened = await start({}, { ...ALL, rows: 2 });
  expect(opened).toMatchObject({ cellsPerResult: [2, 2], moreInRegion: true });
  const second = await next(opened.id, { rows: 2, nextCallSeq: 0 });
  expect(second).toMatchObject({ cellsPerResult: [2, 2], ttl: null, readPoint: null });
  expect(await refusal(next(opened.id, { rows: 2, nextCallSeq: 0 }))).toBe(
    'OutOfOrderScannerNextException',
  );
  const renewed = await next(opened.id, { rows: 0, nextCallSeq: 1, renew: true });
  expect(renewed).toMatchObject({ cellsPerResult: [], moreInRegion: true });
  const last = await next(opened.id, { rows: 2, nextCallSeq: 2 });
  expect(last).toMatchObject({ cellsPerResult: [2], moreInRegion: false, moreResults: true });
  expect(await next(opened.id, { rows: 0, close: true })).toMatchObject({ id: opened.id });
  expect(await refusal(next(opened.id, { rows: 2, nextCallSeq: 9 }))).toBe(
    'OutOfOrderScannerNextException',
  );
});

test('a page that takes the last row ends the region', async () => {
  expect(await start({}, { ...ALL, rows: 5 })).toMatchObject({
    cellsPerResult: [2, 2, 2, 2, 2],
    moreInRegion: false,
  });
});

test('no rows asked for: an open scanner', async () => {
  const opened = await start({}, { ...ALL, rows: 0 });
  expect(opened).toMatchObject({ cellsPerResult: [], moreInRegion: true, ttl: LEASE_MS });
  expect(await next(opened.id, { rows: 0, close: true })).toMatchObject({ id: opened.id });
});

test('one call that opens, fetches and closes', async () => {
  const small = await start({}, { ...ALL, rows: 2, close: true });
  expect(small).toMatchObject({ cellsPerResult: [2, 2], moreInRegion: true });
  // A client that does not know how ends are told asks once more.
  expect(await next(small.id, { rows: 2, nextCallSeq: 0 })).toMatchObject({ cellsPerResult: [] });
});

test('bounds of rows, in both directions', async () => {
  const rows = async (fields: ScanFields): Promise<string[]> =>
    (await start(fields)).cells
      .filter((cell) => cell.includes(':q'))
      .map((cell) => cell.slice(0, 2));
  expect(await rows({ start: 'r1', stop: 'r3' })).toEqual(['r1', 'r2']);
  expect(await rows({ start: 'r1', includeStart: false, stop: 'r3', includeStop: true })).toEqual([
    'r2',
    'r3',
  ]);
  expect(await rows({ start: 'r3', stop: 'r1', reversed: true })).toEqual(['r3', 'r2']);
  expect(await rows({ start: 'r3', includeStart: false, reversed: true })).toEqual([
    'r2',
    'r1',
    'r0',
  ]);
  expect(await rows({ start: 'r2', stop: 'r2', includeStop: true })).toEqual(['r2']);
  expect(await rows({ start: 'r2', stop: 'r2' })).toEqual([]);
  expect(await rows({ start: 'a', stop: 'b' })).toEqual([]);
});

test('a limit of rows over the whole scan ends it', async () => {
  expect(await start({}, { ...ALL, limit: 2 })).toMatchObject({
    cellsPerResult: [2, 2],
    moreResults: false,
    moreInRegion: true,
  });
});

test('batches: results of so many cells, flagged where the row goes on', async () => {
  expect(await start({ batch: 1 }, { ...ALL, rows: 3 })).toMatchObject({
    cellsPerResult: [1, 1, 1],
    partials: [true, false, true],
    moreInRegion: true,
  });
});

test('a size limit cuts rows for clients that can put them together, and only between rows for others', async () => {
  const cut = await start({ maxResultSize: 1 });
  expect(cut).toMatchObject({ cellsPerResult: [1], partials: [true], moreInRegion: true });
  const rest = await next(cut.id, { rows: 10, nextCallSeq: 0, partials: true });
  expect(rest).toMatchObject({ cellsPerResult: [1], partials: [false], moreInRegion: true });
  const whole = await start({ maxResultSize: 1 }, { rows: 10 });
  expect(whole).toMatchObject({ cellsPerResult: [2], partials: [false] });
});

test('a filter that has had enough ends the region, and the scan if nothing came', async () => {
  const two = filter('PageFilter', Buffer.from('0802', 'hex'));
  expect(await start({ filter: two })).toMatchObject({
    cellsPerResult: [2, 2],
    moreResults: true,
    moreInRegion: false,
  });
  const prefix = filter('PrefixFilter', Buffer.from('0a0161', 'hex'));
  expect(await start({ filter: prefix })).toMatchObject({
    cellsPerResult: [],
    moreResults: false,
    moreInRegion: false,
  });
});

test('is refused as HBase refuses it', async () => {
  expect(await refusal(next(12345n, { rows: 1 }))).toBe('UnknownScannerException');
  expect(await refusal(next(12345n, { rows: 0, close: true }))).toBe('UnknownScannerException');
  expect(await refusal(scan(new Uint8Array(0)))).toBe('DoNotRetryIOException');
  expect(await refusal(start({ columns: ['no'] }))).toBe('NoSuchColumnFamilyException');
  const raw = { _raw_: Uint8Array.of(0xff) };
  expect(await refusal(start({ columns: ['f:q'], attributes: raw }))).toBe('DoNotRetryIOException');
  const page = filter('PageFilter', Buffer.from('0802', 'hex'));
  expect(await refusal(start({ filter: page, batch: 1 }))).toBe('DoNotRetryIOException');
});

test('what was open when the table was disabled is not served any more', async () => {
  const opened = await start({}, { ...ALL, rows: 1 });
  await connection.admin.disableTable(table);
  expect(await refusal(next(opened.id, { rows: 1, nextCallSeq: 0 }))).toBe(
    'NotServingRegionException',
  );
});

test('a scan sees what was there when it was opened, also when it is opened again within a row', async () => {
  const opened = await start({}, { ...ALL, rows: 1 });
  await connection.table(table).put('r1', { 'f:q': 'new' }, { ts: 2 });
  const page = await next(opened.id, { rows: 1, nextCallSeq: 0 });
  expect(page.cells).toEqual(['r1/f:q@1=v1', 'r1/f:w@1=w1']);
  const again = await start({ start: 'r1', readPoint: opened.readPoint! }, { ...ALL, rows: 1 });
  expect(again.cells).toEqual(['r1/f:q@1=v1', 'r1/f:w@1=w1']);
  expect((await start({ start: 'r1' }, { ...ALL, rows: 1 })).cells[0]).toBe('r1/f:q@2=new');
});

test('raw scans show markers, uncommitted ones what is applied', async () => {
  await connection.table(table).delete('r0', { columns: ['f:q'], ts: 1 });
  const raw = await start({ attributes: { _raw_: Uint8Array.of(0xff) }, stop: 'r1' });
  expect(raw.cells).toEqual(['r0/f:q@1= type 12', 'r0/f:q@1=v0', 'r0/f:w@1=w0']);
  const uncommitted = { _isolationlevel_: Uint8Array.of(1) };
  expect((await start({ attributes: uncommitted, stop: 'r1' })).cells).toEqual(['r0/f:w@1=w0']);
});

test('a client without codec finds whole results in the message', async () => {
  const plain = await FrameClient.connect(server.addresses.rpc!, { codec: '' });
  const { message, cells } = await plain.call('Scan', openScan(first, {}, ALL));
  plain.close();
  expect(cells.length).toBe(0);
  const text = Buffer.from(message).toString('latin1');
  expect(text).toContain('va');
  expect(scanAnswer(message)).toMatchObject({ cellsPerResult: [], moreInRegion: false });
});

describe('time', () => {
  test('a long search tells that it goes on, and how far it has come', async () => {
    const own = await open();
    await own.admin.createTable({ name: 't', families: ['f'] });
    const rows = own.table('t');
    const batch = Array.from({ length: 30_000 }, (_, i) => ({
      put: `r${String(i).padStart(5, '0')}`,
      values: { 'f:q': 'v' },
    }));
    await rows.batch(batch);
    const limits = { scannerLeaseMs: 1 };
    const fast = await startServer({ connection: own, rpc: { port: 0, limits } });
    const searcher = await FrameClient.connect(fast.addresses.rpc!);
    const nothing = filter('RandomRowFilter', Buffer.from('0d000080bf', 'hex'));
    const [{ name } = { name: first }] = await own.regions('t');
    const fields = { filter: nothing, needCursor: true };
    const page = await scan(openScan(name, fields, ALL), searcher);
    expect(page).toMatchObject({ cellsPerResult: [], moreResults: true });
    if (page.heartbeat) expect(page.cursor).toMatch(/^r\d{5}$/);
    searcher.close();
    await fast.close();
    await own.close();
  });

  test('a scanner that nobody asks is closed when its lease ends', async () => {
    const limits = { scannerLeaseMs: 30 };
    const own = await startServer({ connection, rpc: { port: 0, limits } });
    const lazy = await FrameClient.connect(own.addresses.rpc!);
    const opened = await scan(openScan(second, {}, { ...ALL, rows: 1 }), lazy);
    expect(opened.ttl).toBe(30);
    let refused = '';
    while (refused === '') {
      // Renewing does not ask for anything that would keep it alive for longer than a lease.
      await new Promise<void>((resolve) => setTimeout(resolve, 40));
      const answer = await refusal(scan(nextScan(opened.id, { rows: 1 }), lazy));
      if (answer !== 'it was not refused') refused = answer;
    }
    expect(refused).toBe('UnknownScannerException');
    lazy.close();
    await own.close();
  });
});
