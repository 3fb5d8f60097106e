/**
 * Exactly once through the client's crash points (transactions.md section 7, 29 to 37): lost answers, killed and zombie tasks,
 * repeated restores, rescaling, servers that restart or are away. Every record of the source is in the store once, in the feed
 * once, whatever happened.
 */
import { describe, expect, test } from 'vitest';
import { ExactlyOnceException, ExactlyOnceWriter } from '../../src/client/exactly_once_writer.ts';
import type { Committable, ExactlyOnceOptions } from '../../src/client/exactly_once_writer.ts';
import { NoAnswerException } from '../../src/client/txn/index.ts';
import { StoreException, seeded, simEnv } from '../../src/io/index.ts';
import type { SeededRandom, SimEnv } from '../../src/io/index.ts';
import { TransactionException } from '../../src/model/index.ts';
import type { Transactions } from '../../src/model/index.ts';
import { open } from '../../src/embedded/index.ts';
import type { StoreConnection } from '../../src/embedded/index.ts';

const PARTITIONS = 4;

/** Servers that lose answers, restart and go away. */
class Cluster {
  readonly env: SimEnv;
  readonly random: SeededRandom;
  readonly connections = new Map<string, StoreConnection>();
  readonly away = new Set<string>();
  /** Chance that an answer is lost, after the verb was done. */
  loss = 0;

  constructor(env: SimEnv, seed: number) {
    this.env = env;
    this.random = seeded(seed);
  }

  async start(address: string): Promise<void> {
    const connection = await open(`/${address}`, { env: this.env, blockingSync: false });
    if (!(await connection.admin.tableExists('t'))) {
      await connection.admin.createTable({ name: 't', families: ['f'] });
    }
    this.connections.set(address, connection);
  }

  async restart(address: string): Promise<void> {
    const connection = this.connections.get(address)!;
    this.connections.delete(address);
    await connection.close();
    await this.start(address);
  }

  /** What a client holds of a server: it stays while the server is restarted. */
  readonly connect = async (address: string): Promise<Transactions> => {
    const live = (): StoreConnection => {
      const connection = this.connections.get(address);
      if (connection === undefined || this.away.has(address)) {
        throw new NoAnswerException(`${address} is away`);
      }
      return connection;
    };
    const { serverId } = live().transactions;
    const call = async <T>(verb: (transactions: Transactions) => Promise<T>): Promise<T> => {
      const connection = live();
      let answer: T;
      try {
        answer = await verb(connection.transactions);
      } catch (error) {
        if (this.connections.get(address) !== connection) throw new NoAnswerException('restarted');
        throw error;
      }
      if (this.random.float() < this.loss) throw new NoAnswerException('the answer was lost');
      return answer;
    };
    return {
      serverId,
      begin: (options) => call((to) => to.begin(options)),
      load: (name, seq, operations, options) =>
        call((to) => to.load(name, seq, operations, options)),
      prepare: (name, options) => call((to) => to.prepare(name, options)),
      commit: (name, options) => call((to) => to.commit(name, options)),
      rollback: (name, options) => call((to) => to.rollback(name, options)),
      status: (name) => call((to) => to.status(name)),
      list: (filter) => call((to) => to.list(filter)),
      fence: (producer) => call((to) => to.fence(producer)),
    };
  };

  async close(): Promise<void> {
    for (const connection of this.connections.values()) await connection.close();
  }

  /** Rows in the stores, and how often each was in their feeds. */
  async outcome(): Promise<{ rows: string[]; fed: Map<string, number> }> {
    const rows: string[] = [];
    const fed = new Map<string, number>();
    for (const connection of this.connections.values()) {
      for await (const { rowText } of connection.table('t').scan()) rows.push(rowText);
      for await (const change of connection.changes({ from: 0n, tables: ['t'] })) {
        if (change.kind !== 'commit') continue;
        for (const { row } of change.cells) {
          const text = Buffer.from(row).toString();
          fed.set(text, (fed.get(text) ?? 0) + 1);
        }
      }
    }
    return { rows: rows.sort(), fed };
  }
}

interface Checkpoint {
  readonly id: number;
  readonly offsets: readonly number[];
  readonly committables: readonly Committable[];
}

const rowOf = (partition: number, n: number): string =>
  `${partition}-${String(n).padStart(4, '0')}`;

/** A job of `parallelism` writers over four partitions. */
class Job {
  readonly cluster: Cluster;
  readonly parallelism: number;
  readonly offsets: number[];
  readonly writers: ExactlyOnceWriter[] = [];
  checkpointId: number;

  private constructor(cluster: Cluster, parallelism: number, from: Checkpoint) {
    this.cluster = cluster;
    this.parallelism = parallelism;
    this.offsets = [...from.offsets];
    this.checkpointId = from.id;
  }

  static async start(cluster: Cluster, parallelism: number, from: Checkpoint): Promise<Job> {
    const job = new Job(cluster, parallelism, from);
    for (let subtask = 0; subtask < parallelism; subtask++) {
      const committables = from.committables.filter((_, i) => i % parallelism === subtask);
      const options: ExactlyOnceOptions = {
        servers: [...cluster.connections.keys()],
        connect: cluster.connect,
        prefix: 'job',
        subtask,
        parallelism,
        restored: { checkpointId: from.id, committables },
        batchRows: 3,
        env: cluster.env,
      };
      job.writers.push(await ExactlyOnceWriter.open(options));
    }
    return job;
  }

  async read(count: number, end: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      for (let partition = 0; partition < PARTITIONS; partition++) {
        const n = this.offsets[partition]!;
        if (n >= end) continue;
        const writer = this.writers[partition % this.parallelism]!;
        await writer.write({ table: 't', put: rowOf(partition, n), values: { 'f:n': String(n) } });
        this.offsets[partition] = n + 1;
      }
    }
  }

  async prepare(): Promise<Checkpoint> {
    const id = this.checkpointId + 1;
    const committables: Committable[] = [];
    for (const writer of this.writers) committables.push(...(await writer.prepareCommit(id)));
    this.checkpointId = id;
    // It goes through the checkpoint's storage.
    return JSON.parse(JSON.stringify({ id, offsets: this.offsets, committables })) as Checkpoint;
  }

  async commit(checkpoint: Checkpoint): Promise<void> {
    for (const [i, committable] of checkpoint.committables.entries()) {
      await this.writers[i % this.parallelism]!.commit([committable]);
    }
  }
}

const START: Checkpoint = { id: 0, offsets: [0, 0, 0, 0], committables: [] };

async function withCluster(
  seed: number,
  addresses: readonly string[],
  work: (cluster: Cluster) => Promise<void>,
): Promise<void> {
  const env = simEnv({ seed });
  await env.drive(
    (async (): Promise<void> => {
      const cluster = new Cluster(env, seed);
      for (const address of addresses) await cluster.start(address);
      await work(cluster);
      await cluster.close();
    })(),
    100_000_000,
  );
}

async function expectOnce(cluster: Cluster, perPartition: number): Promise<void> {
  const wanted = Array.from({ length: PARTITIONS }, (_, partition) =>
    Array.from({ length: perPartition }, (_, n) => rowOf(partition, n)),
  ).flat();
  const { rows, fed } = await cluster.outcome();
  expect(rows).toEqual(wanted.sort());
  expect([...fed.values()].filter((count) => count !== 1)).toEqual([]);
  expect(fed.size).toBe(wanted.length);
}

describe('ExactlyOnceWriter', () => {
  test.each([1, 2, 3, 4, 5])(
    'anything may happen between any two steps (seed %i)',
    async (seed) => {
      await withCluster(seed, ['s1', 's2', 's3'], async (cluster) => {
        const { random } = cluster;
        const end = 60;
        cluster.loss = 0.15;
        let saved: Checkpoint = START;
        let job = await Job.start(cluster, 2, saved);
        const restore = async (): Promise<void> => {
          // A zombie may still be there: nobody closes it.
          job = await Job.start(cluster, [1, 2, 4][random.int(3)]!, saved);
        };
        for (let round = 0; saved.offsets.some((offset) => offset < end); round++) {
          expect(round).toBeLessThan(300);
          const zombie = job;
          try {
            await job.read(1 + random.int(6), end);
            if (random.chance(0.15)) await restore();
            if (random.chance(0.1)) await cluster.restart(['s1', 's2', 's3'][random.int(3)]!);
            const checkpoint = await job.prepare();
            // Killed after prepare, before the checkpoint is complete.
            if (random.chance(0.2)) {
              await restore();
              continue;
            }
            saved = checkpoint;
            // Complete, the committer killed; or restored twice from it.
            if (random.chance(0.2)) await restore();
            if (random.chance(0.1)) await restore();
            else if (job === zombie) await job.commit(checkpoint);
          } catch (error) {
            // The checkpoint has failed: back to the last one.
            if (!(error instanceof StoreException)) throw error;
            expect(error).not.toBeInstanceOf(ExactlyOnceException);
            await restore();
          }
          if (zombie !== job && random.chance(0.5)) {
            // It is fenced; or its subtask is no more, and what it prepares is never committed.
            await zombie
              .read(3, end)
              .then(() => zombie.prepare())
              .catch((error: unknown) => expect(error).toBeInstanceOf(StoreException));
          }
        }
        await job.commit(saved);
        await expectOnce(cluster, end);
      });
    },
  );

  test('one of three servers away: its committables wait, the others go on', async () => {
    await withCluster(11, ['s1', 's2', 's3'], async (cluster) => {
      const job = await Job.start(cluster, 4, START);
      await job.read(5, 5);
      const checkpoint = await job.prepare();
      expect(checkpoint.committables.length).toBeGreaterThan(1);
      const gone = checkpoint.committables[0]!.addresses[0]!;
      cluster.away.add(gone);
      const commits = checkpoint.committables.map((one, i) => job.writers[i]!.commit([one]));
      await job.read(5, 10);
      const second = await job.prepare();
      expect(second.committables.every(({ addresses }) => addresses[0] !== gone)).toBe(true);
      await cluster.env.timers.sleep(180_000);
      cluster.away.delete(gone);
      await Promise.all(commits);
      await job.commit(second);
      await expectOnce(cluster, 10);
    });
  });

  test('two committers at once; a checkpoint older than what was committed is told', async () => {
    await withCluster(12, ['s1'], async (cluster) => {
      const job = await Job.start(cluster, 1, START);
      await job.read(3, 3);
      const first = await job.prepare();
      await Promise.all([job.commit(first), job.commit(first), job.commit(first)]);
      await job.read(3, 6);
      await job.commit(await job.prepare());
      await expectOnce(cluster, 6);
      const back = Job.start(cluster, 1, first);
      await expect(back).rejects.toThrow(ExactlyOnceException);
      const lost: Committable = { ...first.committables[0]!, label: 'job-0-77-1', txnId: '77' };
      await expect(job.writers[0]!.commit([lost])).rejects.toThrow(ExactlyOnceException);
    });
  });

  test('closing rolls back what was not handed over', async () => {
    await withCluster(13, ['s1'], async (cluster) => {
      const job = await Job.start(cluster, 1, START);
      await job.read(3, 3);
      await job.writers[0]!.flush();
      const { transactions } = cluster.connections.get('s1')!;
      expect(await transactions.list({ state: 'OPEN' })).toHaveLength(1);
      await job.writers[0]!.close();
      const [ended] = await transactions.list();
      expect([ended!.state, ended!.reason]).toEqual(['ABORTED', 'USER']);
      await expect(transactions.commit({ label: ended!.label })).rejects.toThrow(
        TransactionException,
      );
    });
  });
});
