/** Rows a second through begin, load, prepare, commit, beside plain batches; commit latency beside 1,000 prepared ones. */
import type { StoreConnection } from '../../src/embedded/index.ts';
import type { LoadOperation } from '../../src/model/index.ts';
import { product } from './product.ts';

const BATCH = 1000;
/** Batches of one transaction. */
const BATCHES = 10;

const rowsFrom = (first: number): LoadOperation[] =>
  Array.from({ length: BATCH }, (_, i) => ({
    put: `row${String(first + i).padStart(9, '0')}`,
    values: { 'f:a': `value ${first + i}`, 'f:b': 'x'.repeat(80) },
  }));

async function store(dir: string): Promise<StoreConnection> {
  const connection = await (await product()).open(dir);
  await connection.admin.createTable({ name: 't', families: ['f'] });
  return connection;
}

/** Of one way in. */
interface Way {
  wallMs: number;
  cpuMs: number;
}

async function timed(way: Way, work: () => Promise<void>): Promise<void> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  way.wallMs += performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  way.cpuMs += (user + system) / 1000;
}

/** Both of the same rows by the same client, one request at a time, in turns. The first tenth warms up. */
export async function ingestion(dir: string, rows: number): Promise<Record<string, number>> {
  const plain = await store(`${dir}-plain`);
  const staged = await store(`${dir}-txn`);
  const table = plain.table('t');
  const byBatch: Way = { wallMs: 0, cpuMs: 0 };
  const byTxn: Way = { wallMs: 0, cpuMs: 0 };
  const warm = Math.ceil(rows / 10);
  let counted = 0;
  for (let first = 0; first < rows + warm; first += BATCH * BATCHES) {
    const isWarm = first < warm;
    if (!isWarm) counted += BATCH * BATCHES;
    await timed(isWarm ? { wallMs: 0, cpuMs: 0 } : byBatch, async () => {
      for (let b = 0; b < BATCHES; b++) {
        const outcomes = await table.batch(rowsFrom(first + b * BATCH));
        if (outcomes.some(({ ok }) => !ok)) throw new Error('a row was refused');
      }
    });
    await timed(isWarm ? { wallMs: 0, cpuMs: 0 } : byTxn, async () => {
      const txn = staged.transaction({ label: `t${first}` });
      await txn.begin();
      for (let b = 0; b < BATCHES; b++) await txn.load(rowsFrom(first + b * BATCH), { table: 't' });
      await txn.prepare();
      await txn.commit();
    });
  }
  const [has, wanted] = [await staged.table('t').count(), await table.count()];
  if (has !== wanted) throw new Error(`${has} rows, not ${wanted}`);
  await plain.close();
  await staged.close();
  return {
    rowsOfTransaction: BATCH * BATCHES,
    plainRowsPerSecond: Math.round((counted / byBatch.wallMs) * 1000),
    txnRowsPerSecond: Math.round((counted / byTxn.wallMs) * 1000),
    txnShareOfPlain: Number((byBatch.wallMs / byTxn.wallMs).toFixed(3)),
    plainCpuMicrosPerRow: Number(((byBatch.cpuMs / counted) * 1000).toFixed(2)),
    txnCpuMicrosPerRow: Number(((byTxn.cpuMs / counted) * 1000).toFixed(2)),
  };
}

/** Milliseconds of a commit while so many others wait for their decision. */
export async function preparedLatency(
  dir: string,
  prepared: number,
): Promise<Record<string, number>> {
  const connection = await store(dir);
  const make = async (label: string): Promise<void> => {
    const txn = connection.transaction({ label });
    await txn.begin();
    await txn.load([{ put: label, values: { 'f:a': 'x'.repeat(100) } }], { table: 't' });
    await txn.prepare();
  };
  for (let i = 0; i < prepared; i++) await make(`waiting-${i}`);
  const took: number[] = [];
  for (let i = 0; i < 200; i++) {
    await make(`now-${i}`);
    const start = performance.now();
    await connection.transactions.commit({ label: `now-${i}` });
    took.push(performance.now() - start);
  }
  await connection.close();
  took.sort((a, b) => a - b);
  const at = (share: number): number => Number(took[Math.floor(took.length * share)]!.toFixed(3));
  return { prepared, commitP50Ms: at(0.5), commitP99Ms: at(0.99) };
}
