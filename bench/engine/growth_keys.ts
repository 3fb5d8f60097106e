/** Keys over a space that is cut into regions, and the hot ones among those of the growth curves. */
import { keyOf } from './rows.ts';

export const KEY_SPACE = 1_000_000_000;
/** The rows lie in so many runs, evenly over the key space; each run begins with its hot rows. */
export const GROWTH_RUNS = 100;
const RUN_SPACE = KEY_SPACE / GROWTH_RUNS;
/** Coprime to every number of rows that is no multiple of it: the order of loading visits each row once. */
const STRIDE = 2_654_435_761;

/** Keys that cut the key space into so many equal parts. */
export const cutsOf = (regions: number): string[] =>
  Array.from({ length: regions - 1 }, (_, i) =>
    Buffer.from(keyOf(Math.floor(((i + 1) * KEY_SPACE) / regions))).toString('latin1'),
  );

/** Key number of the row that is loaded as number `i` of `rows`: all over the key space, each once. */
export function growthKeyNumber(i: number, rows: number): number {
  // Products of two numbers below 2^32 are not exact: the upper part of `i` is brought in by itself.
  const low = i & 0xffff;
  const high = Math.floor(i / 0x10000);
  const factor = STRIDE % rows;
  const row = (((high * factor) % rows) * 0x10000 + low * factor) % rows;
  return keyNumberAt(row, rows);
}

/** Key number of the hot row `n` of `hot`: the same in each store, however many rows it has. */
export function hotKeyNumber(n: number, hot: number): number {
  const inRun = Math.ceil(hot / GROWTH_RUNS);
  return Math.floor(n / inRun) * RUN_SPACE + (n % inRun);
}

/** Rows are counted through the runs; runs differ by a row at most. */
const keyNumberAt = (row: number, rows: number): number => {
  const inRun = Math.ceil(rows / GROWTH_RUNS);
  return Math.floor(row / inRun) * RUN_SPACE + (row % inRun);
};
