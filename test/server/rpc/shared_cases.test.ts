/** Public reports about clients and the wire, by their number in docs/cases.md: those that no other test is about. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { open } from '../../../src/embedded/index.ts';
import type { StoreConnection } from '../../../src/embedded/index.ts';
import { startServer } from '../../../src/server/index.ts';
import type { RunningServer } from '../../../src/server/index.ts';
import { FrameClient, RemoteError } from './frame_client.ts';
import {
  INCREMENT,
  PUT,
  cellBlock,
  fieldsOf,
  message,
  mutateRequest,
  nested,
  nextScan,
  openScan,
  region as writeRegion,
  scanAnswer,
  valueBytes,
  writeCondition,
  writeMutation,
} from './messages.ts';

let connection: StoreConnection;
let server: RunningServer;
let client: FrameClient;
/** The regions ["", m), [m, t) and [t, "") of the table. */
let regions: Uint8Array[];
let tables = 0;
let table = '';

beforeAll(async () => {
  connection = await open();
  server = await startServer({ connection, port: 0 });
  client = await FrameClient.connect(server.addresses.rpc!);
});

beforeEach(async () => {
  table = `c${++tables}`;
  await connection.admin.createTable({ name: table, families: ['f'], SPLITS: ['m', 't'] });
  regions = (await connection.regions(table)).map(({ name }) => name);
});

afterAll(async () => {
  client.close();
  await server.close();
  await connection.close();
});

async function refusal(answer: Promise<unknown>): Promise<string> {
  const error: unknown = await answer.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof RemoteError)) return 'it was not refused';
  return `${error.className} ${error.doNotRetry ? 'final' : 'retried'}`;
}

test('18: an increment whose cell carries LATEST is stamped with the time, never 0', async () => {
  const before = Date.now();
  const fields = { type: INCREMENT, row: 'a', cellCount: 1 };
  const amount = valueBytes(2n).toString('latin1');
  await client.call(
    'Mutate',
    mutateRequest(regions[0]!, fields, {}),
    cellBlock(`a/f:n@${0x7fffffffffffffffn}=${amount}`),
  );
  // Old clients put the amount into the message, without a stamp.
  await client.call(
    'Mutate',
    mutateRequest(regions[0]!, { type: INCREMENT, row: 'b', values: { 'f:n': 3n } }, {}),
  );
  for (const [row, sum] of [
    ['a', 2n],
    ['b', 3n],
  ] as const) {
    const result = (await connection.table(table).get(row))!;
    expect(result.int64('f:n')).toBe(sum);
    expect(Number(result.cells[0]!.ts)).toBeGreaterThanOrEqual(before - 1000);
    expect(Number(result.cells[0]!.ts)).toBeLessThanOrEqual(Date.now() + 1000);
  }
});

test('semantics 147: a scan of 0 versions gives one of the columns that it names, and nothing else', async () => {
  await connection.table(table).put('n', { 'f:a': '1', 'f:b': '2' }, { ts: 5 });
  const scan = async (columns?: readonly string[]): Promise<readonly number[]> => {
    const fields = { versions: 0, ...(columns === undefined ? {} : { columns }) };
    const call = { rows: 10, partials: true };
    const { message: answer } = await client.call('Scan', openScan(regions[1]!, fields, call));
    return scanAnswer(answer).cellsPerResult;
  };
  expect(await scan()).toEqual([]);
  expect(await scan(['f:a'])).toEqual([1]);
});

/** MutateRows on the region [m, t); whether it was processed. */
async function mutateRows(rows: readonly string[], conditionRow?: string): Promise<boolean> {
  const request = message((w) => {
    for (const row of rows) {
      nested(w, 1, (m) => writeMutation(m, { type: PUT, row, values: { 'f:q': 'v' }, ts: 3n }));
    }
    if (conditionRow !== undefined) {
      writeCondition(w, 5, { row: conditionRow, column: 'f:q', value: 'go' });
    }
  });
  const call = message((w) => {
    writeRegion(w, regions[1]!);
    nested(w, 2, (c) => {
      c.bytes(1, Buffer.from('m'));
      c.string(2, 'MultiRowMutationService');
      c.string(3, 'MutateRows');
      c.bytes(4, request);
    });
  });
  const { message: answer } = await client.call('ExecService', call);
  const value = fieldsOf(fieldsOf(answer).get(2)![0] as Uint8Array).get(2)![0] as Uint8Array;
  return fieldsOf(value).get(1)?.[0] === 1n;
}

test('25: rows of several rows outside the region: the first may be retried, a later one not', async () => {
  expect(await refusal(mutateRows(['a', 'n']))).toBe('WrongRegionException retried');
  expect(await refusal(mutateRows(['n', 'z']))).toBe('DoNotRetryIOException final');
  expect(await connection.table(table).count()).toBe(0);
  expect(await mutateRows(['n', 'p'])).toBe(true);
  const rows = await connection.table(table).scan().nextBatch();
  expect(rows.map(({ rowText }) => rowText)).toEqual(['n', 'p']);
});

test('26: a condition that does not hold is an answer, and nothing is applied', async () => {
  expect(await mutateRows(['n', 'p'], 'o')).toBe(false);
  expect(await connection.table(table).count()).toBe(0);
});

test('51: replies keep the scanner id to the end, and closing twice does no harm', async () => {
  for (const row of ['n', 'o', 'p']) await connection.table(table).put(row, { 'f:q': 'v' });
  // An old client: no partial results, no heartbeats.
  const call = async (request: Uint8Array): Promise<ReturnType<typeof scanAnswer>> =>
    scanAnswer((await client.call('Scan', request)).message);
  const opened = await call(openScan(regions[1]!, {}, { rows: 2 }));
  expect(opened.id).toBeGreaterThan(0n);
  const last = await call(nextScan(opened.id, { rows: 2, nextCallSeq: 0 }));
  expect(last).toMatchObject({ cellsPerResult: [1], moreInRegion: false });
  const close = nextScan(opened.id, { rows: 0, close: true });
  expect((await call(close)).id).toBe(opened.id);
  expect(await refusal(call(close))).toBe('it was not refused');
});
