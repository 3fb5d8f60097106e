/** How a commit is made, from what was asked for and what the families ask for. */
import type { MutationBuffer } from '../region/index.ts';
import type { CommitOptions } from './commit_queue.ts';
import type { TableState } from './table_state.ts';

export interface CommitWishes {
  /** The log's number of the durability asked for; 0: what the families ask for. */
  readonly durability: number;
  /** Of a family that asks for none. */
  readonly byDefault: number;
  readonly nonce: Uint8Array | null;
  readonly batchMs: number;
}

/** What was asked for; else the strongest of what the families touched ask for. */
export function commitOptionsOf(
  table: TableState,
  mutation: MutationBuffer,
  wishes: CommitWishes,
): CommitOptions {
  let { durability } = wishes;
  if (durability === 0) {
    let last = -1;
    for (let i = 0; i < mutation.count; i++) {
      const family = mutation.family[i]!;
      if (family === last) continue;
      last = family;
      durability = Math.max(durability, table.familyDurability[family]! || wishes.byDefault);
    }
  }
  return { durability, nonce: wishes.nonce, label: null, batchMs: wishes.batchMs };
}
