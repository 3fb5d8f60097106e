/** Where the oracle starts: the pure part of opening it (transactions.md section 1, Calibration). */
import type { OracleRecord } from '../manifest/index.ts';
import { TsoNotCalibrated, TsoStateLost } from '../model/index.ts';
import { PHYSICAL_LIMIT_MS, physicalMsOf } from './layout.ts';

/** The durable state of a store that has none yet. */
export const FRESH_ORACLE: OracleRecord = {
  v: 1,
  windowEndMs: 0,
  committedTso: 0n,
  external: false,
  cleanCursor: null,
  stampsMayBeLost: false,
};

/** Throws TsoStateLost for a record that this program cannot have written, and for none while data exists. */
export function checkRecord(record: OracleRecord | null, dataExists: boolean): OracleRecord {
  if (record === null) {
    if (dataExists) throw stateLost('there is data, but no saved state');
    return FRESH_ORACLE;
  }
  if (record.v !== 1) throw stateLost(`the saved state has version ${record.v}, not 1`);
  const times = [record.windowEndMs, physicalMsOf(record.committedTso)];
  if (record.cleanCursor !== null) times.push(physicalMsOf(record.cleanCursor));
  if (times.some((ms) => ms < 0 || ms >= PHYSICAL_LIMIT_MS)) {
    throw stateLost('the saved state holds a time out of range');
  }
  return record;
}

/** The error for a saved state that cannot be used. */
export function stateLost(why: string, cause?: unknown): TsoStateLost {
  return new TsoStateLost(
    `the timestamp oracle cannot start: ${why}; "cellar check --repair" sets it above every TSO found (or to --tso-floor)`,
    cause === undefined ? undefined : { cause },
  );
}

/**
 * The greatest millisecond that may have been used. `largestTso` is the largest in log, manifest and store files. When
 * stamps left the process and it did not close cleanly, any below the window may have been given.
 */
export function lastUsedMs(record: OracleRecord, largestTso: bigint): number {
  const clean = record.cleanCursor === null ? 0 : physicalMsOf(record.cleanCursor);
  const window = record.external && record.cleanCursor === null ? record.windowEndMs : 0;
  return Math.max(physicalMsOf(largestTso), physicalMsOf(record.committedTso), clean, window);
}

/** The millisecond to start at. */
export function startMs(lastMs: number, nowMs: number): number {
  return nowMs - lastMs < 1 ? lastMs + 1 : nowMs;
}

/**
 * The end of a window for stamps from `nextMs` on. While the oracle is ahead of the clock it reserves only what it needs, so
 * that kills do not add up.
 */
export function windowEnd(
  oldMs: number,
  nextMs: number,
  nowMs: number,
  durationMs: number,
): number {
  return Math.max(oldMs, nextMs + Math.max(2, durationMs - Math.max(0, nextMs - nowMs)));
}

export function clockBackward(
  lastMs: number,
  nowMs: number,
  thresholdMs: number,
): TsoNotCalibrated {
  return new TsoNotCalibrated(
    `the clock shows ${iso(nowMs)} (${nowMs}), ${lastMs - nowMs} ms behind the last stamp at ${iso(lastMs)} (${lastMs}); ` +
      `more than tso_clock_backward_startup_threshold_ms = ${thresholdMs}: repair the clock or raise the knob`,
  );
}

/** For error texts: any millisecond in range is a valid Date. */
function iso(ms: number): string {
  return new Date(ms).toISOString();
}
