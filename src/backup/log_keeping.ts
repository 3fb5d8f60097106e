/** How long the log is kept beyond what recovery needs, and for whom: what `cellar wal archive` shows and sets. */
import { ARCHIVE_SETTING } from '../engine/index.ts';
import type { LogNeed, RegionServer } from '../engine/index.ts';
import { put, remove } from '../manifest/index.ts';
import { listSegments } from '../wal/index.ts';
import type { ArchivedSegment } from '../wal/index.ts';

/** Segments of a log's folder. */
export interface SegmentSum {
  readonly segments: number;
  readonly bytes: number;
}

export interface LogKeeping {
  readonly live: SegmentSum;
  readonly archived: SegmentSum;
  /** Who needs the log above which TSO. */
  readonly needs: readonly LogNeed[];
}

/** Keeps the log from now on, or no longer than others need it (null: as it is); gives free what nobody needs. */
export async function keepLog(server: RegionServer, keep: boolean | null): Promise<LogKeeping> {
  const { manifest, env, layout } = server;
  const isKept = manifest.get('setting', ARCHIVE_SETTING) !== undefined;
  if (keep === true && !isKept) {
    const tso = await server.tso();
    await manifest.commit([put('setting', { name: ARCHIVE_SETTING, value: String(tso) })]);
  }
  if (keep === false && isKept) await manifest.commit([remove('setting', ARCHIVE_SETTING)]);
  await server.background.releaseLog();
  const live = await listSegments(env, layout.wal);
  const archived = await listSegments(env, layout.archivedWal);
  return { live: sumOf(live), archived: sumOf(archived), needs: server.archive.needs() };
}

const sumOf = (segments: readonly ArchivedSegment[]): SegmentSum => ({
  segments: segments.length,
  bytes: segments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
});
