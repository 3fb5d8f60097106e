/** Counters of the transactions since the opening, under the names they are exported with. */
export class TransactionMetrics {
  begins = 0;
  commits = 0;
  labelsForgotten = 0;
  readonly aborts: Map<string, number> = new Map();
  readonly rejects: Map<string, number> = new Map();
  readonly prepareLatency: Latency = new Latency();
  readonly commitLatency: Latency = new Latency();

  aborted(reason: string): void {
    this.aborts.set(reason, (this.aborts.get(reason) ?? 0) + 1);
  }

  rejected(code: string): void {
    this.rejects.set(code, (this.rejects.get(code) ?? 0) + 1);
  }
}

/** Upper bounds of the buckets, milliseconds; the last bucket has none. */
export const TXN_LATENCY_BOUNDS_MS: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000,
];

export class Latency {
  readonly buckets: number[] = new Array<number>(TXN_LATENCY_BOUNDS_MS.length + 1).fill(0);
  sumMs = 0;
  count = 0;

  observe(ms: number): void {
    const found = TXN_LATENCY_BOUNDS_MS.findIndex((bound) => ms <= bound);
    const bucket = found < 0 ? TXN_LATENCY_BOUNDS_MS.length : found;
    this.buckets[bucket] = this.buckets[bucket]! + 1;
    this.sumMs += ms;
    this.count++;
  }
}
