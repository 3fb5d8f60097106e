/** How long this medium takes to make a write durable, and whether it seems to do so at all. */
import type { Env } from './env.ts';

export interface SyncMeasure {
  /** Milliseconds of one write with its sync, the median of a few. */
  readonly medianMs: number;
  /** False if syncs return faster than any medium can store: a RAM disk, or a virtual disk that ignores them. */
  readonly reallySyncs: boolean;
}

const PAIRS = 7;
const BLOCK_SIZE = 4096;
/** The fastest drives (with power-loss protection) need about this long; a RAM disk about 2 µs. */
const REAL_SYNC_MIN_MS = 0.02;

/** Writes and removes a small file in `folder`. Blocks the thread for a few syncs; throws as file operations do. */
export async function measureSync(
  env: Pick<Env, 'fs' | 'clock' | 'random'>,
  folder: string,
): Promise<SyncMeasure> {
  const suffix = Buffer.from(env.random.bytes(6)).toString('hex');
  const path = `${folder}/sync-probe.${suffix}.tmp`;
  const handle = await env.fs.open(path, 'create');
  try {
    const block = new Uint8Array(BLOCK_SIZE);
    // As the log does, the measured writes go over space that is already allocated.
    handle.writeSync(new Uint8Array(BLOCK_SIZE * PAIRS), 0);
    handle.syncSync();
    const times: number[] = [];
    for (let i = 0; i < PAIRS; i++) {
      const startMs = env.clock.monotonicMs();
      handle.writeSync(block.fill(i + 1), i * BLOCK_SIZE);
      handle.syncSync();
      times.push(env.clock.monotonicMs() - startMs);
    }
    const medianMs = times.sort((a, b) => a - b)[PAIRS >> 1]!;
    return { medianMs, reallySyncs: medianMs >= REAL_SYNC_MIN_MS };
  } finally {
    await handle.close();
    await env.fs.remove(path);
  }
}
