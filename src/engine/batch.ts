/**
 * Batches: operations that succeed or fail one by one, in order for each row. Blind writes that nothing holds up are
 * committed at once and share one wait for the read point at the end, instead of a promise each; everything else runs as
 * it would alone.
 */
import type { Operation, OperationOutcome, Result } from '../model/index.ts';
import type { EncodeRow } from './row_writer.ts';

/** A blind write, ready to be encoded. */
export interface BlindWrite {
  readonly row: Uint8Array;
  readonly encode: EncodeRow;
}

export interface BatchParts {
  /** The operation as a blind write without nonce; null if it is none. Throws what is wrong with it. */
  readonly asBlind: (operation: Operation) => BlindWrite | null;
  /** Commits it now and gives its TSO, or null if it has to wait for something. */
  readonly writeNow: (write: BlindWrite, operation: Operation) => bigint | null;
  /** Runs an operation alone. */
  readonly run: (operation: Operation) => Promise<{
    tso: bigint | null;
    result: Result | null;
    processed?: boolean;
  }>;
  /** Waits until the commits so far, the last of them `tso`, may be acknowledged. */
  readonly acknowledged: (tso: bigint) => Promise<void>;
}

/** Never rejects for a single operation's fault. */
export async function runBatch(
  operations: readonly Operation[],
  parts: BatchParts,
): Promise<OperationOutcome[]> {
  const outcomes = new Array<OperationOutcome>(operations.length);
  /** Operations on their way, and the indexes of those committed that wait for the read point. */
  let pending: Promise<void>[] = [];
  let committed: number[] = [];
  let lastTso = 0n;
  const settle = async (): Promise<void> => {
    const waiting = pending;
    pending = [];
    if (committed.length > 0) {
      const indexes = committed;
      committed = [];
      waiting.push(
        parts.acknowledged(lastTso).catch((error: unknown) => {
          for (const index of indexes) outcomes[index] = failed(error);
        }),
      );
    }
    await Promise.all(waiting);
  };
  for (const [index, operation] of operations.entries()) {
    // A get sees what the operations before it wrote.
    if (typeof operation === 'object' && operation !== null && 'get' in operation) await settle();
    try {
      const write = parts.asBlind(operation);
      const tso = write === null ? null : parts.writeNow(write, operation);
      if (tso !== null) {
        lastTso = tso;
        committed.push(index);
        outcomes[index] = { ok: true, tso, result: null };
        continue;
      }
    } catch (error) {
      outcomes[index] = failed(error);
      continue;
    }
    pending.push(
      parts.run(operation).then(
        (answer) => void (outcomes[index] = { ok: true, ...answer }),
        (error: unknown) => void (outcomes[index] = failed(error)),
      ),
    );
  }
  await settle();
  return outcomes;
}

const failed = (error: unknown): OperationOutcome => ({
  ok: false,
  error: error instanceof Error ? error : new Error(String(error)),
});
