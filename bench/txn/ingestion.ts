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

/** Both of the same rows by the same client, one request at a time. */
export async function ingestion(dir: string, rows: number): Promise<Record<string, number>> {
  const plain = await store(`${dir}-plain`);
  const table = plain.table('t');
  let start = performance.now();
  for (let first = 0; first < rows; first += BATCH) {
    const outcomes = await table.batch(rowsFrom(first));
    if (outcomes.some(({ ok }) => !ok)) throw new Error('a row was refused');
  }
  const plainRate = (rows / (performance.now() - start)) * 1000;
  await plain.close();
  const staged = await store(`${dir}-txn`);
  start = performance.now();
  for (let first = 0; first < rows; first += BATCH * BATCHES) {
    const txn = staged.transaction({ label: `t${first}` });
    await txn.begin();
    for (let b = 0; b < BATCHES; b++) await txn.load(rowsFrom(first + b * BATCH), { table: 't' });
    await txn.prepare();
    await txn.commit();
  }
  const txnRate = (rows / (performance.now() - start)) * 1000;
  const count = await staged.table('t').count();
  if (count !== rows) throw new Error(`${count} rows, not ${rows}`);
  await staged.close();
  return {
    plainRowsPerSecond: Math.round(plainRate),
    txnRowsPerSecond: Math.round(txnRate),
    txnShareOfPlain: Number((txnRate / plainRate).toFixed(3)),
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
