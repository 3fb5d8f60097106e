/** What callers give, checked. All throw TransactionException BAD_REQUEST. */
import { IllegalArgumentException, TransactionException, shown } from '../model/index.ts';
import type { TransactionOptions } from '../model/index.ts';
import type { TransactionKnobs } from './knobs.ts';

const LABEL = /^[A-Za-z0-9_.:-]{1,300}$/;
const ISOLATIONS: ReadonlySet<string> = new Set(['blind', 'serializable', 'snapshot']);

export function badRequest(message: string): TransactionException {
  return new TransactionException('BAD_REQUEST', message);
}

export function checkLabel(label: unknown): string {
  if (typeof label === 'string' && LABEL.test(label)) return label;
  throw badRequest(`a label is 1 to 300 of [A-Za-z0-9_.:-], not ${shown(label)}`);
}

export function checkProducer(producer: unknown): string {
  if (typeof producer === 'string' && LABEL.test(producer)) return producer;
  throw badRequest(`a producer is 1 to 300 of [A-Za-z0-9_.:-], not ${shown(producer)}`);
}

export function checkSeq(seq: unknown): number {
  if (typeof seq === 'number' && Number.isInteger(seq) && seq >= 0 && seq < 2 ** 31) return seq;
  throw badRequest(`seq is an integer from 0 to 2147483647, not ${shown(seq)}`);
}

function durationOf(name: string, value: number | undefined, defaultMs: number): number {
  if (value === undefined) return defaultMs;
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw badRequest(`${name} is a number of milliseconds, not ${shown(value)}`);
}

export interface CheckedBegin {
  readonly label: string;
  readonly namespace: string;
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly preparedTimeoutMs: number;
  readonly isolation: 'blind' | 'serializable' | 'snapshot';
  readonly timestamps: 'commit' | 'load';
  readonly producer: string | null;
  readonly epoch: number | null;
  readonly requestId: string | null;
}

export function checkBegin(options: TransactionOptions, knobs: TransactionKnobs): CheckedBegin {
  const isolation = options.isolation ?? 'blind';
  if (!ISOLATIONS.has(isolation)) {
    throw badRequest(`isolation is blind, serializable or snapshot, not ${shown(isolation)}`);
  }
  const timestamps = options.timestamps ?? 'commit';
  if (timestamps !== 'commit' && timestamps !== 'load') {
    throw badRequest(`timestamps is commit or load, not ${shown(timestamps)}`);
  }
  const producer = options.producer === undefined ? null : checkProducer(options.producer);
  const epoch = options.epoch ?? null;
  if (epoch !== null && (!Number.isSafeInteger(epoch) || epoch < 0 || producer === null)) {
    throw badRequest('epoch is a number that fence answered, and goes with its producer');
  }
  const preparedSeconds =
    isolation === 'snapshot'
      ? knobs.txn_snapshot_prepared_timeout_second
      : knobs.prepared_transaction_default_timeout_second;
  return {
    label: checkLabel(options.label),
    namespace: options.namespace ?? 'default',
    timeoutMs: durationOf(
      'timeout',
      options.timeoutMs,
      knobs.stream_load_default_timeout_second * 1000,
    ),
    idleTimeoutMs: durationOf(
      'idle_transaction_timeout',
      options.idleTimeoutMs,
      knobs.idle_transaction_timeout * 1000,
    ),
    preparedTimeoutMs: durationOf(
      'prepared_timeout',
      options.preparedTimeoutMs,
      preparedSeconds * 1000,
    ),
    isolation,
    timestamps,
    producer,
    epoch,
    requestId: options.requestId ?? null,
  };
}

/** Refusals of arguments further down as the transactions' own. */
export function asBadRequest(error: unknown): unknown {
  return error instanceof IllegalArgumentException
    ? new TransactionException('BAD_REQUEST', error.message, {}, { cause: error })
    : error;
}
