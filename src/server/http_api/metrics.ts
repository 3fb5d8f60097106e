/** Metrics of oracle and transactions in Prometheus' text format, by the names of transactions.md. */
import type { StoreConnection } from '../../embedded/index.ts';
import { LATENCY_BOUNDS_MS } from '../../tso/index.ts';
import { TXN_LATENCY_BOUNDS_MS } from '../../txn/index.ts';

const PHASES = ['OPEN', 'PREPARED'] as const;
const TSO_COUNTERS = [
  'tso_clock_drift_detected',
  'tso_clock_backward_detected',
  'tso_clock_calculated',
  'tso_clock_updated',
  'tso_clock_update_failed',
  'tso_clock_get_success',
  'tso_exhausted',
  'tso_state_persisted',
  'tso_state_persist_failed',
] as const;

/** The whole text, ending in a line feed. */
export function transactionMetricsText({ server, transactions }: StoreConnection): string {
  const { metrics: tso } = server.oracle;
  const { metrics, registry } = transactions;
  const pending = registry.pending(server.env.clock.nowMs());
  const counts = { OPEN: pending.open, PREPARED: pending.prepared };
  const ageMs = pending.oldestPreparedMs ?? 0;
  const snapshot = server.oracle.snapshot();
  return [
    ...TSO_COUNTERS.map((name) => counter(name, [['', tso[name]]])),
    histogram(
      'tso_state_persist_latency_ms',
      LATENCY_BOUNDS_MS,
      tso.latencyBuckets,
      tso.latencySumMs,
    ),
    // A TSO needs 64 bits and a sample is a double: its physical part, milliseconds.
    gauge('tso_committed', [['', Number(snapshot.committedTso >> 18n)]]),
    gauge('tso_window_end_physical_time', [['', snapshot.windowEndPhysicalTime]]),
    gauge('tso_pending_transactions', [['', counts.PREPARED]]),
    gauge('tso_oldest_pending_age_ms', [['', ageMs]]),
    gauge('tso_initialized', [['', snapshot.initialized ? 1 : 0]]),
    gauge(
      'txn_state',
      PHASES.map((state) => [`{state="${state}"}`, counts[state]]),
    ),
    counter('txn_begin', [['', metrics.begins]]),
    counter('txn_commit', [['', metrics.commits]]),
    counter('txn_abort', labelled('reason', metrics.aborts)),
    counter('txn_reject', labelled('error', metrics.rejects)),
    gauge('txn_prepared_oldest_age_seconds', [['', ageMs / 1000]]),
    gauge('txn_staged_bytes', [['', registry.stagedBytes]]),
    counter('txn_label_forgotten', [['', metrics.labelsForgotten]]),
    histogram(
      'txn_prepare_latency_ms',
      TXN_LATENCY_BOUNDS_MS,
      metrics.prepareLatency.buckets,
      metrics.prepareLatency.sumMs,
    ),
    histogram(
      'txn_commit_latency_ms',
      TXN_LATENCY_BOUNDS_MS,
      metrics.commitLatency.buckets,
      metrics.commitLatency.sumMs,
    ),
  ].join('');
}

type Samples = readonly (readonly [labels: string, value: number])[];

const labelled = (label: string, values: ReadonlyMap<string, number>): Samples =>
  [...values].map(([value, count]) => [`{${label}="${value}"}`, count]);

function text(name: string, type: string, samples: Samples): string {
  if (samples.length === 0) return '';
  const lines = samples.map(([labels, value]) => `${name}${labels} ${value}\n`);
  return `# TYPE ${name} ${type}\n${lines.join('')}`;
}

const counter = (name: string, samples: Samples): string =>
  text(`${name}_total`, 'counter', samples);
const gauge = (name: string, samples: Samples): string => text(name, 'gauge', samples);

function histogram(
  name: string,
  bounds: readonly number[],
  buckets: readonly number[],
  sum: number,
): string {
  let count = 0;
  const lines = buckets.map((bucket, i) => {
    count += bucket;
    return `${name}_bucket{le="${bounds[i] ?? '+Inf'}"} ${count}\n`;
  });
  return `# TYPE ${name} histogram\n${lines.join('')}${name}_sum ${sum}\n${name}_count ${count}\n`;
}
