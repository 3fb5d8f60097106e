/**
 * A consistent state of tables as files that do not change: what backups copy and forks link. What is in memory is frozen in
 * one step and flushed; in the step in which its files become live, the files of all tables are taken note of and held. They
 * hold exactly the commits up to the capture's TSO: what the rules dropped in switches after it lies in history files, which
 * belong to the state, too.
 */
import type { FileStamp } from '../hfile/index.ts';
import { invariant } from '../io/index.ts';
import { remove } from '../manifest/index.ts';
import type { Edit, FileRecord, RegionRecord, TableRecord } from '../manifest/index.ts';
import type { Background } from './background.ts';
import type { Catalog } from './catalog.ts';
import type { Manifest } from '../manifest/index.ts';
import { joinHalves } from './read_point.ts';
import type { SchemaChanges } from './schema_changes.ts';
import type { StoreFiles } from './store_files.ts';
import type { TableState } from './table_state.ts';

export interface CaptureParts {
  readonly catalog: Catalog;
  readonly manifest: Manifest;
  readonly schema: SchemaChanges;
  readonly files: StoreFiles;
  readonly background: Background;
}

export interface CapturedFile {
  readonly record: FileRecord;
  /** Cells that left the live files after the capture's TSO: of a merged history file only those (drop tags). */
  readonly isHistory: boolean;
}

export interface CapturedTable {
  readonly record: TableRecord;
  /** In order of their start keys. */
  readonly regions: readonly RegionRecord[];
  readonly files: readonly CapturedFile[];
}

export interface Capture {
  /** The commits up to here are in the files. */
  readonly tso: bigint;
  readonly tables: readonly CapturedTable[];
  /** Lets the files go. */
  release(): Promise<void>;
}

/**
 * Captures these tables, all at one moment; writers go on. `names` are asked for when no table comes or goes any more.
 * `further` edits belong to the commit that makes the flushed files live. Throws TableNotFoundException.
 */
export function captureTables(
  parts: CaptureParts,
  names: () => readonly string[],
  further: (tso: bigint) => readonly Edit[] = () => [],
): Promise<Capture> {
  const { schema, catalog, background, files } = parts;
  // No table comes, goes, splits or is loaded into meanwhile; files of transactions may be linked.
  return schema.inOrder(async () => {
    const tables = names().map((name) => catalog.get(name));
    const places = tables.flatMap((table) => table.regions.map((region) => ({ table, region })));
    const taken: { capture: Capture | null } = { capture: null };
    const switched = (tso: bigint): void => {
      const captured = tables.map((table) => captureTable(parts, table, tso));
      const paths = captured.flatMap((table) => table.files.map(({ record }) => record.path));
      const release = files.hold([...new Set(paths)]);
      taken.capture = { tso, tables: captured, release };
    };
    // A switch without edits would be none: removing what is not there is one.
    const edits = (tso: bigint): readonly Edit[] => [...further(tso), remove('setting', 'capture')];
    await linked(tables);
    const open = keepLinked(tables);
    try {
      await background.flusher.flushTogether('capture', places, edits, switched);
    } finally {
      open();
    }
    invariant(taken.capture !== null, 'a capture is taken in its switch');
    return taken.capture;
  });
}

/** Until no file is live whose record is still on its way to the manifest. */
async function linked(tables: readonly TableState[]): Promise<void> {
  let one = tables.find(({ isLinking }) => isLinking);
  for (; one !== undefined; one = tables.find(({ isLinking }) => isLinking)) await one.linked();
}

/** Files that are linked from now on stay as they are, so that they can be told from the capture's, until the answer is called. */
function keepLinked(tables: readonly TableState[]): () => void {
  let open: () => void = () => undefined;
  const capturing = new Promise<void>((resolve) => (open = resolve));
  for (const table of tables) table.capturing = capturing;
  return () => {
    for (const table of tables) table.capturing = null;
    open();
  };
}

function captureTable(parts: CaptureParts, table: TableState, tso: bigint): CapturedTable {
  const { manifest } = parts;
  const record = manifest.get('table', table.id);
  invariant(record !== undefined, `table ${table.name} has a record`);
  const regions: RegionRecord[] = [];
  const files: CapturedFile[] = [];
  const take = (id: number, isHistory: boolean): void => {
    const file = manifest.get('file', id);
    invariant(file !== undefined, 'a live file has a record', id);
    files.push({ record: file, isHistory });
  };
  for (const region of table.regions) {
    const found = manifest.get('region', region.id);
    invariant(found !== undefined, 'a region has a record', region.id);
    regions.push(found);
    for (const store of region.stores) {
      for (const file of store.files) if (!isLater(file.info.stamp, tso)) take(file.info.id, false);
      for (const { file, dropHigh, dropLow } of store.history) {
        if (joinHalves(dropHigh, dropLow) > tso) take(file.info.id, true);
      }
    }
  }
  return { record, regions, files };
}

/** The files of a transaction that was decided after the capture's moment, and linked before its switch. */
const isLater = (stamp: FileStamp | null, tso: bigint): boolean =>
  stamp !== null && joinHalves(stamp.writeHigh, stamp.writeLow) > tso;
