/** What the benchmarks must show, as data: the table of issue 10, and the figures that issues 3, 4 and 9 ask for. */

/** Where the figure of a goal comes from. */
export type Measurement =
  /** Of a workload of the engine bench: how many times better Cellar is than the best peer. */
  | { readonly kind: 'toBestPeer'; readonly workload: string }
  /** How many times the cost of the bare work Cellar's is. */
  | { readonly kind: 'overBare'; readonly workload: string }
  /** Cellar's own figure. */
  | { readonly kind: 'value'; readonly workload: string }
  /** How many times better the smallest store of the growth curves is than the largest, at the worst number of regions. */
  | { readonly kind: 'growthLoss'; readonly line: 'reads' | 'writes' }
  /** The most memory that any store of the growth curves took. */
  | { readonly kind: 'growthMemory' }
  /** Cellar's share of HBase's processor time, at the worst operation. */
  | { readonly kind: 'serverCpu' }
  /** At the worst operation, the better of two: throughput over 3 times HBase's, over 0.8 times the null server's. */
  | { readonly kind: 'serverThroughput' }
  /** How many times sooner than HBase a fresh server answers. */
  | { readonly kind: 'serverStart' }
  /** Cellar's share of HBase's memory under the mixed load. */
  | { readonly kind: 'serverMemory' }
  /** A figure of bench:txn. */
  | { readonly kind: 'txn'; readonly figure: string };

export interface Goal {
  readonly id: string;
  readonly issue: number;
  readonly work: string;
  readonly measure: Measurement;
  readonly unit: '×' | 'ms' | 'op/s' | 'cells/s' | 'bytes' | 'MiB';
  /** What is to be reached: at least, or at most. */
  readonly bound: { readonly least: number } | { readonly most: number };
  /** What is hoped for beyond. */
  readonly aim?: number;
}

/** Ahead of, or level with, within what two runs of the same program differ. */
const LEVEL = 0.95;
const ofBest = (workload: string): Measurement => ({ kind: 'toBestPeer', workload });
const own = (workload: string): Measurement => ({ kind: 'value', workload });

const EMBEDDED: readonly Goal[] = [
  {
    id: 'puts-64',
    issue: 10,
    work: 'durable puts, 64 writers',
    measure: ofBest('durable-puts-64'),
    unit: '×',
    bound: { least: 2 },
    aim: 3,
  },
  {
    id: 'counter',
    issue: 10,
    work: 'hot counter, 64 writers',
    measure: ofBest('durable-increments-64'),
    unit: '×',
    bound: { least: 2 },
    aim: 3,
  },
  {
    id: 'full-scan',
    issue: 10,
    work: 'full scan, in batches',
    measure: ofBest('files-scan-batches'),
    unit: '×',
    bound: { least: 2 },
  },
  {
    id: 'full-scan-iterator',
    issue: 10,
    work: 'full scan, by the iterator',
    measure: ofBest('files-scan-iterator'),
    unit: '×',
    bound: { least: 2 },
  },
  {
    id: 'load',
    issue: 10,
    work: 'sustained load in batches',
    measure: ofBest('files-load'),
    unit: '×',
    bound: { least: 1 },
  },
  {
    id: 'short-scans',
    issue: 10,
    work: 'short scans of 100 rows',
    measure: ofBest('files-scan-100'),
    unit: '×',
    bound: { least: 1 },
  },
  {
    id: 'puts-1',
    issue: 10,
    work: 'durable puts, one writer',
    measure: ofBest('durable-puts-1'),
    unit: '×',
    bound: { least: LEVEL },
  },
  {
    id: 'hot-sync',
    issue: 10,
    work: 'point reads, hot, synchronous',
    measure: ofBest('files-get-sync'),
    unit: '×',
    bound: { least: 1.3 },
  },
  {
    id: 'hot-promise',
    issue: 10,
    work: 'point reads, hot, by promise',
    measure: ofBest('files-get-promise-32'),
    unit: '×',
    bound: { least: 1 },
  },
  {
    id: 'missing',
    issue: 10,
    work: 'missing keys',
    measure: ofBest('files-get-missing'),
    unit: '×',
    bound: { least: 3 },
  },
  {
    id: 'old-sync',
    issue: 10,
    work: 'old versions, synchronous',
    measure: ofBest('versions-get-sync'),
    unit: '×',
    bound: { least: 1 },
  },
  {
    id: 'old-promise',
    issue: 10,
    work: 'old versions, by promise',
    measure: ofBest('versions-get-promise-32'),
    unit: '×',
    bound: { least: 1 },
  },
  {
    id: 'cold',
    issue: 10,
    work: 'cold reads, over one block’s pread, checksum, decode',
    measure: { kind: 'overBare', workload: 'files-get-cold' },
    unit: '×',
    bound: { most: 1.5 },
  },
];

const SERVER: readonly Goal[] = [
  {
    id: 'server-cpu',
    issue: 10,
    work: 'server CPU of every operation, of HBase’s',
    measure: { kind: 'serverCpu' },
    unit: '×',
    bound: { most: 0.333 },
  },
  {
    id: 'server-throughput',
    issue: 10,
    work: 'throughput of every operation, over its goal',
    measure: { kind: 'serverThroughput' },
    unit: '×',
    bound: { least: 1 },
  },
  {
    id: 'server-start',
    issue: 10,
    work: 'start to first answer, sooner than HBase',
    measure: { kind: 'serverStart' },
    unit: '×',
    bound: { least: 50 },
  },
  {
    id: 'server-memory',
    issue: 10,
    work: 'memory of the server under load, of HBase’s',
    measure: { kind: 'serverMemory' },
    unit: '×',
    bound: { most: 0.2 },
  },
];

const GROWTH: readonly Goal[] = [
  {
    id: 'growth-reads',
    issue: 10,
    work: 'growth: loss of hot reads, smallest to largest store',
    measure: { kind: 'growthLoss', line: 'reads' },
    unit: '×',
    bound: { most: 1.5 },
  },
  {
    id: 'growth-writes',
    issue: 10,
    work: 'growth: loss of hot writes, smallest to largest store',
    measure: { kind: 'growthLoss', line: 'writes' },
    unit: '×',
    bound: { most: 1.5 },
  },
  {
    id: 'growth-memory',
    issue: 10,
    // 64 MiB of memstores, 64 MiB of block cache, and as much again for Node, its heap and buffers under way.
    work: 'growth: memory of the process, budget of 128 MiB and Node',
    measure: { kind: 'growthMemory' },
    unit: 'MiB',
    bound: { most: 256 },
  },
];

const OTHERS: readonly Goal[] = [
  {
    id: 'memory-sync',
    issue: 3,
    work: 'reads from memory, synchronous',
    measure: ofBest('memory-get-sync'),
    unit: '×',
    bound: { least: 1.5 },
    aim: 2,
  },
  {
    id: 'memory-scan',
    issue: 3,
    work: 'scans from memory',
    measure: ofBest('memory-scan-batches'),
    unit: '×',
    bound: { least: 2 },
  },
  {
    id: 'memstore',
    issue: 3,
    work: 'memstore: random inserts',
    measure: own('memstore-1m'),
    unit: 'cells/s',
    bound: { least: 400_000 },
  },
  {
    id: 'memstore-overhead',
    issue: 3,
    work: 'memstore: bytes a cell beyond its own',
    measure: own('memstore-1m-overhead'),
    unit: 'bytes',
    bound: { most: 32 },
  },
  {
    id: 'memstore-pause',
    issue: 3,
    work: 'memstore: longest pause',
    measure: own('memstore-1m-pause'),
    unit: 'ms',
    bound: { most: 5 },
  },
  {
    id: 'reopen',
    issue: 3,
    work: 'reopening after kill -9, 64 MB unflushed',
    measure: own('reopen-after-kill'),
    unit: 'ms',
    bound: { most: 2000 },
  },
  {
    id: 'compaction-reads',
    issue: 4,
    work: 'cached reads while all is compacted, p99',
    measure: own('compaction-reads'),
    unit: 'ms',
    bound: { most: 1 },
  },
  {
    id: 'compaction-loop',
    issue: 4,
    work: 'event-loop delay meanwhile, p99',
    measure: own('compaction-loop-delay'),
    unit: 'ms',
    bound: { most: 10 },
  },
  {
    id: 'open-files',
    issue: 4,
    work: 'opening 1,000 files in 100 regions',
    measure: own('open-many-files'),
    unit: 'ms',
    bound: { most: 300 },
  },
  {
    id: 'oracle',
    issue: 9,
    work: 'oracle: allocations in the process',
    measure: { kind: 'txn', figure: 'allocationsPerSecond' },
    unit: 'op/s',
    bound: { least: 1_000_000 },
  },
  {
    id: 'oracle-http',
    issue: 9,
    work: 'oracle over HTTP, of the bare framework',
    measure: { kind: 'txn', figure: 'httpShareOfBare' },
    unit: '×',
    bound: { least: 0.7 },
  },
  {
    id: 'ingestion',
    issue: 9,
    work: 'two-phase ingestion, of plain batches',
    measure: { kind: 'txn', figure: 'txnShareOfPlain' },
    unit: '×',
    bound: { least: 0.5 },
  },
];

/** All goals, in the order of the summary. What bench:backup must show stands with its results. */
export const GOALS: readonly Goal[] = [...EMBEDDED, ...SERVER, ...GROWTH, ...OTHERS];

/** The goal that names a workload's ratio to the best peer, or null. */
export function peerGoalOf(workload: string): Goal | null {
  return (
    GOALS.find(({ measure }) => measure.kind === 'toBestPeer' && measure.workload === workload) ??
    null
  );
}
