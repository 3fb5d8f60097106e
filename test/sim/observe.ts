/**
 * Watches the commit queue of an open store: which commits it applied, in which order, with which cells. The checker needs
 * it for operations whose outcome nobody heard of; everything it tells is compared with the answers and with the log.
 */
import type { RegionServer } from '../../src/engine/region_server.ts';
import type { MutationBuffer } from '../../src/region/index.ts';
import type { LogRecord } from '../../src/wal/index.ts';
import { KIND_COMMIT, KIND_CONTROL, LogReader } from '../../src/wal/index.ts';
import type { SimEnv } from '../../src/io/index.ts';
import { fromKeyValue, type ModelCell } from './cells.ts';

export interface Commit {
  readonly kind: 'commit';
  readonly tso: bigint;
  readonly tableId: number;
  readonly cells: readonly ModelCell[];
  /** As the log knows it: 1 SKIP_WAL … 4 FSYNC_WAL. */
  readonly durability: number;
  /** Changes of files before it; only of observed ones. */
  readonly turn?: number;
  readonly nonce: string | null;
  /** Family ids of the groups in the log; only of logged ones. */
  readonly familyIds?: readonly number[];
}

export interface Control {
  readonly kind: 'control';
  readonly tso: bigint;
  readonly what: string;
}

export type Entry = Commit | Control;

export const joined = (high: number, low: number): bigint => (BigInt(high) << 32n) | BigInt(low);

export const appliedTso = ({ readPoint }: RegionServer): bigint =>
  joined(readPoint.appliedHigh, readPoint.appliedLow);
export const readTso = ({ readPoint }: RegionServer): bigint =>
  joined(readPoint.high, readPoint.low);
export const durableTso = ({ readPoint }: RegionServer): bigint =>
  joined(readPoint.durableHigh, readPoint.durableLow);

const hex = (bytes: Uint8Array | null): string | null =>
  bytes === null ? null : Buffer.from(bytes).toString('hex');

/** Tells `sink` of every commit and schema change from now on, in their order. */
export function observe(
  server: RegionServer,
  turn: () => number,
  sink: (entry: Entry) => void,
): void {
  const { queue } = server;
  const commit = queue.commit.bind(queue);
  queue.commit = (table, region, mutation, options, distinct): void => {
    commit(table, region, mutation, options, distinct);
    const tso = appliedTso(server);
    sink({
      kind: 'commit',
      tso,
      tableId: table.id,
      cells: cellsOf(mutation, tso),
      durability: options.durability,
      turn: turn(),
      nonce: hex(options.nonce),
    });
  };
  const commitParts = queue.commitParts.bind(queue);
  queue.commitParts = (parts, options): void => {
    commitParts(parts, options);
    const tso = appliedTso(server);
    const [first] = parts;
    sink({
      kind: 'commit',
      tso,
      tableId: first?.table.id ?? 0,
      cells: parts.flatMap(({ mutation }) => cellsOf(mutation, tso)),
      durability: options.durability,
      turn: turn(),
      nonce: hex(options.nonce),
    });
  };
  const commitControl = queue.commitControl.bind(queue);
  queue.commitControl = (body) => {
    const stamp = commitControl(body);
    const what = Buffer.from(body).toString('utf8');
    sink({ kind: 'control', tso: joined(stamp.high, stamp.low), what });
    return stamp;
  };
}

function cellsOf(mutation: MutationBuffer, tso: bigint): ModelCell[] {
  const cells: ModelCell[] = [];
  for (let i = 0; i < mutation.count; i++) {
    cells.push(fromKeyValue(mutation.buf, mutation.at[i]!, mutation.length[i]!, tso));
  }
  return cells;
}

/** What the log in `dir` holds, read beside the engine's own recovery. */
export async function readLog(env: SimEnv, dir: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  const reader = new LogReader(env, [dir]);
  while (await reader.nextBatch()) {
    while (reader.next()) {
      const { record } = reader;
      if (record.kind === KIND_COMMIT) entries.push(commitOf(record));
      else if (record.kind === KIND_CONTROL) {
        const what = Buffer.from(record.body).toString('utf8');
        entries.push({ kind: 'control', tso: record.tso, what });
      }
    }
  }
  await reader.close();
  return entries;
}

function commitOf(record: LogRecord): Commit {
  const { tso, durability } = record;
  const cells: ModelCell[] = [];
  const familyIds: number[] = [];
  let tableId = 0;
  while (record.nextGroup()) {
    tableId = record.tableId;
    while (record.nextCell()) {
      cells.push(fromKeyValue(record.buf, record.cellAt, record.cellLength, tso));
      familyIds.push(record.familyId);
    }
  }
  return { kind: 'commit', tso, tableId, cells, durability, nonce: hex(record.nonce), familyIds };
}
