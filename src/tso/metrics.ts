/** Counters of the oracle under the names they are exported with (a counter's `_total` is added there). */

/** Upper bounds of the buckets of `tso_state_persist_latency_ms`; the last bucket has none. */
export const LATENCY_BOUNDS_MS: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

export class TsoMetrics {
  tso_clock_drift_detected = 0;
  tso_clock_backward_detected = 0;
  tso_clock_calculated = 0;
  tso_clock_updated = 0;
  tso_clock_update_failed = 0;
  tso_clock_get_success = 0;
  tso_exhausted = 0;
  tso_state_persisted = 0;
  tso_state_persist_failed = 0;
  /** Observations in each bucket, not cumulated. */
  readonly latencyBuckets: number[] = new Array<number>(LATENCY_BOUNDS_MS.length + 1).fill(0);
  latencySumMs = 0;

  observePersist(ms: number): void {
    const found = LATENCY_BOUNDS_MS.findIndex((bound) => ms <= bound);
    const bucket = found < 0 ? LATENCY_BOUNDS_MS.length : found;
    this.latencyBuckets[bucket] = this.latencyBuckets[bucket]! + 1;
    this.latencySumMs += ms;
  }
}
