import { peerVersion } from '../peers.ts';
import type { OpenSubject } from '../subject.ts';
import { openBare } from './bare.ts';
import { openCellar } from './cellar.ts';
import { openClassicLevel, openUnsyncedLevel } from './classic_level.ts';
import { openLmdb } from './lmdb.ts';
import { openRocksdb } from './rocksdb.ts';
import { openSqlite } from './sqlite.ts';

/** The stores by name, in the order of the table. `bare` is no store: it is the physical limit beside them. */
export const SUBJECTS: ReadonlyMap<string, OpenSubject> = new Map([
  ['cellar', openCellar],
  ['lmdb', openLmdb],
  ['better-sqlite3', openSqlite],
  ['classic-level', openClassicLevel],
  ['rocksdb', openRocksdb],
  ['level-unsynced', openUnsyncedLevel],
  ['bare', openBare],
]);

/** How each store is opened, as the results tell it; memory is that of the workload, the same for all. */
export const SETTINGS: Readonly<Record<string, string>> = {
  cellar: 'as shipped, FSYNC_WAL',
  lmdb: 'defaults (synced transactions of its writer thread), binary keys and values; its cache is the page cache',
  'better-sqlite3': 'journal_mode WAL, synchronous FULL, WITHOUT ROWID, prepared statements',
  'classic-level': 'sync: true, cacheSize and writeBufferSize',
  rocksdb: 'sync: true, cacheSize and writeBufferSize',
  'level-unsynced': 'classic-level with sync: false',
  bare: 'no store: group commit on a preallocated file, copies out of large buffers',
};

/** No peer at the same durability: only where a workload asks for it. */
export const UNSYNCED: readonly string[] = ['level-unsynced'];

/** Names of the peers, with their installed versions; null: not installed here. */
export function peerVersions(): Map<string, string | null> {
  const others = ['cellar', 'bare', ...UNSYNCED];
  const names = [...SUBJECTS.keys()].filter((name) => !others.includes(name));
  return new Map(names.map((name) => [name, peerVersion(name)]));
}
