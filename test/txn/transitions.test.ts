/**
 * The transition table of transactions.md section 3, state by state and action by action, through the API, REST and XA, and every
 * error code at least once.
 */
import { afterEach, describe, expect, test } from 'vitest';
import { open } from '../../src/embedded/index.ts';
import type { StoreConnection, StoreOptions } from '../../src/embedded/index.ts';
import { TransactionException, TsoNotCalibrated } from '../../src/model/index.ts';
import { xaExceptionOf } from '../../src/txn/xa.ts';
import type { TransactionName, Transactions, XaException, Xid } from '../../src/model/index.ts';
import { startServer } from '../../src/server/index.ts';
import { ApiClient, RemoteTransactions } from '../../src/client/txn/index.ts';
import { memoryEnv, realEnv } from '../../src/io/index.ts';

type State = 'none' | 'OPEN' | 'PREPARED' | 'COMMITTED' | 'ABORTED';
type Action = 'begin' | 'load' | 'prepare' | 'commit' | 'onePhase' | 'rollback' | 'status';

const STATES: readonly State[] = ['none', 'OPEN', 'PREPARED', 'COMMITTED', 'ABORTED'];

/** What each action answers: OK with the state after it and `already`, or the code. */
const TABLE: Readonly<Record<Action, Readonly<Record<State, string>>>> = {
  begin: {
    none: 'OK OPEN',
    OPEN: 'LABEL_ALREADY_EXISTS',
    PREPARED: 'LABEL_ALREADY_EXISTS',
    COMMITTED: 'LABEL_ALREADY_EXISTS',
    ABORTED: 'OK OPEN',
  },
  load: {
    none: 'TXN_NOT_FOUND',
    OPEN: 'OK',
    PREPARED: 'TXN_SEALED',
    COMMITTED: 'TXN_COMMITTED',
    ABORTED: 'TXN_ABORTED',
  },
  prepare: {
    none: 'TXN_NOT_FOUND',
    OPEN: 'OK PREPARED',
    PREPARED: 'OK PREPARED already',
    COMMITTED: 'OK COMMITTED already',
    ABORTED: 'TXN_ABORTED',
  },
  commit: {
    none: 'TXN_NOT_FOUND',
    OPEN: 'NOT_PREPARED',
    PREPARED: 'OK COMMITTED',
    COMMITTED: 'OK COMMITTED already',
    ABORTED: 'TXN_ABORTED',
  },
  onePhase: {
    none: 'TXN_NOT_FOUND',
    OPEN: 'OK COMMITTED',
    PREPARED: 'OK COMMITTED',
    COMMITTED: 'OK COMMITTED already',
    ABORTED: 'TXN_ABORTED',
  },
  rollback: {
    none: 'OK not_found',
    OPEN: 'OK ABORTED',
    PREPARED: 'OK ABORTED',
    COMMITTED: 'TXN_COMMITTED',
    ABORTED: 'OK ABORTED already',
  },
  status: {
    none: 'TXN_NOT_FOUND',
    OPEN: 'OK OPEN',
    PREPARED: 'OK PREPARED',
    COMMITTED: 'OK COMMITTED',
    ABORTED: 'OK ABORTED',
  },
};

const XA_TABLE: Readonly<Record<string, Readonly<Record<State, string>>>> = {
  start: {
    none: 'OK',
    OPEN: 'XAER_DUPID',
    PREPARED: 'XAER_DUPID',
    COMMITTED: 'XAER_DUPID',
    ABORTED: 'OK',
  },
  load: {
    none: 'XAER_NOTA',
    OPEN: 'OK',
    PREPARED: 'XAER_PROTO',
    COMMITTED: 'XAER_PROTO',
    ABORTED: 'XA_RBROLLBACK',
  },
  end: {
    none: 'XAER_NOTA',
    OPEN: 'OK',
    PREPARED: 'XAER_PROTO',
    COMMITTED: 'XAER_PROTO',
    ABORTED: 'XA_RBROLLBACK',
  },
  prepare: {
    none: 'XAER_NOTA',
    OPEN: 'XAER_PROTO',
    PREPARED: 'OK XA_OK',
    COMMITTED: 'OK XA_OK',
    ABORTED: 'XA_RBROLLBACK',
  },
  commit: {
    none: 'XAER_NOTA',
    OPEN: 'XAER_PROTO',
    PREPARED: 'OK',
    COMMITTED: 'OK',
    ABORTED: 'XA_RBROLLBACK',
  },
  rollback: {
    none: 'XAER_NOTA',
    OPEN: 'OK',
    PREPARED: 'OK',
    COMMITTED: 'XAER_PROTO',
    ABORTED: 'OK',
  },
  forget: {
    none: 'XAER_NOTA',
    OPEN: 'XAER_PROTO',
    PREPARED: 'XAER_PROTO',
    COMMITTED: 'OK',
    ABORTED: 'OK',
  },
};

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(options: StoreOptions = {}): Promise<StoreConnection> {
  const connection = await open(undefined, { env: memoryEnv(), ...options });
  closers.push(() => connection.close());
  await connection.admin.createTable({ name: 't', families: ['f'] });
  return connection;
}

async function remote(connection: StoreConnection): Promise<Transactions> {
  const server = await startServer({ connection, http: { port: 0 } });
  closers.push(() => server.close());
  const client = new ApiClient({ url: server.addresses.http!, env: realEnv() });
  return RemoteTransactions.connect(client);
}

const PUT = [{ put: 'r', values: { 'f:q': '1' } }];

async function bring(verbs: Transactions, label: string, state: State): Promise<void> {
  if (state === 'none') return;
  await verbs.begin({ label });
  await verbs.load({ label }, 0, PUT, { table: 't' });
  if (state === 'ABORTED') await verbs.rollback({ label });
  if (state === 'PREPARED' || state === 'COMMITTED') await verbs.prepare({ label });
  if (state === 'COMMITTED') await verbs.commit({ label });
}

async function outcome(verbs: Transactions, action: Action, label: string): Promise<string> {
  const name: TransactionName = { label };
  const said = ({ state, already }: { state: string; already?: boolean }): string =>
    `OK ${state}${already === true ? ' already' : ''}`;
  try {
    switch (action) {
      case 'begin':
        return said(await verbs.begin({ label }));
      case 'load':
        await verbs.load(name, 1, PUT, { table: 't' });
        return 'OK';
      case 'prepare':
        return said(await verbs.prepare(name));
      case 'commit':
        return said(await verbs.commit(name));
      case 'onePhase':
        return said(await verbs.commit(name, { onePhase: true }));
      case 'rollback': {
        const { status, already } = await verbs.rollback(name);
        return status === null ? 'OK not_found' : said({ state: status.state, already });
      }
      case 'status':
        return said(await verbs.status(name));
    }
  } catch (error) {
    if (error instanceof TransactionException) return error.code;
    throw error;
  }
}

describe.each(['API', 'REST'])('the transition table through %s', (door) => {
  test.each(Object.keys(TABLE) as Action[])('%s', async (action) => {
    const connection = await start();
    const verbs = door === 'API' ? connection.transactions : await remote(connection);
    for (const state of STATES) {
      const label = `${action}-${state}`;
      await bring(verbs, label, state);
      expect([state, await outcome(verbs, action, label)]).toEqual([state, TABLE[action][state]]);
    }
  });
});

describe('the transition table through XA', () => {
  test.each(Object.keys(XA_TABLE))('%s', async (action) => {
    const { xa } = await start();
    for (const [i, state] of STATES.entries()) {
      const xid: Xid = { format: 1, gtrid: Buffer.from(action).toString('hex'), bqual: `0${i}` };
      if (state !== 'none') {
        await xa.start(xid);
        await xa.load(xid, 0, PUT, { table: 't' });
      }
      if (state === 'PREPARED' || state === 'COMMITTED') {
        await xa.end(xid);
        await xa.prepare(xid);
      }
      if (state === 'COMMITTED') await xa.commit(xid);
      if (state === 'ABORTED') await xa.rollback(xid);
      const run = async (): Promise<string> => {
        switch (action) {
          case 'start':
            return `OK ${(await xa.start(xid)).state}`.slice(0, 2);
          case 'load':
            return `OK ${(await xa.load(xid, 1, PUT, { table: 't' })).seq}`.slice(0, 2);
          case 'end':
            return (await xa.end(xid), 'OK');
          case 'prepare':
            return `OK ${await xa.prepare(xid)}`;
          case 'commit':
            return (await xa.commit(xid), 'OK');
          case 'rollback':
            return (await xa.rollback(xid), 'OK');
          default:
            return (await xa.forget(xid), 'OK');
        }
      };
      const got = await run().catch((error: unknown) => (error as XaException).code);
      expect([state, got]).toEqual([state, XA_TABLE[action]![state]]);
    }
  });

  test('read only, one phase, resume, time-out', async () => {
    const { xa, transactions } = await start();
    const xid = { format: 2, gtrid: 'aa', bqual: '' };
    await xa.start(xid);
    await xa.end(xid);
    expect(await xa.prepare(xid)).toBe('XA_RDONLY');
    await xa.start(xid);
    await xa.end(xid);
    await xa.end(xid, { resume: true });
    await xa.load(xid, 0, PUT, { table: 't' });
    await expect(xa.commit(xid, { onePhase: true })).rejects.toThrow(/ACTIVE/);
    await xa.end(xid);
    expect((await xa.commit(xid, { onePhase: true })).state).toBe('COMMITTED');
    const late = { ...xid, bqual: '01' };
    await xa.start(late, { timeoutMs: 0 });
    await transactions.expiry.tick();
    await expect(xa.end(late)).rejects.toMatchObject({ code: 'XA_RBTIMEOUT' });
  });
});

test('XA’s words for what is wrong with the store or the request', () => {
  const wordOf = (error: unknown): string => xaExceptionOf(error).code;
  expect(wordOf(new TransactionException('OUTCOME_UNKNOWN', ''))).toBe('XAER_RMFAIL');
  expect(wordOf(new TsoNotCalibrated(''))).toBe('XAER_RMFAIL');
  expect(wordOf(new TransactionException('TXN_DATA_CORRUPT', ''))).toBe('XAER_RMERR');
  expect(wordOf(new RangeError(''))).toBe('XAER_RMERR');
  expect(wordOf(new TransactionException('BAD_REQUEST', ''))).toBe('XAER_INVAL');
  expect(wordOf(new TransactionException('FENCED', ''))).toBe('XA_RBROLLBACK');
});

describe('what the table does not show', () => {
  const codeOf = async (verb: Promise<unknown>): Promise<string> => {
    try {
      await verb;
      return 'OK';
    } catch (error) {
      return (error as { code: string }).code;
    }
  };

  test('repeats, mismatches, tombstones, empty ones', async () => {
    const { transactions: verbs } = await start();
    const first = await verbs.begin({ label: 'a', requestId: 'x' });
    expect((await verbs.begin({ label: 'a', requestId: 'x' })).txnId).toBe(first.txnId);
    expect(await codeOf(verbs.begin({ label: 'a', requestId: 'y' }))).toBe('LABEL_ALREADY_EXISTS');
    await verbs.load({ label: 'a' }, 7, PUT, { table: 't' });
    expect((await verbs.load({ label: 'a' }, 7, PUT, { table: 't' })).duplicate).toBe(true);
    expect(await codeOf(verbs.load({ label: 'a' }, 7, [...PUT, ...PUT], { table: 't' }))).toBe(
      'SEQ_CONFLICT',
    );
    expect(await codeOf(verbs.prepare({ label: 'a', txnId: first.txnId + 1n }))).toBe(
      'TXN_ID_MISMATCH',
    );
    expect(await codeOf(verbs.prepare({ label: 'a' }, { expect: { rows: 9 } }))).toBe(
      'COUNT_MISMATCH',
    );
    await verbs.rollback({ label: 'a', txnId: first.txnId });
    const second = await verbs.begin({ label: 'a' });
    expect(second.txnId).toBeGreaterThan(first.txnId);
    expect(await codeOf(verbs.commit({ label: 'a', txnId: first.txnId }))).toBe('TXN_ID_MISMATCH');
    expect(await codeOf(verbs.status({ txnId: first.txnId }))).toBe('OK');
    expect(await verbs.prepare({ label: 'a' })).toMatchObject({
      empty: true,
      state: 'ABORTED',
      reason: 'EMPTY',
      tso: null,
    });
    expect(await verbs.commit({ label: 'a' })).toMatchObject({ empty: true, already: true });
    expect(await verbs.rollback({ label: 'a' })).toMatchObject({ empty: true, already: true });
    await verbs.rollback({ label: 'never' }, { tombstone: true });
    expect(await codeOf(verbs.begin({ label: 'never' }))).toBe('LABEL_ALREADY_EXISTS');
    expect(await verbs.status({ label: 'never' })).toMatchObject({
      state: 'ABORTED',
      reason: 'TOMBSTONE',
    });
    expect(await codeOf(verbs.begin({ label: 'no blanks' }))).toBe('BAD_REQUEST');
    await verbs.begin({ label: 'c' });
    const increment = [{ increment: 'r', amounts: { 'f:n': 1 } }] as never;
    expect(await codeOf(verbs.load({ label: 'c' }, 0, increment, { table: 't' }))).toBe(
      'UNSUPPORTED_IN_TRANSACTION',
    );
  });

  test('limits', async () => {
    const { transactions: verbs } = await start({
      transactions: {
        max_running_txn_num_per_db: 3,
        txn_max_prepared: 1,
        txn_max_bytes: 500,
        txn_max_staged_bytes: 600,
        txn_max_request_bytes: 450,
        txn_max_rows_per_request: 8,
      },
    });
    for (const label of ['a', 'b', 'c']) await verbs.begin({ label });
    expect(await codeOf(verbs.begin({ label: 'd' }))).toBe('TOO_MANY_TRANSACTIONS');
    const rows = (count: number): { put: string; values: { 'f:q': string } }[] =>
      Array.from({ length: count }, (_, i) => ({
        put: `r${i}`,
        values: { 'f:q': 'x'.repeat(20) },
      }));
    const load = (label: string, seq: number, count: number): Promise<unknown> =>
      verbs.load({ label }, seq, rows(count), { table: 't' });
    expect(await codeOf(load('a', 0, 9))).toBe('REQUEST_TOO_LARGE');
    expect(
      await codeOf(
        verbs.load({ label: 'a' }, 0, [{ put: 'r', values: { 'f:q': 'x'.repeat(460) } }], {
          table: 't',
        }),
      ),
    ).toBe('REQUEST_TOO_LARGE');
    expect(await codeOf(load('a', 0, 8))).toBe('OK');
    expect(await codeOf(load('a', 1, 4))).toBe('TXN_TOO_LARGE');
    expect(await codeOf(load('b', 0, 6))).toBe('STAGING_FULL');
    expect(await codeOf(load('b', 0, 2))).toBe('OK');
    expect(await codeOf(verbs.prepare({ label: 'a' }))).toBe('OK');
    expect(await codeOf(verbs.prepare({ label: 'b' }))).toBe('TOO_MANY_PREPARED');
    await verbs.commit({ label: 'a' });
    expect(await codeOf(verbs.prepare({ label: 'b' }))).toBe('OK');
  });

  test('snapshot: first committer wins, intents hold single writers, decided ones free them', async () => {
    const connection = await start({ transactions: { txn_intent_wait_ms: 30 } });
    const { transactions: verbs } = connection;
    const begin = async (
      label: string,
      isolation: 'snapshot' | 'blind',
      row = 'r',
    ): Promise<void> => {
      await verbs.begin({ label, isolation });
      await verbs.load({ label }, 0, [{ put: row, values: { 'f:q': label } }], { table: 't' });
    };
    await begin('late', 'snapshot');
    await connection.table('t').put('r', { 'f:q': 'first' });
    expect(await codeOf(verbs.prepare({ label: 'late' }))).toBe('TXN_CONFLICT');
    expect(await verbs.status({ label: 'late' })).toMatchObject({
      state: 'ABORTED',
      reason: 'CONFLICT',
    });
    await begin('one', 'snapshot');
    await begin('two', 'snapshot');
    await begin('blind', 'blind');
    await verbs.prepare({ label: 'one' });
    expect(await codeOf(verbs.prepare({ label: 'two' }))).toBe('TXN_CONFLICT');
    expect(await codeOf(connection.table('t').put('r', { 'f:q': 'x' }))).toBe(
      'RowLockedByTransaction',
    );
    expect(await codeOf(connection.table('t').increment('r', { 'f:n': 1 }))).toBe(
      'RowLockedByTransaction',
    );
    expect(await codeOf(verbs.prepare({ label: 'blind' }))).toBe('RowLockedByTransaction');
    expect(await codeOf(connection.table('t').put('other', { 'f:q': 'x' }))).toBe('OK');
    expect((await connection.table('t').get('r'))?.text('f:q')).toBe('first');
    await verbs.commit({ label: 'one' });
    expect(await codeOf(connection.table('t').increment('r', { 'f:n': 1 }))).toBe('OK');
    expect(await codeOf(verbs.prepare({ label: 'blind' }))).toBe('OK');
    await begin('three', 'snapshot');
    expect(await codeOf(verbs.prepare({ label: 'three' }))).toBe('TXN_CONFLICT');
  });

  test('tables with prepared cells are not dropped, unless by force', async () => {
    const connection = await start();
    await connection.admin.addFamily('t', 'g');
    await bring(connection.transactions, 'p', 'PREPARED');
    expect(await codeOf(connection.admin.truncateTable('t'))).toBe('TableHasPreparedTransactions');
    expect(await codeOf(connection.admin.dropFamily('t', 'f'))).toBe(
      'TableHasPreparedTransactions',
    );
    expect(await codeOf(connection.admin.dropFamily('t', 'g'))).toBe('OK');
    await connection.admin.truncateTable('t', { force: true });
    expect(await connection.transactions.status({ label: 'p' })).toMatchObject({
      state: 'ABORTED',
      reason: 'TABLE_DROPPED',
    });
    await bring(connection.transactions, 'q', 'OPEN');
    await connection.admin.truncateTable('t');
    expect(await codeOf(connection.transactions.prepare({ label: 'q' }))).toBe('TXN_ABORTED');
  });

  test('commit and rollback race: one wins, the other gets the table’s answer', async () => {
    const { transactions: verbs } = await start();
    for (let i = 0; i < 20; i++) {
      const label = `race-${i}`;
      await bring(verbs, label, 'PREPARED');
      const [commit, rollback] = await Promise.all(
        i % 2 === 0
          ? [codeOf(verbs.commit({ label })), codeOf(verbs.rollback({ label }))]
          : [codeOf(verbs.rollback({ label })), codeOf(verbs.commit({ label }))].reverse(),
      );
      const { state } = await verbs.status({ label });
      expect([commit, rollback]).toEqual(
        state === 'COMMITTED' ? ['OK', 'TXN_COMMITTED'] : ['TXN_ABORTED', 'OK'],
      );
    }
  });
});
