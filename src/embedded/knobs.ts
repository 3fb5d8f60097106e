/**
 * The knobs of oracle and transactions in one list: name, type, unit, default, whether they may change while the store is open.
 * A value comes from, the later wins: the default, the store (`cellar config set` on a folder), a config file, the environment
 * (`CELLAR_` and the name in capitals), a flag.
 */
import { IllegalArgumentException, shown } from '../model/index.ts';
import { TSO_KNOB_DEFAULTS, checkKnobs } from '../tso/index.ts';
import type { TsoKnobs } from '../tso/index.ts';
import { TRANSACTION_KNOB_DEFAULTS, checkTransactionKnobs } from '../txn/index.ts';
import type { TransactionKnobs } from '../txn/index.ts';

export interface KnobDescription {
  readonly name: string;
  readonly type: 'bool' | 'int';
  /** Empty: a plain number or truth. */
  readonly unit: string;
  readonly default: boolean | number;
  readonly changeable: boolean;
  readonly what: string;
}

export interface KnobValue extends KnobDescription {
  readonly value: boolean | number;
}

export interface KnobSet {
  readonly oracle: Partial<TsoKnobs>;
  readonly transactions: Partial<TransactionKnobs>;
}

/** In the manifest's settings. */
export const KNOB_SETTING = 'knob.';

type Row = readonly [unit: string, changeable: boolean, what: string];

const TSO_ROWS: Readonly<Record<keyof TsoKnobs, Row>> = {
  enable_feature_binlog: ['', false, 'keep archived log for the change feed'],
  binlog_ttl_seconds: ['s', true, 'how long archived log is kept for the feed'],
  tso_service_update_interval_ms: ['ms', false, 'between two ticks of the oracle'],
  tso_max_update_retry_count: ['', true, 'tries of one save of the oracle’s state'],
  tso_max_get_retry_count: ['', true, 'tries of one allocation that finds no room'],
  tso_service_window_duration_ms: ['ms', true, 'stamps for outside are reserved so far ahead'],
  tso_clock_backward_startup_threshold_ms: ['ms', true, 'a clock further back stops writing'],
  tso_time_offset_debug_mode: ['ms', true, 'added to the clock; tests only'],
  enable_tso_forward_when_counter_full: ['', true, 'go on in the next millisecond'],
  change_visible_timeout_ms: ['ms', true, 'longest wait of a read as of a later TSO'],
};

const TXN_ROWS: Readonly<Record<keyof TransactionKnobs, Row>> = {
  max_running_txn_num_per_db: ['', true, 'undecided transactions of a namespace'],
  txn_max_prepared: ['', true, 'prepared transactions of the server'],
  txn_max_bytes: ['bytes', true, 'of one transaction'],
  txn_max_staged_bytes: ['bytes', true, 'of all undecided transactions'],
  txn_max_request_bytes: ['bytes', true, 'of one load'],
  txn_max_rows_per_request: ['', true, 'rows of one load'],
  stream_load_default_timeout_second: ['s', true, 'from begin to prepare'],
  idle_transaction_timeout: ['s', true, 'since the last load; 0: off'],
  prepared_transaction_default_timeout_second: ['s', true, 'from prepare to the decision'],
  txn_snapshot_prepared_timeout_second: ['s', true, 'the same for snapshot transactions'],
  label_keep_max_second: ['s', true, 'how long labels are kept after the end'],
  label_num_threshold: ['', true, 'labels kept at most'],
  txn_spill_bytes: ['bytes', true, 'above this a transaction is staged as files'],
  txn_intent_wait_ms: ['ms', true, 'a write waits so long for a prepared snapshot transaction'],
};

/** Every knob, in the order of the specification. */
export const KNOBS: readonly KnobDescription[] = [
  ...describe(TSO_ROWS, TSO_KNOB_DEFAULTS),
  ...describe(TXN_ROWS, TRANSACTION_KNOB_DEFAULTS),
];

function describe<K extends string>(
  rows: Readonly<Record<K, Row>>,
  defaults: Readonly<Record<K, boolean | number>>,
): KnobDescription[] {
  return (Object.keys(rows) as K[]).map((name) => {
    const [unit, changeable, what] = rows[name];
    const value = defaults[name];
    const type = typeof value === 'boolean' ? 'bool' : 'int';
    return { name, type, unit, default: value, changeable, what };
  });
}

export const isTsoKnob = (name: string): boolean => Object.hasOwn(TSO_KNOB_DEFAULTS, name);

/** Throws IllegalArgumentException. */
export function findKnob(name: string): KnobDescription {
  const found = KNOBS.find((knob) => knob.name === name);
  if (found === undefined) throw new IllegalArgumentException(`no knob is named ${name}`);
  return found;
}

/** A knob's value from text or JSON. Throws IllegalArgumentException. */
export function knobValue(name: string, given: unknown): boolean | number {
  const { type } = findKnob(name);
  if (type === 'bool') {
    if (given === true || given === 'true' || given === '1') return true;
    if (given === false || given === 'false' || given === '0') return false;
    throw new IllegalArgumentException(`${name} is true or false, not ${shown(given)}`);
  }
  const number = typeof given === 'string' && /^-?\d{1,15}$/.test(given) ? Number(given) : given;
  if (typeof number === 'number' && Number.isSafeInteger(number)) return number;
  throw new IllegalArgumentException(`${name} is a whole number, not ${shown(given)}`);
}

/** Knobs of several sources, the later over the earlier. Throws IllegalArgumentException naming the knob. */
export function knobSet(sources: readonly Readonly<Record<string, unknown>>[]): KnobSet {
  const oracle: Record<string, unknown> = {};
  const transactions: Record<string, unknown> = {};
  for (const source of sources) {
    for (const [name, given] of Object.entries(source)) {
      (isTsoKnob(name) ? oracle : transactions)[name] = knobValue(name, given);
    }
  }
  checkKnobs(oracle);
  checkTransactionKnobs(transactions);
  return { oracle, transactions };
}

/** The knobs that environment variables name. */
export function knobsOfEnvironment(
  variables: Readonly<Record<string, string | undefined>>,
): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const { name } of KNOBS) {
    const value = variables[`CELLAR_${name.toUpperCase()}`];
    if (value !== undefined && value !== '') found[name] = value;
  }
  return found;
}
