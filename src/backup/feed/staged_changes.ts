/** The cells of a transaction that was committed as files: read from those, a piece at a time. */
import { WAIT, READY } from '../../cell/index.ts';
import type { RegionServer } from '../../engine/index.ts';
import { BlockCache, HFileReader } from '../../hfile/index.ts';
import type { FileRecord } from '../../manifest/index.ts';
import type { Change, ChangeCell } from './change.ts';
import { changeCell } from './change_cell.ts';

const PIECE_CELLS = 5_000;

interface CommitHead {
  readonly kind: 'commit';
  readonly tso: bigint;
  readonly label: string | null;
  readonly txnId: bigint | null;
}

/** A gap if a file has gone: a compaction has taken its cells over, and nobody kept it for the feed. */
export async function* stagedChanges(
  server: RegionServer,
  commit: CommitHead,
  wanted: (tableId: number, familyId: number) => { table: string; family: string } | null,
): AsyncGenerator<Change> {
  const { tso } = commit;
  const files = filesOf(server, tso);
  const record = await recordedFiles(server, commit.txnId);
  const found = new Set(files.map(({ path }) => path));
  if (record === null || record.some((path) => !found.has(path))) {
    yield { kind: 'gap', first: tso, last: tso };
    return;
  }
  const release = server.files.hold(files.map(({ path }) => path));
  let seq = 0;
  let piece: ChangeCell[] = [];
  try {
    for (const file of files) {
      const names = wanted(file.tableId, file.familyId);
      if (names === null) continue;
      for await (const cell of cellsOf(server, file, names)) {
        piece.push(cell);
        if (piece.length < PIECE_CELLS) continue;
        yield { ...commit, seq, cells: piece, before: null, isLast: false };
        seq += piece.length;
        piece = [];
      }
    }
  } finally {
    await release();
  }
  if (seq > 0 || piece.length > 0) {
    yield { ...commit, seq, cells: piece, before: null, isLast: true };
  }
}

/** Each physical file of the commit once, by table, family and first row. */
function filesOf(server: RegionServer, tso: bigint): FileRecord[] {
  const byPath = new Map<string, FileRecord>();
  for (const record of server.manifest.all('file')) {
    if (record.stamp?.writeNumber === tso && record.kind !== 'staged') {
      byPath.set(record.path, record);
    }
  }
  return [...byPath.values()].sort(
    (a, b) =>
      a.tableId - b.tableId ||
      a.familyId - b.familyId ||
      Buffer.compare(a.firstRow ?? EMPTY, b.firstRow ?? EMPTY) ||
      (a.path < b.path ? -1 : 1),
  );
}

const EMPTY: Uint8Array = new Uint8Array(0);

/** The paths that the transaction was made of, from its record; null: the record was forgotten. */
async function recordedFiles(
  server: RegionServer,
  txnId: bigint | null,
): Promise<readonly string[] | null> {
  if (txnId === null) return null;
  const setting = server.manifest.get('transaction', txnId);
  return setting === undefined ? null : Buffer.from(setting.detail).toString('utf8').split('\n');
}

async function* cellsOf(
  server: RegionServer,
  file: FileRecord,
  { table, family }: { readonly table: string; readonly family: string },
): AsyncGenerator<ChangeCell> {
  const { writeNumber, timestamp } = file.stamp!;
  const stamp = {
    writeHigh: Number(writeNumber >> 32n),
    writeLow: Number(writeNumber & 0xffffffffn),
    timestamp:
      timestamp === null
        ? null
        : { high: Number(timestamp >> 32n), low: Number(timestamp & 0xffffffffn) },
  };
  const path = server.layout.resolve(file.path);
  const reader = await HFileReader.open(server.env.fs, path, new BlockCache(1 << 20), { stamp });
  try {
    const cursor = reader.cursor({ cacheBlocks: false, sequential: true });
    let state = cursor.seekToFirst();
    for (; state === WAIT; state = cursor.seekToFirst()) await cursor.load();
    while (state === READY) {
      const { block, at, length } = cursor.cell;
      yield changeCell(block, at, length, table, family);
      state = cursor.next();
      for (; state === WAIT; state = cursor.next()) await cursor.load();
    }
    cursor.close();
  } finally {
    await reader.close();
  }
}
