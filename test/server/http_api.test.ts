/** The HTTP API over a socket: the oracle, transactions, XA, the feed, and who may call them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { open } from '../../src/embedded/index.ts';
import type { StoreConnection, StoreOptions } from '../../src/embedded/index.ts';
import { startServer } from '../../src/server/index.ts';
import type { ApiOptions } from '../../src/server/http_api/index.ts';

type Json = Record<string, unknown>;

class Api {
  readonly connection: StoreConnection;
  readonly url: string;
  headers: Record<string, string> = {};
  constructor(connection: StoreConnection, url: string) {
    this.connection = connection;
    this.url = url;
  }

  async post(where: string, body: unknown, headers: Record<string, string> = {}): Promise<Json> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`${this.url}${where}`, {
      method: 'POST',
      body: text,
      headers: { ...this.headers, ...headers },
    });
    return { code: response.status, ...((await response.json()) as Json) };
  }

  async get(where: string): Promise<{ code: number; text: string }> {
    const response = await fetch(`${this.url}${where}`, { headers: this.headers });
    return { code: response.status, text: await response.text() };
  }

  async json(where: string): Promise<Json> {
    const { code, text } = await this.get(where);
    return { code, ...(JSON.parse(text) as Json) };
  }
}

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function startApi(api: ApiOptions = {}, options: StoreOptions = {}): Promise<Api> {
  const dir = mkdtempSync(path.join(tmpdir(), 'cellar-api-'));
  closers.push(async () => rmSync(dir, { recursive: true, force: true }));
  const connection = await open(path.join(dir, 'data'), options);
  closers.push(() => connection.close());
  await connection.admin.createTable({ name: 't1', families: ['d', 'e'] });
  const server = await startServer({ connection, http: { port: 0, api } });
  closers.push(() => server.close());
  return new Api(connection, server.addresses.http!);
}

const LINES = [
  '{"row":"cjE=","put":{"d:name":"YQ=="}}',
  '{"row":"cjI=","ts":1786851294000,"put":{"d:n":"MQ=="}}',
  '{"row":"cjM=","delete":true}',
  '',
].join('\n');

describe('/api/transaction', () => {
  test('the verbs, with exact numbers as text', async () => {
    const api = await startApi();
    const begun = await api.post('/api/transaction/begin', { label: 'j-1', timeout: 600 });
    expect(begun).toMatchObject({ code: 200, status: 'OK', label: 'j-1', state: 'OPEN' });
    const txn_id = begun['txn_id'] as string;
    expect(txn_id).toMatch(/^\d{18}$/);
    const where = `/api/transaction/load?label=j-1&txn_id=${txn_id}&table=t1&seq=0`;
    const loaded = await api.post(where, LINES);
    expect(loaded).toMatchObject({ code: 200, seq: 0, rows: 3, cells: 4, duplicate: false });
    expect(await api.post(where, LINES)).toMatchObject({ code: 200, duplicate: true });
    expect(await api.post(where, '{"row":"cjE=","put":{"d:x":"YQ=="}}')).toMatchObject({
      code: 409,
      error: 'SEQ_CONFLICT',
      state: 'OPEN',
    });
    const bad = await api.post(
      `/api/transaction/load?label=j-1&table=t1&seq=1`,
      `${LINES.split('\n')[0]}\n{"row":"cjE=","put":}`,
    );
    expect(bad).toMatchObject({
      code: 400,
      error: 'BAD_LINE',
      line: 2,
      column: 21,
      retryable: false,
      state: 'OPEN',
    });
    const wrong = await api.post('/api/transaction/prepare', { label: 'j-1', expect: { rows: 4 } });
    expect(wrong).toMatchObject({ code: 400, error: 'COUNT_MISMATCH' });
    const prepared = await api.post('/api/transaction/prepare', {
      label: 'j-1',
      txn_id,
      expect: { rows: 3 },
    });
    expect(prepared).toMatchObject({ code: 200, state: 'PREPARED', rows: 3, cells: 4 });
    expect(await api.json('/api/transaction/list?state=PREPARED&prefix=j-')).toMatchObject({
      transactions: [{ label: 'j-1', txn_id }],
    });
    const committed = await api.post('/api/transaction/commit', { label: 'j-1', txn_id });
    expect(committed).toMatchObject({ code: 200, state: 'COMMITTED', already: false });
    const again = await api.post('/api/transaction/commit', {
      items: [{ label: 'j-1' }, { label: 'x' }],
    });
    expect(again['items']).toMatchObject([
      { code: 200, already: true, tso: committed['tso'] },
      { code: 404, error: 'TXN_NOT_FOUND', retryable: false },
    ]);
    expect(await api.post('/api/transaction/rollback', { label: 'j-1' })).toMatchObject({
      code: 409,
      error: 'TXN_COMMITTED',
      tso: committed['tso'],
      retryable: false,
    });
    expect(await api.json(`/api/transaction/status?txn_id=${txn_id}`)).toMatchObject({
      code: 200,
      state: 'COMMITTED',
    });
    expect(
      await api.post('/api/transaction/commit', { label: 'j-1', server_id: 'other' }),
    ).toMatchObject({
      code: 421,
      error: 'WRONG_SERVER',
    });
    expect((await api.connection.table('t1').get('r1'))?.text('d:name')).toBe('a');
  });

  test('fencing, and StarRocks’s headers and members', async () => {
    const api = await startApi();
    const fence = (): Promise<Json> => api.post('/api/transaction/fence', { producer: 'p-0' });
    expect(await fence()).toMatchObject({ code: 200, epoch: 1, aborted: [] });
    const begun = { label: 'p-0-1', producer: 'p-0', epoch: 1 };
    expect(await api.post('/api/transaction/begin', begun)).toMatchObject({ code: 200 });
    expect(await fence()).toMatchObject({ code: 200, epoch: 2, aborted: ['p-0-1'] });
    expect(await api.post('/api/transaction/begin', begun)).toMatchObject({
      code: 409,
      error: 'FENCED',
    });
    const headers = { label: 'sr-1', db: 'default', table: 't1' };
    expect(await api.post('/api/transaction/begin', '', headers)).toMatchObject({
      Status: 'OK',
      Label: 'sr-1',
    });
    expect(
      await api.post(
        '/api/transaction/load?encoding=utf8',
        '{"row":"a","put":{"d:q":"1"}}',
        headers,
      ),
    ).toMatchObject({ Status: 'OK', NumberTotalRows: 1, NumberFilteredRows: 0 });
    expect(await api.post('/api/transaction/begin', '', headers)).toMatchObject({
      Status: 'LABEL_ALREADY_EXISTS',
      ExistingJobStatus: 'RUNNING',
    });
  });
});

describe('/api/xa', () => {
  test('start, end, prepare, recover, commit, forget', async () => {
    const api = await startApi();
    const xid = { format: 1, gtrid: '0a0b', bqual: '01' };
    const xa = (verb: string, more: Json = {}): Promise<Json> =>
      api.post(`/api/xa/${verb}`, { xid, ...more });
    expect(await xa('start')).toMatchObject({ code: 200, state: 'ACTIVE' });
    expect(await xa('start')).toMatchObject({ code: 409, error: 'XAER_DUPID' });
    const load = '/api/xa/load?format=1&gtrid=0a0b&bqual=01&table=t1&encoding=utf8&seq=';
    expect(await api.post(`${load}0`, '{"row":"a","put":{"d:q":"1"}}')).toMatchObject({ cells: 1 });
    expect(await xa('prepare')).toMatchObject({ code: 409, error: 'XAER_PROTO' });
    expect(await xa('end')).toMatchObject({ state: 'IDLE' });
    expect(await api.post(`${load}1`, '{"row":"b","put":{"d:q":"1"}}')).toMatchObject({
      error: 'XAER_PROTO',
    });
    expect(await xa('prepare')).toMatchObject({ code: 200, xa: 'XA_OK' });
    expect(await api.json('/api/xa/recover?prefix=0a')).toMatchObject({ xids: [xid] });
    expect(await api.json('/api/xa/recover?prefix=0b')).toMatchObject({ xids: [] });
    expect(await xa('forget')).toMatchObject({ error: 'XAER_PROTO' });
    expect(await xa('commit')).toMatchObject({ code: 200, xa: 'XA_OK', already: false });
    expect(await xa('commit')).toMatchObject({ code: 200, xa: 'XA_OK', already: true });
    expect(await xa('forget')).toMatchObject({ code: 200 });
    expect(await xa('commit')).toMatchObject({ code: 404, error: 'XAER_NOTA' });
    expect(await xa('start', { xid: { format: 1, gtrid: 'xyz', bqual: '' } })).toMatchObject({
      code: 400,
      error: 'XAER_INVAL',
    });
  });
});

describe('/api/tso', () => {
  test('shows the oracle without using it, and gives runs of stamps', async () => {
    const api = await startApi();
    const one = await api.get('/api/tso');
    const { data } = JSON.parse(one.text) as { data: Json };
    const exact = /"current_tso":(\d+),/.exec(one.text)![1]!;
    expect(data['current_tso_text']).toBe(exact);
    expect(
      (BigInt(data['current_tso_physical_time'] as number) << 18n) +
        BigInt(data['current_tso_logical_counter'] as number),
    ).toBe(BigInt(exact));
    const given = await api.post('/api/tso', { count: 3 });
    const run = given['data'] as { first: string; last: string };
    expect(BigInt(run.last) - BigInt(run.first)).toBe(2n);
    expect(BigInt(run.first)).toBeGreaterThan(BigInt(exact));
    expect(await api.post('/api/tso', { count: 10_001 })).toMatchObject({ code: 400 });
  });

  test('asks the master, and says when it cannot', async () => {
    const master = await startApi();
    const api = await startApi({ tsoMasterUrl: master.url });
    const forwarded = JSON.parse((await api.get('/api/tso')).text) as { data: Json };
    expect(forwarded.data).toMatchObject({
      master_fe_addr: new URL(master.url).host,
      server_id: master.connection.transactions.serverId,
    });
    const local = JSON.parse((await api.get('/api/tso?local=true')).text) as { data: Json };
    expect(local.data['server_id']).toBe(api.connection.transactions.serverId);
    const lost = await startApi({ tsoMasterUrl: 'http://127.0.0.1:1' });
    expect((await lost.get('/api/tso')).code).toBe(502);
  });

  test('asks who calls, and answers as Doris does where it shall', async () => {
    const auth = {
      users: [
        { name: 'root', password: 'secret', admin: true },
        { name: 'guest', password: 'guest' },
      ],
      tokens: [{ token: 'abc', name: 'robot', admin: true }],
    };
    const api = await startApi({ auth });
    const as = async (authorization: string): Promise<number> => {
      api.headers = authorization === '' ? {} : { authorization };
      return (await api.get('/api/tso')).code;
    };
    const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
    expect(await as('')).toBe(401);
    expect(await as(basic('root:wrong'))).toBe(401);
    expect(await as(basic('nobody:'))).toBe(401);
    expect(await as(basic('guest:guest'))).toBe(403);
    expect(await as(basic('root:secret'))).toBe(200);
    expect(await as('Bearer abc')).toBe(200);
    api.headers = {};
    expect(await api.post('/api/transaction/begin', { label: 'x' })).toMatchObject({ code: 401 });
    const doris = await startApi({ auth, dorisStatusCodes: true });
    const { code, text } = await doris.get('/api/tso');
    expect([code, (JSON.parse(text) as Json)['code']]).toEqual([200, 401]);
  });
});

describe('/api/changes', () => {
  test('whole commits in order, resumable, in every format', async () => {
    const api = await startApi();
    const t1 = api.connection.table('t1');
    const first = await t1.put('a', { 'd:q': '1' });
    const { tso } = await api.connection.transact(async (tx) => {
      tx.table('t1').put('b', { 'd:q': '2', 'e:r': '3' });
      tx.table('t1').delete('a');
    });
    await t1.put('c', { 'd:q': '4' }, { durability: 'SKIP_WAL' });
    const last = await t1.put('c', { 'd:q': '5' });
    const lines = async (query: string): Promise<Json[]> =>
      (await api.get(`/api/changes?${query}`)).text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Json);
    const all = await lines(`encoding=utf8&from_tso=${first}`);
    const cells = all.filter((line) => line['row'] !== undefined);
    expect(
      cells.map(({ row, family, qualifier, type, value }) => [
        row,
        `${String(family)}:${String(qualifier)}`,
        type,
        value,
      ]),
    ).toEqual([
      ['a', 'd:q', 'Put', '1'],
      ['b', 'd:q', 'Put', '2'],
      ['a', 'd:', 'DeleteFamily', ''],
      ['b', 'e:r', 'Put', '3'],
      ['a', 'e:', 'DeleteFamily', ''],
      ['c', 'd:q', 'Put', '5'],
    ]);
    expect(all.filter((line) => line['gap'] !== undefined)).toHaveLength(1);
    const { next_from_tso: next } = all.at(-1) as { next_from_tso: string };
    expect(BigInt(next)).toBeGreaterThan(last);
    const page = await lines(`from_tso=${first + 1n}&limit=1`);
    expect(page.map((line) => line['tso'] ?? line['next_from_tso'])).toEqual([
      ...['', '', '', ''].map(() => String(tso)),
      String(tso! + 1n),
    ]);
    const debezium = await lines(`format=debezium&encoding=utf8&from_tso=${first}&to_tso=${last}`);
    expect(debezium.filter((line) => line['gap'] === undefined)).toMatchObject([
      { op: 'c', before: null, after: { row: 'a', 'd:q': '1' }, source: { tso: String(first) } },
      {
        op: 'c',
        after: { row: 'b', 'd:q': '2', 'e:r': '3' },
        transaction: { id: String(tso), total_order: 1 },
      },
      { op: 'd', before: { row: 'a' }, after: null, transaction: { total_order: 2 } },
    ]);
    const events = await lines(`format=cloudevents&wrap=doris&encoding=utf8&from_tso=${last}`);
    expect(events).toMatchObject([
      { id: `${last}-0`, data: { row: 'c', 'd:q': '5', __DORIS_BINLOG_OP__: 0 } },
    ]);
  });
});
