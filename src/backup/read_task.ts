/** Gets, scans and counts as tasks: what they find goes out in pieces of whole results, so that a reader far away is sent them as they come. */
import type { EmbeddedConnection } from '../engine/index.ts';
import type { Env } from '../io/index.ts';
import { Result } from '../model/index.ts';
import type { ReadOptions, ScanOptions } from '../model/index.ts';
import { Work } from './work.ts';
import type { WorkOptions } from './work.ts';

/** Bytes of a piece, but for a single result that is larger. */
const PIECE_BYTES = 64 * 1024;
const RESULTS_AT_ONCE = 100;

export type ReadTask =
  | { readonly get: Uint8Array; readonly options: ReadOptions }
  | { readonly scan: ScanOptions }
  | { readonly count: ScanOptions };

/** Results as they are sent: their packed cells. */
export interface ReadRows {
  readonly results: readonly {
    readonly packed: Uint8Array;
    readonly size: number;
    readonly partial: boolean;
  }[];
}

export interface ReadReport {
  /** Rows found. */
  readonly rows: number;
}

/** The results of a piece. */
export const resultsOf = ({ results }: ReadRows): Result[] =>
  results.map(({ packed, size, partial }) => new Result(packed, 0, packed.length, size, partial));

/** Does the read. Throws what gets and scans throw, and InterruptedIOException. */
export async function readFor(
  connection: EmbeddedConnection,
  tableName: string,
  read: ReadTask,
  { onItem, ...options }: WorkOptions & { onItem?: (item: ReadRows) => Promise<boolean> },
  env: Env,
): Promise<ReadReport> {
  const work = new Work(env, options);
  work.begin(tableName);
  const table = connection.table(tableName);
  if ('count' in read) return { rows: await table.count(read.count) };
  const send = async (results: readonly Result[]): Promise<boolean> =>
    (await onItem?.({
      results: results.map(({ packed, size, partial }) => ({ packed, size, partial })),
    })) !== false;
  if ('get' in read) {
    const result = await table.get(read.get, read.options);
    if (result !== null) await send([result]);
    return { rows: result === null ? 0 : 1 };
  }
  await using scanner = table.scan(read.scan);
  let piece: Result[] = [];
  let bytes = 0;
  for (;;) {
    work.check();
    const results = await scanner.nextBatch(RESULTS_AT_ONCE);
    for (const result of results) {
      piece.push(result);
      bytes += result.packed.length;
      if (!result.partial) work.rows++;
      if (bytes < PIECE_BYTES) continue;
      work.bytes += bytes;
      work.tell();
      if (!(await send(piece))) return { rows: work.rows };
      piece = [];
      bytes = 0;
    }
    if (results.length === 0) break;
  }
  if (piece.length > 0) await send(piece);
  return { rows: work.rows };
}
