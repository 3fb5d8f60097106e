/** LevelDB and RocksDB say nothing of running compactions: their levels are asked until they stay as they are. */
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 50;
const QUIET_POLLS = 10;
const LEVELS = 7;

/** Settles when no level has changed for half a second. `kind` begins the names of the properties. */
export async function settleLevels(
  property: (name: string) => string,
  kind: 'leveldb' | 'rocksdb',
): Promise<void> {
  let before = '';
  for (let quiet = 0; quiet < QUIET_POLLS;) {
    const now = Array.from({ length: LEVELS }, (_, level) =>
      property(`${kind}.num-files-at-level${level}`),
    ).join();
    quiet = now === before ? quiet + 1 : 0;
    before = now;
    await sleep(POLL_MS);
  }
}
