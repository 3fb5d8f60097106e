/** The command line of the bench. */
import { parseArgs } from 'node:util';
import type { Sizes } from './workload.ts';

export interface BenchOptions {
  readonly mode: 'quick' | 'standard' | 'full';
  readonly sizes: Sizes;
  readonly rounds: number;
  /** Of the workloads that take long. */
  readonly longRounds: number;
  /** Names or beginnings of workloads; empty: all. */
  readonly only: readonly string[];
  /** Names of stores; empty: all that are installed. */
  readonly subjects: readonly string[];
  readonly note: string | null;
  /** File name of the results, without ending; null: none are written. */
  readonly save: string | null;
}

export const USAGE = `npm run bench:engine -- [options]

Cellar and the peers of bench/peers (npm run bench:peers installs them), each in its own process.

  (no option)        one round of three samples, 200,000 rows in memory, 2,000,000 in store files; of the peers
                     those that a workload's goal names
  --quick            small: to see that it works, not to compare by
  --full             three rounds, 1,000,000 rows in memory, 1 GB compacted, also stores of 10 M cells; all peers
  --only a,b         workloads whose names begin so, those of --full too; --list names them
  --subjects a,b     cellar, lmdb, better-sqlite3, classic-level, rocksdb, bare
  --rounds N         also of those that take long
  --rows N, --file-rows N, --large-cells N, --compact-mb N
  --note TEXT        kept with the results, e.g. what else ran
  --save NAME        bench/results/NAME.json and bench/plots/NAME-*.svg (default: engine, or engine-quick)
  --no-save          only the table
  --list             names and titles of the workloads
`;

const MILLION = 1_000_000;

const STANDARD: Sizes = {
  rows: 200_000,
  fileRows: 2 * MILLION,
  memstoreCells: MILLION,
  memstoreCellsLarge: 10 * MILLION,
  cellsSmall: MILLION,
  cellsLarge: 10 * MILLION,
  regions: 100,
  filesPerRegion: 10,
  compactBytes: 128 * MILLION,
  unflushedBytes: 64 * MILLION,
  warmMs: 2000,
  measureMs: 1500,
  loadMsMax: 40_000,
};

const SIZES: Readonly<Record<BenchOptions['mode'], Sizes>> = {
  quick: {
    ...STANDARD,
    rows: 20_000,
    fileRows: 100_000,
    memstoreCells: 200_000,
    memstoreCellsLarge: 400_000,
    cellsSmall: 100_000,
    cellsLarge: 400_000,
    regions: 10,
    compactBytes: 64 * MILLION,
    unflushedBytes: 8 * MILLION,
    warmMs: 1000,
    measureMs: 500,
    loadMsMax: 20_000,
  },
  standard: STANDARD,
  full: {
    ...STANDARD,
    rows: MILLION,
    compactBytes: 1000 * MILLION,
    measureMs: 3000,
    loadMsMax: 300_000,
  },
};

const ROUNDS: Readonly<Record<BenchOptions['mode'], number>> = { quick: 1, standard: 1, full: 3 };

/** Throws on options that do not exist; text where that is what was asked for. */
export function benchOptions(args: readonly string[]): BenchOptions | 'help' | 'list' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      subjects: { type: 'string', default: '' },
      rounds: { type: 'string' },
      rows: { type: 'string' },
      'file-rows': { type: 'string' },
      'large-cells': { type: 'string' },
      'compact-mb': { type: 'string' },
      list: { type: 'boolean', default: false },
      note: { type: 'string' },
      save: { type: 'string' },
      'no-save': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  if (values.list) return 'list';
  const mode = values.quick ? 'quick' : values.full ? 'full' : 'standard';
  const defaults = SIZES[mode];
  const name = values.save ?? (mode === 'quick' ? 'engine-quick' : 'engine');
  const large = positive('large-cells', values['large-cells'], defaults.cellsLarge);
  const megabytes = positive('compact-mb', values['compact-mb'], defaults.compactBytes / MILLION);
  return {
    mode,
    sizes: {
      ...defaults,
      rows: positive('rows', values.rows, defaults.rows),
      fileRows: positive('file-rows', values['file-rows'], defaults.fileRows),
      cellsLarge: large,
      memstoreCellsLarge: Math.min(large, defaults.memstoreCellsLarge),
      compactBytes: megabytes * MILLION,
    },
    rounds: positive('rounds', values.rounds, ROUNDS[mode]),
    longRounds: positive('rounds', values.rounds, 1),
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
