/** Snapshots of tables, clones and restores, seen from the API. */
import { describe, expect, test } from 'vitest';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { simEnv } from '../../src/io/index.ts';
import type { SimEnv } from '../../src/io/index.ts';
import { contentOf, crashesOf, filesOnDisk, start } from './store_support.ts';

/** Runs on a machine, under whose clock everything waits. */
function onMachine(seed: number, work: (env: SimEnv) => Promise<void>): Promise<void> {
  const env = simEnv({ seed });
  return env.drive(work(env));
}

const SPEC = {
  name: 't',
  families: [
    { name: 'f', VERSIONS: 3 },
    { name: 'g', DATA_BLOCK_ENCODING: 'FAST_DIFF' },
  ],
  SPLITS: ['row3', 'row6'],
};

async function fill(connection: EmbeddedConnection, table: string, round: number): Promise<void> {
  for (let i = 0; i < 10; i++) {
    await connection.table(table).put(`row${i}`, { 'f:a': `${round}.${i}`, [`g:q${i % 2}`]: 'x' });
  }
  await connection.table(table).delete(`row${round % 10}`, { columns: ['f:a'] });
}

async function snapshotTso(connection: EmbeddedConnection, name: string): Promise<bigint> {
  const found = (await connection.admin.listSnapshots()).find((known) => known.name === name);
  return found!.tso;
}

describe('a snapshot', () => {
  test.each([1, 2])('is the tables at one moment while writers run, seed %i', async (seed) => {
    await onMachine(seed, async (env) => {
      const connection = await start(env);
      await connection.admin.createTable(SPEC);
      await connection.admin.createTable({ ...SPEC, name: 'u' });
      let isOver = false;
      const writer = async (index: number): Promise<void> => {
        for (let i = 0; !isOver; i++) {
          const row = `row${(i * 7 + index) % 10}`;
          await connection.table('u').put(row, { [`f:w${index}`]: String(i) });
          await connection.table('t').put(row, { [`f:w${index}`]: String(i), 'g:x': 'y' });
        }
      };
      const writers = [0, 1, 2].map(writer);
      const flusher = (async (): Promise<void> => {
        while (!isOver) {
          await env.timers.sleep(5);
          await connection.admin.flush('t');
          await connection.admin.compact('t', { major: seed % 2 === 0 });
        }
      })();
      for (let round = 0; round < 4; round++) {
        await env.timers.sleep(15);
        await connection.admin.snapshot(`s${round}`, ['t', 'u']);
      }
      isOver = true;
      await Promise.all([...writers, flusher]);
      for (let round = 0; round < 4; round++) {
        const name = `s${round}`;
        const tso = await snapshotTso(connection, name);
        await connection.admin.cloneSnapshot(name, { t: `t${round}`, u: `u${round}` });
        for (const table of ['t', 'u']) {
          const then = await contentOf(connection, table, tso);
          expect(await contentOf(connection, `${table}${round}`)).toEqual(then);
          expect(then.length).toBeGreaterThan(0);
        }
      }
      await connection.close();
    });
  });

  test('keeps its files through compaction, drop and reopening; they go with the last that names them', async () => {
    await onMachine(5, async (env) => {
      let connection = await start(env);
      const { admin } = connection;
      await admin.createTable(SPEC);
      for (let round = 0; round < 3; round++) {
        await fill(connection, 't', round);
        await admin.flush('t');
      }
      await fill(connection, 't', 3);
      const then = await contentOf(connection, 't');
      await admin.snapshot('s', 't');
      const [described] = await admin.listSnapshots();
      expect(described).toMatchObject({ name: 's', tables: ['t'] });
      expect(described!.files).toBeGreaterThan(3);
      await fill(connection, 't', 4);
      await admin.compact('t', { major: true });
      await admin.disableTable('t');
      await admin.dropTable('t');
      await connection.close();
      connection = await start(env);
      await connection.admin.cloneSnapshot('s', 'c');
      expect(await contentOf(connection, 'c')).toEqual(then);
      await connection.admin.deleteSnapshot('s');
      expect(await connection.admin.listSnapshots()).toEqual([]);
      expect(await contentOf(connection, 'c')).toEqual(then);
      const shared = (await connection.files('c')).map(({ path }) => path);
      await connection.admin.compact('c', { major: true });
      expect(await contentOf(connection, 'c')).toEqual(then);
      await connection.close();
      const left = await filesOnDisk(env);
      const live = (await connectionFiles(env)).sort();
      for (const path of shared) expect(left.includes(path)).toBe(live.includes(path));
      connection = await start(env);
      expect(await contentOf(connection, 'c')).toEqual(then);
      await connection.close();
    });
  });

  test('names, tables and states are checked', async () => {
    await onMachine(6, async (env) => {
      const connection = await start(env);
      const { admin } = connection;
      await admin.createTable(SPEC);
      const rejects = async (work: Promise<unknown>, name: string): Promise<void> => {
        await expect(work).rejects.toMatchObject({ name });
      };
      await rejects(admin.snapshot('a:b', 't'), 'IllegalArgumentException');
      await rejects(admin.snapshot('s', []), 'IllegalArgumentException');
      await rejects(admin.snapshot('s', 'none'), 'TableNotFoundException');
      await admin.snapshot('s', 'default:t');
      await rejects(admin.snapshot('s', 't'), 'SnapshotExistsException');
      await rejects(admin.cloneSnapshot('none', 'c'), 'SnapshotDoesNotExistException');
      await rejects(admin.deleteSnapshot('none'), 'SnapshotDoesNotExistException');
      await rejects(admin.restoreSnapshot('none'), 'SnapshotDoesNotExistException');
      await rejects(admin.cloneSnapshot('s', 't'), 'TableExistsException');
      await rejects(admin.cloneSnapshot('s', 'nowhere:c'), 'NamespaceNotFoundException');
      await rejects(admin.cloneSnapshot('s', '.c'), 'IllegalArgumentException');
      await rejects(admin.cloneSnapshot('s', { other: 'c' }), 'IllegalArgumentException');
      await rejects(admin.restoreSnapshot('s'), 'TableNotDisabledException');
      await admin.createTable({ ...SPEC, name: 'u' });
      await admin.snapshot('both', ['t', 'u']);
      await rejects(admin.cloneSnapshot('both', 'c'), 'IllegalArgumentException');
      await rejects(admin.cloneSnapshot('both', { t: 'c', u: 'c' }), 'IllegalArgumentException');
      expect((await admin.listSnapshots({ pattern: 'b.*' })).map(({ name }) => name)).toEqual([
        'both',
      ]);
      await connection.close();
    });
  });
});

/** The paths that the manifest names now. */
async function connectionFiles(env: SimEnv): Promise<string[]> {
  const connection = await start(env);
  const files = await connection.files();
  await connection.close();
  return files.map(({ path }) => path);
}

describe('a clone', () => {
  test('is a table of its own: written, deleted from, flushed, compacted', async () => {
    await onMachine(7, async (env) => {
      let connection = await start(env);
      const { admin } = connection;
      await admin.createTable(SPEC);
      await fill(connection, 't', 0);
      await admin.flush('t');
      await fill(connection, 't', 1);
      await admin.snapshot('s', 't');
      await admin.cloneSnapshot('s', 'c');
      const source = await contentOf(connection, 't');
      expect(await contentOf(connection, 'c')).toEqual(source);
      expect((await admin.describeTable('c')).splits).toEqual(
        (await admin.describeTable('t')).splits,
      );
      await connection.table('c').put('row1', { 'f:a': 'new' });
      await connection.table('c').delete('row2');
      const changed = await contentOf(connection, 'c');
      expect(changed).not.toEqual(source);
      expect(await contentOf(connection, 't')).toEqual(source);
      await admin.compact('c', { major: true });
      await admin.flush('c');
      await admin.compact('c', { major: true });
      await admin.compact('t', { major: true });
      expect(await contentOf(connection, 'c')).toEqual(changed);
      expect(await contentOf(connection, 't')).toEqual(source);
      await admin.cloneSnapshot('s', 'c2');
      expect(await contentOf(connection, 'c2')).toEqual(source);
      await connection.close();
      connection = await start(env);
      expect(await contentOf(connection, 'c')).toEqual(changed);
      expect(await contentOf(connection, 'c2')).toEqual(source);
      await connection.close();
    });
  });
});

describe('a restore', () => {
  test('brings content and description back; the table stays disabled', async () => {
    await onMachine(8, async (env) => {
      let connection = await start(env);
      const { admin } = connection;
      await admin.createTable(SPEC);
      await fill(connection, 't', 0);
      await admin.snapshot('s', 't');
      const then = await contentOf(connection, 't');
      await fill(connection, 't', 1);
      const newer = await contentOf(connection, 't');
      const moment = await connection.table('t').put('row0', { 'f:a': 'last' }, { ts: 1n });
      await admin.dropFamily('t', 'g');
      await admin.addFamily('t', 'h');
      await admin.disableTable('t');
      await admin.restoreSnapshot('s');
      expect(await admin.isEnabled('t')).toBe(false);
      await admin.enableTable('t');
      expect(await contentOf(connection, 't')).toEqual(then);
      expect(await contentOf(connection, 't', moment - 1n)).toEqual(newer);
      expect((await admin.describeTable('t')).families.map(({ name }) => name)).toEqual(['f', 'g']);
      await fill(connection, 't', 2);
      const later = await contentOf(connection, 't');
      await connection.close();
      connection = await start(env);
      expect(await contentOf(connection, 't')).toEqual(later);
      await connection.admin.disableTable('t');
      await connection.admin.dropTable('t');
      await connection.admin.restoreSnapshot('s');
      expect(await contentOf(connection, 't')).toEqual(then);
      await connection.close();
    });
  });
});

describe('after a crash at any step', () => {
  test('of a snapshot, it is there whole or not at all', async () => {
    await onMachine(9, async (env) => {
      const connection = await start(env);
      await connection.admin.createTable(SPEC);
      await fill(connection, 't', 0);
      await connection.admin.flush('t');
      await fill(connection, 't', 1);
      const content = await contentOf(connection, 't');
      const machines = await crashesOf(env, () => connection.admin.snapshot('s', 't'));
      let found = 0;
      for (const machine of machines) {
        await machine.drive(
          (async (): Promise<void> => {
            const after = await start(machine);
            expect(await contentOf(after, 't')).toEqual(content);
            const snapshots = await after.admin.listSnapshots();
            if (snapshots.length > 0) {
              found++;
              await after.admin.cloneSnapshot('s', 'c');
              expect(await contentOf(after, 'c')).toEqual(content);
            } else {
              await after.admin.snapshot('s', 't');
            }
            await after.close();
          })(),
        );
      }
      expect(found).toBeGreaterThan(0);
      expect(found).toBeLessThan(machines.length);
      await connection.close();
    });
  });

  test.each(['clone', 'restore', 'delete'])('of a %s, too', async (kind) => {
    await onMachine(10, async (env) => {
      const connection = await start(env);
      const { admin } = connection;
      await admin.createTable(SPEC);
      await fill(connection, 't', 0);
      await admin.snapshot('s', 't');
      const then = await contentOf(connection, 't');
      await fill(connection, 't', 1);
      const now = await contentOf(connection, 't');
      await admin.disableTable('t');
      const machines = await crashesOf(env, async () => {
        if (kind === 'clone') await admin.cloneSnapshot('s', 'c');
        else if (kind === 'restore') await admin.restoreSnapshot('s');
        else await admin.deleteSnapshot('s');
      });
      const outcomes = new Set<string>();
      for (const machine of machines) {
        await machine.drive(
          (async (): Promise<void> => {
            const after = await start(machine);
            await after.admin.enableTable('t');
            const content = await contentOf(after, 't');
            const isRestored = content.length === then.length;
            expect(content).toEqual(isRestored && kind === 'restore' ? then : now);
            const hasSnapshot = (await after.admin.listSnapshots()).length > 0;
            const hasClone = await after.admin.tableExists('c');
            if (hasClone) expect(await contentOf(after, 'c')).toEqual(then);
            if (hasSnapshot) {
              await after.admin.cloneSnapshot('s', 'again');
              expect(await contentOf(after, 'again')).toEqual(then);
            }
            outcomes.add(`${isRestored} ${hasSnapshot} ${hasClone}`);
            await after.close();
          })(),
        );
      }
      expect(outcomes.size).toBe(2);
      await connection.close();
    });
  });
});
