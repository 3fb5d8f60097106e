/** The command line of the bench. */
import { parseArgs } from 'node:util';

export interface BenchOptions {
  readonly mode: 'quick' | 'standard' | 'full';
  readonly rounds: number;
  readonly rows: number;
  readonly warmMs: number;
  readonly measureMs: number;
  readonly unflushedBytes: number;
  /** Names or beginnings of workloads; empty: all. */
  readonly only: readonly string[];
  /** Names of stores; empty: all that are installed. */
  readonly subjects: readonly string[];
  readonly note: string | null;
  /** File name of the results, without ending; null: none are written. */
  readonly save: string | null;
}

export const USAGE = `npm run bench:engine -- [options]

Cellar and the peers of bench/peers (npm run bench:peers installs them), each in its own process, in alternation.

  --quick            one short round: to see that it works, not to compare by
  --full             five rounds, longer ones, 1,000,000 rows
  --only a,b         workloads whose names begin so
  --subjects a,b     cellar, lmdb, better-sqlite3, classic-level, rocksdb, bare
  --rounds N, --rows N
  --note TEXT        kept with the results, e.g. what else ran
  --save NAME        bench/results/NAME.json and bench/plots/NAME-*.svg (default: engine, or engine-quick)
  --no-save          only the table
`;

const MODES = {
  quick: { rounds: 1, rows: 20_000, warmMs: 1000, measureMs: 500, unflushedBytes: 8_000_000 },
  standard: { rounds: 3, rows: 200_000, warmMs: 700, measureMs: 2000, unflushedBytes: 64_000_000 },
  full: { rounds: 5, rows: 1_000_000, warmMs: 1500, measureMs: 4000, unflushedBytes: 64_000_000 },
} as const;

/** Throws on options that do not exist; null when help was asked for. */
export function benchOptions(args: readonly string[]): BenchOptions | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      subjects: { type: 'string', default: '' },
      rounds: { type: 'string' },
      rows: { type: 'string' },
      note: { type: 'string' },
      save: { type: 'string' },
      'no-save': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return null;
  const mode = values.quick ? 'quick' : values.full ? 'full' : 'standard';
  const defaults = MODES[mode];
  const name = values.save ?? (mode === 'quick' ? 'engine-quick' : 'engine');
  return {
    ...defaults,
    mode,
    rounds: positive('rounds', values.rounds, defaults.rounds),
    rows: positive('rows', values.rows, defaults.rows),
    only: listOf(values.only),
    subjects: listOf(values.subjects),
    note: values.note ?? null,
    save: values['no-save'] ? null : name,
  };
}

function positive(name: string, text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`--${name} ${text}`);
  return value;
}

const listOf = (text: string): string[] => text.split(',').filter((part) => part !== '');
