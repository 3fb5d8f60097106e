/** The transactions' knobs, named as Apache Doris and StarRocks name theirs (transactions.md section 3). */
import { IllegalArgumentException } from '../model/index.ts';

export interface TransactionKnobs {
  /** Open and prepared ones of a namespace. */
  readonly max_running_txn_num_per_db: number;
  /** Of the server. */
  readonly txn_max_prepared: number;
  /** Bytes of one transaction, and of all that are not decided. */
  readonly txn_max_bytes: number;
  readonly txn_max_staged_bytes: number;
  readonly txn_max_request_bytes: number;
  readonly txn_max_rows_per_request: number;
  /** Seconds from begin to prepare. */
  readonly stream_load_default_timeout_second: number;
  /** Seconds since the last load; 0: off. */
  readonly idle_transaction_timeout: number;
  /** Seconds from prepare to the decision. */
  readonly prepared_transaction_default_timeout_second: number;
  /** Of snapshot transactions: their rows wait for the decision. */
  readonly txn_snapshot_prepared_timeout_second: number;
  /** Seconds that terminal records are kept, and how many at most. */
  readonly label_keep_max_second: number;
  readonly label_num_threshold: number;
  /** Bytes of cells above which a transaction is staged as files. */
  readonly txn_spill_bytes: number;
  /** Milliseconds that a write waits for a prepared snapshot transaction. */
  readonly txn_intent_wait_ms: number;
}

export const TRANSACTION_KNOB_DEFAULTS: TransactionKnobs = {
  max_running_txn_num_per_db: 10_000,
  txn_max_prepared: 5_000,
  txn_max_bytes: 10 * 1024 ** 3,
  txn_max_staged_bytes: 64 * 1024 ** 3,
  txn_max_request_bytes: 64 * 1024 ** 2,
  txn_max_rows_per_request: 1_000_000,
  stream_load_default_timeout_second: 600,
  idle_transaction_timeout: 0,
  prepared_transaction_default_timeout_second: 604_800,
  txn_snapshot_prepared_timeout_second: 600,
  label_keep_max_second: 604_800,
  label_num_threshold: 1_000_000,
  txn_spill_bytes: 256 * 1024,
  txn_intent_wait_ms: 5_000,
};

const ZERO_ALLOWED: ReadonlySet<string> = new Set([
  'idle_transaction_timeout',
  'label_keep_max_second',
  'txn_intent_wait_ms',
  'txn_spill_bytes',
]);

/** With defaults filled in. Throws IllegalArgumentException naming the knob. */
export function checkTransactionKnobs(given: Partial<TransactionKnobs>): TransactionKnobs {
  for (const [name, value] of Object.entries(given)) checkKnob(name, value);
  return { ...TRANSACTION_KNOB_DEFAULTS, ...given };
}

/** The knobs with one changed; all may change while the store is open. */
export function changeTransactionKnob(
  knobs: TransactionKnobs,
  name: string,
  value: unknown,
): TransactionKnobs {
  checkKnob(name, value);
  return { ...knobs, [name]: value };
}

function checkKnob(name: string, value: unknown): void {
  if (!Object.hasOwn(TRANSACTION_KNOB_DEFAULTS, name)) {
    throw new IllegalArgumentException(`no knob is named ${name}`);
  }
  const least = ZERO_ALLOWED.has(name) ? 0 : 1;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least) {
    throw new IllegalArgumentException(
      `${name} must be an integer of at least ${least}, not ${String(value)}`,
    );
  }
}
