/**
 * Crash points 26 to 28 of transactions.md section 7, and a decision whose sync fails: damaged cells of a prepared transaction are
 * never committed, a full disk keeps nothing of a verb by halves, and who is not told the outcome finds it out.
 */
import { describe, expect, test } from 'vitest';
import { restoreBackup } from '../../src/backup/index.ts';
import { open } from '../../src/embedded/index.ts';
import { EmbeddedTable, hiddenName } from '../../src/engine/index.ts';
import type { StoreConnection, StoreOptions } from '../../src/embedded/index.ts';
import { DiskFullException, StoreException, simEnv } from '../../src/io/index.ts';
import type { FsOp, SimEnv } from '../../src/io/index.ts';
import { TransactionException } from '../../src/model/index.ts';
import type { LoadOperation } from '../../src/model/index.ts';
import { LEDGER_TABLE, slotRow } from '../../src/txn/ledger.ts';
import { SMALL, codeOf, contentOf, openOn } from './support.ts';

const STAGED: StoreOptions = { transactions: { txn_spill_bytes: 60 } };
const ROWS = 12;
const operations: readonly LoadOperation[] = Array.from({ length: ROWS }, (_, i) => ({
  put: `${'az'[i % 2]}${i}`,
  values: { 'f:q': `value ${i}` },
}));
const wanted = (): string[] => operations.map((_, i) => `${'az'[i % 2]}${i} f:q=value ${i}`).sort();

async function fresh(env: SimEnv, options: StoreOptions): Promise<StoreConnection> {
  const connection = await openOn(env, options);
  await connection.admin.createTable({ name: 't', families: ['f', 'g'], SPLITS: ['m'] });
  await connection.transactions.fence('somebody');
  await connection.table('t').put('b', { 'f:q': 'own' });
  return connection;
}

const NAME = { label: 'job' };

async function prepared(connection: StoreConnection): Promise<void> {
  await connection.transactions.begin(NAME);
  await connection.transactions.load(NAME, 0, operations, { table: 't' });
  await connection.transactions.prepare(NAME);
}

async function refusesDamaged(env: SimEnv, options: StoreOptions): Promise<void> {
  const connection = await openOn(env, options);
  expect((await connection.transactions.list({ state: 'PREPARED' })).length).toBe(1);
  for (let again = 0; again < 2; again++) {
    const refused = await connection.transactions.commit(NAME).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(TransactionException);
    expect(refused).toMatchObject({ code: 'TXN_DATA_CORRUPT', retryable: false });
  }
  // Everything else is served, and the evidence stays until somebody decides.
  expect((await connection.transactions.status(NAME)).state).toBe('PREPARED');
  expect(await contentOf(connection)).toEqual(['b f:q=own']);
  await connection.table('t').put('c', { 'f:q': 'new' });
  expect(await codeOf(connection.transactions.rollback(NAME))).toBe('OK');
  expect(await contentOf(connection)).toEqual(['b f:q=own', 'c f:q=new']);
  await connection.close();
}

async function pathsOf(env: SimEnv, folder: string, ending: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await env.fs.list(folder)) {
    const path = `${folder}/${name}`;
    if ((await env.fs.stat(path))?.isDirectory === true) {
      found.push(...(await pathsOf(env, path, ending)));
    } else if (name.endsWith(ending)) found.push(path);
  }
  return found;
}

describe('point 27: cells that do not have their digest', () => {
  test.each(['a byte of the cells', 'the end of the file', 'all of it'])(
    'staged: %s',
    async (what) => {
      const env = simEnv({ seed: 27 });
      const connection = await env.drive(fresh(env, STAGED));
      await env.drive(prepared(connection));
      const next = env.crash({ keepUnsynced: 0 });
      await next.drive(
        (async (): Promise<void> => {
          const [path] = await pathsOf(next, '/data/data', '.staged');
          if (what === 'a byte of the cells') next.fs.flip(path!, 60);
          else if (what === 'all of it') await next.fs.remove(path!);
          else {
            const { sizeBytes } = (await next.fs.stat(path!))!;
            const handle = await next.fs.open(path!, 'write');
            await handle.truncate(sizeBytes - 10);
            await handle.close();
          }
          await refusesDamaged(next, STAGED);
        })(),
        10_000_000,
      );
      await env.drive(connection.close());
    },
  );

  test('staged: whole files, but those of another', async () => {
    const env = simEnv({ seed: 29 });
    const work = async (): Promise<void> => {
      const connection = await fresh(env, STAGED);
      await prepared(connection);
      const { transactions } = connection;
      await transactions.begin({ label: 'other' });
      const others = operations.map((one) => ({ ...one, values: { 'f:q': 'another' } }));
      await transactions.load({ label: 'other' }, 0, others, { table: 't' });
      await transactions.prepare({ label: 'other' });
      const files = [...connection.server.manifest.all('file')];
      const staged = files.filter(({ kind }) => kind === 'staged').sort((a, b) => a.id - b.id);
      expect(staged).toHaveLength(4);
      await connection.close();
      const bytes = await env.fs.readFile(`/data/${staged[2]!.path}`);
      const handle = await env.fs.open(`/data/${staged[0]!.path}`, 'write');
      await handle.truncate(0);
      await handle.write(bytes, 0);
      await handle.close();
      const again = await openOn(env, STAGED);
      expect(await codeOf(again.transactions.commit(NAME))).toBe('TXN_DATA_CORRUPT');
      // Whose files are whole is committed beside it.
      expect(await codeOf(again.transactions.commit({ label: 'other' }))).toBe('OK');
      expect((await contentOf(again)).length).toBe(ROWS + 1);
      expect((await again.transactions.list({ state: 'PREPARED' })).length).toBe(1);
      await again.close();
    };
    await env.drive(work(), 10_000_000);
  });

  test('in the ledger', async () => {
    const env = simEnv({ seed: 28 });
    const connection = await env.drive(fresh(env, {}));
    await env.drive(
      (async (): Promise<void> => {
        await prepared(connection);
        const ledger = new EmbeddedTable(connection.server, hiddenName(LEDGER_TABLE));
        const piece = ['p', Buffer.alloc(4)] as const;
        const value = (await ledger.get(slotRow(0)))!.value(piece)!;
        value[value.length - 1]! ^= 1;
        await ledger.put(slotRow(0), [{ family: 'p', qualifier: piece[1], value }]);
        await connection.close();
        await refusesDamaged(env, {});
      })(),
      10_000_000,
    );
  });
});

type Verb = 'begin' | 'load' | 'prepare' | 'commit' | 'rollback';
const CHANGES: ReadonlySet<string> = new Set(['open', 'write', 'truncate', 'ensureFolder', 'copy']);

function call(connection: StoreConnection, verb: Verb): Promise<unknown> {
  const { transactions } = connection;
  if (verb === 'begin') return transactions.begin({ ...NAME, requestId: 'one' });
  if (verb === 'load') return transactions.load(NAME, 0, operations, { table: 't' });
  return transactions[verb](NAME);
}

/** Runs the verbs up to `verb`, whose n-th change of the disk finds it full. Answers whether there was one. */
async function fullAt(env: SimEnv, verb: Verb, n: number, options: StoreOptions): Promise<boolean> {
  let connection = await openOn(env, options);
  await connection.admin.createTable({ name: 't', families: ['f', 'g'], SPLITS: ['m'] });
  await connection.transactions.fence('somebody');
  const verbs: Verb[] = ['begin', 'load', 'prepare', verb === 'rollback' ? 'rollback' : 'commit'];
  for (const before of verbs.slice(0, verbs.indexOf(verb))) await call(connection, before);
  let seen = 0;
  env.fs.failWhen = ({ kind, path }: FsOp) =>
    CHANGES.has(kind) && path.startsWith('/data/') && seen++ === n ? 'full' : null;
  const failure: unknown = await call(connection, verb).then(
    () => null,
    (error: unknown) => error,
  );
  env.fs.failWhen = null;
  if (failure !== null) {
    expect(failure).toBeInstanceOf(StoreException);
    const isKnown = failure instanceof DiskFullException || (failure as StoreException).retryable;
    expect(isKnown, (failure as Error).message).toBe(true);
    expect(await contentOf(connection)).toEqual([]);
  }
  // A log that failed takes nothing more: the next opening knows what became of it.
  if (connection.status().fatal !== null) {
    await connection.close();
    connection = await openOn(env, options);
    const { state } = await connection.transactions.status(NAME).catch(() => ({ state: 'none' }));
    if (verb === 'commit') expect(['PREPARED', 'COMMITTED']).toContain(state);
    if (state === 'none') for (const one of verbs.slice(0, 3)) await call(connection, one);
  } else if (failure !== null && verb !== 'begin') {
    const { state, rows } = await connection.transactions.status(NAME);
    expect(state).toBe(verb === 'commit' || verb === 'rollback' ? 'PREPARED' : 'OPEN');
    expect(rows).toBe(verb === 'load' ? 0 : ROWS);
  }
  for (const one of verbs.slice(verbs.indexOf(verb))) {
    const isDone = one === verb && failure === null;
    if (!isDone) await repeat(connection, one);
  }
  expect((await contentOf(connection)).sort()).toEqual(verb === 'rollback' ? [] : wanted());
  await connection.close();
  return seen > n;
}

/** What was done before an opening is answered so, or is done already. */
async function repeat(connection: StoreConnection, verb: Verb): Promise<void> {
  const code = await codeOf(call(connection, verb));
  expect(['OK', 'TXN_SEALED']).toContain(code);
}

describe('point 28: a full disk', () => {
  test.each([
    ['begin', 'in memory', {}],
    ['prepare', 'in memory', {}],
    ['commit', 'in memory', {}],
    ['rollback', 'in memory', {}],
    ['load', 'staged', STAGED],
    ['prepare', 'staged', STAGED],
    ['commit', 'staged', STAGED],
    ['rollback', 'staged', STAGED],
  ] as const)(
    'in %s, %s: nothing by halves, and the repeat succeeds',
    async (verb, _, options) => {
      for (let n = 0; n < 40; n++) {
        const env = simEnv({ seed: n });
        if (!(await env.drive(fullAt(env, verb, n, options), 10_000_000))) return;
      }
    },
    60_000,
  );
});

test('a decision whose sync fails is OUTCOME_UNKNOWN; the repeat after the reopen tells', async () => {
  const env = simEnv({ seed: 5 });
  await env.drive(
    (async (): Promise<void> => {
      const connection = await fresh(env, {});
      await prepared(connection);
      env.fs.failWhen = ({ kind, path }) =>
        kind === 'sync' && path.includes('/wal/') ? 'io' : null;
      const unknown = await connection.transactions.commit(NAME).catch((error: unknown) => error);
      expect(unknown).toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: true });
      env.fs.failWhen = null;
      await connection.close();
      const again = await openOn(env);
      const { tso } = await again.transactions.commit(NAME);
      expect(tso).not.toBeNull();
      expect(await codeOf(again.transactions.rollback(NAME))).toBe('TXN_COMMITTED');
      expect((await contentOf(again)).sort()).toEqual([...wanted(), 'b f:q=own'].sort());
      await again.close();
    })(),
    10_000_000,
  );
});

test('point 26: a restore has the cells of a transaction from its commit on, whole', async () => {
  const env = simEnv({ seed: 26 });
  await env.drive(
    (async (): Promise<void> => {
      const connection = await fresh(env, {});
      const moments: bigint[] = [];
      const tell = async (): Promise<void> => {
        await connection.table('t').put('b', { 'f:q': `own ${moments.length}` });
        moments.push((await connection.table('t').get('b'))!.cells[0]!.tso);
      };
      await connection.backups.create('/backups');
      await tell();
      await prepared(connection);
      await tell();
      const { tso } = await connection.transactions.commit(NAME);
      await tell();
      await connection.backups.create('/backups', { incremental: true });
      await connection.close();
      for (const [i, asOf] of [...moments, tso!, tso! - 1n].entries()) {
        await restoreBackup(env, '/backups', `/restored${i}`, { asOf });
        const restored = await open(`/restored${i}`, { ...SMALL, env });
        const own = `b f:q=own ${moments.findLastIndex((moment) => moment <= asOf)}`;
        const isIn = asOf >= tso!;
        expect((await contentOf(restored)).sort()).toEqual([...(isIn ? wanted() : []), own].sort());
        await restored.close();
      }
    })(),
    10_000_000,
  );
});
