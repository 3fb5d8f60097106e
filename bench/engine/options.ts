/** The command line of the bench. */
import { parseArgs } from 'node:util';
import type { Sizes } from './workload.ts';

export interface BenchOptions {
  readonly mode: 'quick' | 'standard' | 'full';
  readonly sizes: Sizes;
  readonly rounds: number;
  /** Minutes that the run may take; null: as long as it needs. */
  readonly budgetMinutes: number | null;
  /** All that are installed, or those that a workload's goal names. */
  readonly peers: 'all' | 'rivals';
  /** Names or beginnings of workloads; empty: all. */
  readonly only: readonly string[];
  /** Names or beginnings of workloads that are left out. */
  readonly skip: readonly string[];
  /** Names of stores; empty: all that are installed. */
  readonly subjects: readonly string[];
  readonly note: string | null;
  /** File name of the results, without ending; null: none are written. */
  readonly save: string | null;
  /** A CPU profile of Cellar's process is taken in each workload, and its top told. */
  readonly profile: boolean;
  /** Only the estimate is printed. */
  readonly dry: boolean;
}

export const USAGE = `npm run bench:engine -- [options]

Cellar and the peers of bench/peers (npm run bench:peers installs them), each in its own process. The run begins with
an estimate of its hours.

  (no option)        five rounds, all peers, 200,000 rows in memory, 2,000,000 in store files, 50,000 of 10 kB, growth to
                     50,000,000 rows
  --quick            every workload, small, one round, in some three minutes: to see that it works, not to compare by
  --full             1,000,000 rows in memory, 1 GB compacted, also stores of 10 M cells
  --budget MINUTES   sizes, times and rounds are made smaller until the estimate fits; a workload that takes longer than
                     it should has fewer rounds
  --dry              print the estimate and end
  --profile          take a CPU profile of Cellar's process too, and print where its time goes: figures are lower then
  --only a,b         workloads whose names begin so, those of --full too; --list names them
  --skip a,b         without those
  --subjects a,b     cellar, lmdb, better-sqlite3, classic-level, rocksdb, bare
  --peers KIND       all, or rivals: of each workload the peers that its goal names
  --rounds N
  --rows N, --file-rows N, --large-rows N, --version-rows N, --growth-rows N, --large-cells N, --compact-mb N
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
  versionRows: 20_000,
  versions: 100,
  largeRows: 50_000,
  largeLength: 10_000,
  growthRows: 50 * MILLION,
  growthHotRows: 200_000,
  compactBytes: 128 * MILLION,
  unflushedBytes: 64 * MILLION,
  warmMs: 2000,
  measureMs: 1500,
  loadMsMax: 120_000,
};

const SIZES: Readonly<Record<BenchOptions['mode'], Sizes>> = {
  quick: {
    ...STANDARD,
    rows: 10_000,
    fileRows: 20_000,
    memstoreCells: 50_000,
    memstoreCellsLarge: 100_000,
    cellsSmall: 20_000,
    cellsLarge: 40_000,
    regions: 10,
    versionRows: 200,
    largeRows: 500,
    growthRows: 50_000,
    growthHotRows: 1000,
    compactBytes: 16 * MILLION,
    unflushedBytes: 2 * MILLION,
    warmMs: 100,
    measureMs: 150,
    loadMsMax: 10_000,
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

const ROUNDS: Readonly<Record<BenchOptions['mode'], number>> = { quick: 1, standard: 5, full: 5 };

/** Throws on options that do not exist; text where that is what was asked for. */
export function benchOptions(args: readonly string[]): BenchOptions | 'help' | 'list' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      budget: { type: 'string' },
      dry: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      skip: { type: 'string', default: '' },
      subjects: { type: 'string', default: '' },
      peers: { type: 'string' },
      rounds: { type: 'string' },
      rows: { type: 'string' },
      'file-rows': { type: 'string' },
      'large-rows': { type: 'string' },
      'version-rows': { type: 'string' },
      'growth-rows': { type: 'string' },
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
  const name = values.save ?? (mode === 'quick' ? 'engine-quick' : 'engine');
  const peers = values.peers ?? (mode === 'quick' ? 'rivals' : 'all');
  if (peers !== 'all' && peers !== 'rivals') throw new RangeError(`--peers ${peers}`);
  return {
    mode,
    sizes: sizesOf(SIZES[mode], values),
    rounds: positive('rounds', values.rounds, ROUNDS[mode]),
    budgetMinutes: values.budget === undefined ? null : positive('budget', values.budget, 1),
    peers,
    only: listOf(values.only),
    skip: listOf(values.skip),
    subjects: listOf(values.subjects),
    note: values.note ?? null,
    save: values['no-save'] ? null : name,
    dry: values.dry,
    profile: values.profile,
  };
}

function sizesOf(
  defaults: Sizes,
  values: Readonly<Record<string, string | boolean | undefined>>,
): Sizes {
  const count = (name: string, otherwise: number): number => {
    const text = values[name];
    return positive(name, typeof text === 'string' ? text : undefined, otherwise);
  };
  const cellsLarge = count('large-cells', defaults.cellsLarge);
  return {
    ...defaults,
    rows: count('rows', defaults.rows),
    fileRows: count('file-rows', defaults.fileRows),
    largeRows: count('large-rows', defaults.largeRows),
    versionRows: count('version-rows', defaults.versionRows),
    growthRows: count('growth-rows', defaults.growthRows),
    cellsLarge,
    memstoreCellsLarge: Math.min(cellsLarge, defaults.memstoreCellsLarge),
    compactBytes: count('compact-mb', defaults.compactBytes / MILLION) * MILLION,
  };
}

function positive(name: string, text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`--${name} ${text}`);
  return value;
}

const listOf = (text: string): string[] => text.split(',').filter((part) => part !== '');
