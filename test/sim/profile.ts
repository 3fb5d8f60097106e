/** What kind of run a seed gives: how much happens at once, how long lives are, what goes wrong. */
import type { OpenOptions } from '../../src/engine/index.ts';
import type { SeededRandom } from '../../src/io/index.ts';
import type { WorkloadOptions } from './operations.ts';

export interface Profile {
  readonly workload: WorkloadOptions;
  readonly open: OpenOptions;
  readonly clients: number;
  readonly lifeSteps: number;
  readonly faultChance: number;
  readonly clockChance: number;
  readonly changes: number;
  readonly maintenanceMs: number;
}

/** What kind of run a seed gives. */
export function profileOf(random: SeededRandom): Profile {
  const isBusy = random.chance(0.2);
  const mixes: WorkloadOptions['durabilities'][] = [
    [undefined],
    [undefined, undefined, 'SYNC_WAL', 'ASYNC_WAL', 'FSYNC_WAL', 'SKIP_WAL'],
    ['FSYNC_WAL', 'SYNC_WAL'],
    [undefined, 'SYNC_WAL', 'ASYNC_WAL'],
  ];
  return {
    workload: {
      longValues: isBusy ? 0.3 : [0, 0.02, 0.1][random.int(3)]!,
      longLength: isBusy ? 40_000 : 4000,
      durabilities: mixes[random.int(mixes.length)]!,
      explicitTimestamps: [0.1, 0.35, 0.7][random.int(3)]!,
      isRegional: random.chance(0.35),
    },
    open: {
      durability: random.chance(0.7) ? 'FSYNC_WAL' : random.chance(0.6) ? 'SYNC_WAL' : 'ASYNC_WAL',
      memstoreBytes: (isBusy || random.chance(0.2) ? 1 : 64) * 1024 * 1024,
      logBytesMax: random.chance(0.5) ? 1024 * 1024 : 256 * 1024 * 1024,
      historyRetentionMs: [20, 2000, 3_600_000, 3_600_000, 3_600_000][random.int(5)]!,
      historyFilesMax: 2 + random.int(4),
      ...(random.chance(0.15) ? { historyBytesMax: random.int(20_000) } : {}),
      autoCompact: random.chance(0.7),
      // Without a cache every read of a file waits, and much may happen meanwhile.
      ...(random.chance(0.35) ? { blockCacheBytes: 0 } : {}),
      busyTimeoutMs: 5 + random.int(20),
      logSegmentBytes: 64 * 1024 * (1 + random.int(3)),
      asyncSyncMs: 1 + random.int(30),
      blockingSync: random.chance(0.4),
    },
    clients: 1 + random.int(12),
    lifeSteps: [20, 100, 200, 500][random.int(4)]!,
    faultChance: random.chance(0.6) ? 0.5 : 0,
    clockChance: random.chance(0.5) ? 0.02 : 0,
    changes: [0.01, 0.05, 0.2][random.int(3)]!,
    maintenanceMs: [0.5, 1, 2, 10][random.int(4)]!,
  };
}
