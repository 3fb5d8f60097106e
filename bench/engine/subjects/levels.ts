/** LevelDB and RocksDB say nothing of running compactions: their levels are asked until they stay as they are. */
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 50;
const QUIET_POLLS = 10;
const LEVELS = 7;

/**
 * Settles when no level has changed for half a second; answers how long none had. `kind` begins the names of the
 * properties.
 */
export async function settleLevels(
  property: (name: string) => string,
  kind: 'leveldb' | 'rocksdb',
): Promise<number> {
  let before = '';
  let changed = performance.now();
  for (let quiet = 0; quiet < QUIET_POLLS;) {
    const now = Array.from({ length: LEVELS }, (_, level) =>
      property(`${kind}.num-files-at-level${level}`),
    ).join();
    if (now !== before) changed = performance.now();
    quiet = now === before ? quiet + 1 : 0;
    before = now;
    await sleep(POLL_MS);
  }
  return performance.now() - changed;
}
