/**
 * Throughput and visibility delay over checkpoint intervals, as vendors of exactly-once sinks plot them: one writer, a
 * transaction an interval. Times are scaled down: an interval of 60 s lasts 60 s / scale here, and is shown as 60 s.
 */
import type { LoadOperation } from '../../src/model/index.ts';
import { product } from './product.ts';

const INTERVALS_S = [1, 5, 10, 20, 30, 60];
const BATCH = 500;

export interface IntervalPoint {
  readonly intervalSeconds: number;
  readonly rowsPerSecond: number;
  /** From a row's load to its commit, scaled back. */
  readonly visibilityDelaySeconds: number;
  readonly transactions: number;
}

export async function intervals(
  dir: string,
  scale: number,
  seconds: number,
): Promise<IntervalPoint[]> {
  const points: IntervalPoint[] = [];
  for (const intervalSeconds of INTERVALS_S) {
    const connection = await (await product()).open(`${dir}-${intervalSeconds}`);
    await connection.admin.createTable({ name: 't', families: ['f'] });
    const lengthMs = (intervalSeconds * 1000) / scale;
    const start = performance.now();
    let rows = 0;
    let delayMs = 0;
    let transactions = 0;
    while (performance.now() - start < Math.max(seconds * 1000, lengthMs)) {
      const txn = connection.transaction({ label: `t${transactions}` });
      await txn.begin();
      const begun = performance.now();
      const loadedAt: number[] = [];
      do {
        const operations: LoadOperation[] = Array.from({ length: BATCH }, (_, i) => ({
          put: `r${rows + i}`,
          values: { 'f:a': 'x'.repeat(100) },
        }));
        await txn.load(operations, { table: 't' });
        rows += BATCH;
        loadedAt.push(performance.now());
      } while (performance.now() - begun < lengthMs);
      await txn.prepare();
      await txn.commit();
      const visibleAt = performance.now();
      delayMs += loadedAt.reduce((sum, at) => sum + (visibleAt - at), 0) / loadedAt.length;
      transactions++;
    }
    const took = performance.now() - start;
    await connection.close();
    points.push({
      intervalSeconds,
      rowsPerSecond: Math.round((rows / took) * 1000),
      visibilityDelaySeconds: Number(((delayMs / transactions / 1000) * scale).toFixed(2)),
      transactions,
    });
  }
  return points;
}
