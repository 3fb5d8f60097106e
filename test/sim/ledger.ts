/**
 * Which cells lie in which file, as the manifest's records say and the bytes of the files show: plays every change of files
 * against the model and holds it to what it may do.
 *
 * Conservation: what was in the live files, with what a flush or load adds, is in the live files or in the history afterwards,
 * nothing else and nothing twice; a split or merge moves no cell. A flush takes all that it says is in files. What is dropped
 * leaves at the drop TSO, and goes from the history only below a floor that the retention and the pins allow. What is dropped
 * and kept is what HBase's rules say (rules.ts).
 */
import type { FileRecord, RegionRecord, SnapshotRecord } from '../../src/manifest/index.ts';
import type { RegionServer } from '../../src/engine/region_server.ts';
import { byText, cellText, textOf, type ModelCell } from './cells.ts';
import {
  filesPut,
  floorsPut,
  type FileEvent,
  type FlushClaim,
  type RewriteFacts,
} from './file_watch.ts';
import { SimFailure } from './history.ts';
import { checkLoad } from './ledger_load.ts';
import { checkSnapshot, fillFrom, type SnapshotContent } from './ledger_snapshots.ts';
import type { Model, ModelTable } from './model.ts';
import { faultOf } from './rules.ts';
import { cellsOfFile, type FileCell } from './store_files.ts';

/** The table whose rows belong together by their first byte. */
const GROUPED = 'bank';

/** A file as one record of the manifest shows it. */
export interface LedgerFile {
  readonly record: FileRecord;
  readonly cells: readonly ModelCell[];
  /** The change of files that named it. */
  readonly turn: number;
  /** Drop TSOs of a history file's cells, in their order; null for live files. */
  readonly drops: readonly bigint[] | null;
}

/** The cells of one family of a table, over all its regions. */
interface Held {
  readonly live: ReadonlySet<ModelCell>;
  readonly history: ReadonlyMap<ModelCell, bigint>;
  /** Those of the history that lie in merged files. */
  readonly merged: ReadonlySet<ModelCell>;
}

export class Ledger {
  readonly model: Model;
  readonly files = new Map<number, LedgerFile>();
  readonly regions = new Map<number, RegionRecord>();
  readonly snapshots = new Map<string, SnapshotContent>();
  /** Contents of every file there ever was, by path: a snapshot may name one that a compaction has just let go of. */
  readonly #contents = new Map<string, readonly FileCell[]>();
  readonly #floors = new Map<number | null, bigint>();
  /** Changes played, by kind. */
  readonly counts = { flushes: 0, compactions: 0, dropped: 0, merged: 0, loads: 0, forgotten: 0 };

  constructor(model: Model) {
    this.model = model;
  }

  /** Reads the new files of these events. */
  async read(events: readonly FileEvent[]): Promise<void> {
    for (const event of events) {
      const cells = new Map<string, readonly FileCell[]>();
      for (const record of filesPut(event.edits)) {
        const bytes = event.bytes.get(record.path);
        if (bytes === undefined || cells.has(record.path)) continue;
        cells.set(record.path, await cellsOfFile(bytes, record));
      }
      event.cells = cells;
    }
  }

  /** Plays an event. `turn`: its place among the changes of files. Throws SimFailure. */
  play(event: FileEvent, turn: number): void {
    for (const [path, cells] of event.cells) this.#contents.set(path, cells);
    const removed = this.#removed(event);
    this.#playRegions(event);
    this.#fillClones(event);
    const load = checkLoad(this, event);
    if (load !== null) this.counts.loads++;
    const before = this.#holdings(event, removed);
    for (const { record } of removed) this.files.delete(record.id);
    for (const { tableId, tso } of floorsPut(event.edits)) this.#playFloor(event, tableId, tso);
    for (const record of filesPut(event.edits))
      this.files.set(record.id, this.#fileOf(record, event, turn));
    for (const [key, held] of before) this.#playGroup(key, held, turn);
    for (const facts of event.rewrites) this.#checkRewrite(facts);
    this.#checkFlushed(event);
    this.#playSnapshots(event);
  }

  /** Everything of the table up to the claim's TSO is in files, or was there. */
  claim({ tableId, tso, step }: FlushClaim): void {
    const table = this.model.tables.get(tableId);
    if (table === undefined || table.droppedTso !== null) return;
    for (const { id } of table.current.families) {
      for (const cell of table.allOf(id)) {
        if (cell.tso > tso || cell.isInFile === true) continue;
        throw new SimFailure(step, `flushed up to ${tso}, and ${cellText(cell)} is in no file`);
      }
    }
  }

  /** Throws if the manifest does not name the files, regions and snapshots that the ledger has. */
  compare(server: RegionServer, step: number): void {
    const { manifest } = server;
    const is = [...manifest.all('file')].map(({ id }) => id).sort((a, b) => a - b);
    const should = [...this.files.keys()].sort((a, b) => a - b);
    if (is.join() !== should.join()) {
      throw new SimFailure(step, `the manifest names files ${is.join()}, not ${should.join()}`);
    }
    const regions = [...manifest.all('region')].map(({ id }) => id).sort((a, b) => a - b);
    if (regions.join() !== [...this.regions.keys()].sort((a, b) => a - b).join()) {
      throw new SimFailure(step, `the manifest has regions ${regions.join()}`);
    }
    const names = [...manifest.all('snapshot')].filter(({ kind }) => kind === 'table');
    const known = [...this.snapshots.keys()].sort(byText).join();
    const found = names.map(({ name }) => name).sort(byText);
    if (found.join() !== known)
      throw new SimFailure(step, `snapshots ${found.join()}, not ${known}`);
  }

  /** The greatest floor below which reads of the table may be refused. */
  floorOf(tableId: number | null): bigint {
    const [all, own] = [this.#floors.get(null) ?? 0n, this.#floors.get(tableId) ?? 0n];
    return all > own ? all : own;
  }

  fail(what: string): never {
    throw new SimFailure(0, what);
  }

  #removed(event: FileEvent): LedgerFile[] {
    const removed: LedgerFile[] = [];
    for (const edit of event.edits) {
      if (edit.collection !== 'file' || !('key' in edit)) continue;
      const file = this.files.get(edit.key);
      if (file === undefined) this.fail(`file ${edit.key} is removed and was not there`);
      removed.push(file);
    }
    return removed;
  }

  // ---- Regions -----------------------------------------------------------------------------------------------------

  #playRegions(event: FileEvent): void {
    const touched = new Set<number>();
    for (const edit of event.edits) {
      if (edit.collection !== 'region') continue;
      if ('record' in edit) this.regions.set(edit.record.id, edit.record);
      else {
        const region = this.regions.get(edit.key);
        if (region === undefined) this.fail(`region ${edit.key} is removed and was not there`);
        this.regions.delete(edit.key);
      }
      const tableId = 'record' in edit ? edit.record.tableId : null;
      if (tableId !== null) touched.add(tableId);
    }
    for (const tableId of touched) this.#checkBorders(tableId);
  }

  /** The regions of a table lie end to end. */
  #checkBorders(tableId: number): void {
    const regions = [...this.regions.values()].filter((region) => region.tableId === tableId);
    regions.sort((a, b) => Buffer.compare(a.startKey, b.startKey));
    let end: string | null = '';
    const isOfGroups = this.model.tables.get(tableId)?.name === GROUPED;
    for (const { startKey, endKey } of regions) {
      if (isOfGroups && startKey.length > 1) this.fail(`a group is torn at ${textOf(startKey)}`);
      if (textOf(startKey) !== end)
        this.fail(`a region of table ${tableId} starts at ${textOf(startKey)}, not ${end}`);
      end = endKey.length === 0 ? null : textOf(endKey);
    }
    if (end !== null) this.fail(`the last region of table ${tableId} ends at ${end}`);
  }

  isInside(
    row: string,
    region: { readonly startKey: Uint8Array; readonly endKey: Uint8Array },
  ): boolean {
    const end = textOf(region.endKey);
    return row >= textOf(region.startKey) && (end === '' || row < end);
  }

  // ---- Files -------------------------------------------------------------------------------------------------------

  /** The cells that a record shows, as the model's. */
  #fileOf(record: FileRecord, event: FileEvent, turn: number): LedgerFile {
    const table = this.#tableOf(record.tableId, event);
    const region = this.regions.get(record.regionId ?? -1) ?? this.#keptRegion(record, event);
    const cells: ModelCell[] = [];
    const drops: bigint[] = [];
    for (const { cell, dropTso } of this.#contents.get(record.path) ?? []) {
      if (!isOf(record, region, cell.row)) continue;
      const known = table.find(record.familyId, cell);
      if (known === undefined || cellText(known) !== cellText(cell)) {
        this.fail(
          `${record.path} of ${table.name} (${record.kind} ${record.id}) holds ${cellText(cell)}${known === undefined ? ', which nobody wrote' : `, not ${cellText(known)}`}`,
        );
      }
      if (!this.isInside(cell.row, region)) {
        this.fail(`${record.path} of ${table.name} holds ${cellText(cell)}, outside its region`);
      }
      cells.push(known);
      drops.push(dropTso ?? record.dropTso ?? 0n);
    }
    return { record, cells, turn, drops: record.kind === 'history' ? drops : null };
  }

  /** A region of a snapshot, which has no record of its own. */
  #keptRegion(
    record: FileRecord,
    event: FileEvent,
  ): RegionRecord | { startKey: Uint8Array; endKey: Uint8Array } {
    for (const snapshot of snapshotsPut(event)) {
      for (const { regions } of snapshot.tables) {
        const region = regions.find(({ id }) => id === record.regionId);
        if (region !== undefined) return region;
      }
    }
    return this.fail(`file ${record.id} is of region ${record.regionId}, which is not there`);
  }

  /** The table whose cells a record shows; a snapshot's records show those of the table that it was taken of. */
  #tableOf(tableId: number, event: FileEvent): ModelTable {
    const table = this.model.tables.get(tableId);
    if (table !== undefined) return table;
    for (const { tables, tableIds } of snapshotsPut(event)) {
      const at = tables.findIndex(({ id }) => id === tableId);
      const source = at < 0 ? undefined : this.model.tables.get(tableIds[at]!);
      if (source !== undefined) return source;
    }
    return this.fail(`files of an unknown table ${tableId}`);
  }

  #holdings(event: FileEvent, removed: readonly LedgerFile[]): Map<string, Held> {
    const keys = new Set<string>();
    const records = [...filesPut(event.edits), ...removed.map(({ record }) => record)];
    for (const { tableId, familyId } of records) {
      if (this.model.tables.has(tableId)) keys.add(`${tableId}/${familyId}`);
    }
    return new Map([...keys].map((key) => [key, this.#heldOf(key)]));
  }

  #heldOf(key: string): Held {
    const live = new Set<ModelCell>();
    const history = new Map<ModelCell, bigint>();
    const merged = new Set<ModelCell>();
    for (const { record, cells, drops } of this.files.values()) {
      if (`${record.tableId}/${record.familyId}` !== key) continue;
      for (const [i, cell] of cells.entries()) {
        if (live.has(cell) || history.has(cell)) {
          this.fail(`${record.path} holds ${cellText(cell)}, which another file has, too`);
        }
        if (drops === null) live.add(cell);
        else history.set(cell, drops[i]!);
        if (record.flags.includes('merged')) merged.add(cell);
      }
    }
    return { live, history, merged };
  }

  #playGroup(key: string, before: Held, turn: number): void {
    const after = this.#heldOf(key);
    const [tableId, familyId] = key.split('/').map(Number) as [number, number];
    const table = this.model.tables.get(tableId)!;
    const isGone =
      table.droppedTso !== null || !table.current.families.some(({ id }) => id === familyId);
    for (const cell of after.live) {
      if (before.live.has(cell)) continue;
      if (before.history.has(cell)) this.fail(`${cellText(cell)} comes back from the history`);
      cell.isInFile = true;
    }
    for (const [cell, drop] of after.history) {
      const known = before.history.get(cell) ?? cell.dropTso;
      if (known !== undefined && known !== drop) {
        this.fail(`${cellText(cell)} was dropped at ${known}, the history says ${drop}`);
      }
      if (before.history.has(cell)) {
        if (before.merged.has(cell) !== after.merged.has(cell)) this.counts.merged++;
        continue;
      }
      // A clone takes no history with it, and a cell that goes from memory to the history was never in a file.
      cell.isInFile = true;
      cell.dropTso = drop;
      cell.dropTurn = turn;
      this.counts.dropped++;
    }
    for (const cell of before.live) {
      if (after.live.has(cell) || after.history.has(cell)) continue;
      if (isGone) continue;
      this.fail(`${cellText(cell)} of ${table.name} is in no file any more, nor in the history`);
    }
    const floor = this.floorOf(tableId);
    for (const [cell, drop] of before.history) {
      if (after.history.has(cell)) continue;
      this.counts.forgotten++;
      if (drop > floor && !isGone) {
        this.fail(
          `${cellText(cell)} of ${table.name}, dropped at ${drop}, left the history, its floor being ${floor}`,
        );
      }
    }
  }

  // ---- Rules -------------------------------------------------------------------------------------------------------

  #checkRewrite(facts: RewriteFacts): void {
    const { input, path, historyPath } = facts;
    const cellsAt = (wanted: string | null): readonly ModelCell[] => {
      for (const { record, cells } of this.files.values()) {
        if (record.path === wanted && this.model.tables.has(record.tableId)) return cells;
      }
      return [];
    };
    const isMajor = this.#isOfAll(facts);
    if (input.nowMs !== facts.nowMs)
      this.fail(`${path} judges TTL at ${input.nowMs}, not ${facts.nowMs}`);
    if (input.kind === 'flush') this.counts.flushes++;
    else this.counts.compactions++;
    const fault = faultOf({
      settings: input.settings,
      isMajor,
      isAsked: input.kind === 'major',
      nowMs: input.nowMs,
      kept: cellsAt(path),
      dropped: cellsAt(historyPath),
    });
    if (fault !== null) this.fail(`${input.kind} of ${path}: ${fault}`);
  }

  /** A compaction that replaces every file that its store had when it began: no older one is left. */
  #isOfAll({ input, path, historyPath, startTurn }: RewriteFacts): boolean {
    if (input.kind === 'flush') return false;
    const own = [...this.files.values()].find(
      ({ record }) => record.path === path || record.path === historyPath,
    )?.record;
    if (own === undefined) return true;
    for (const { record, turn } of this.files.values()) {
      const isOfStore =
        record.regionId === own.regionId &&
        record.familyId === own.familyId &&
        record.kind === 'store';
      if (!isOfStore || record.id === own.id) continue;
      if (turn <= startTurn) return false;
    }
    return true;
  }

  /** Replay skips what is at or below a store's flushed TSO: all of it must be in files. */
  #checkFlushed(event: FileEvent): void {
    for (const edit of event.edits) {
      if (edit.collection !== 'flushed' || !('record' in edit)) continue;
      const { regionId, familyId, tso } = edit.record;
      const region = this.regions.get(regionId);
      const table = region === undefined ? undefined : this.model.tables.get(region.tableId);
      if (region === undefined || table === undefined) continue;
      for (const cell of table.allOf(familyId)) {
        if (cell.isInFile === true || cell.tso > tso || !this.isInside(cell.row, region)) continue;
        this.fail(`${table.name} is flushed up to ${tso}, and ${cellText(cell)} is in no file`);
      }
    }
  }

  #playFloor({ floorMax }: FileEvent, tableId: number | null, tso: bigint): void {
    const before = this.#floors.get(tableId) ?? 0n;
    if (tso < before) this.fail(`the floor of ${tableId} goes back from ${before} to ${tso}`);
    if (tso > before && floorMax !== null && tso > floorMax) {
      this.fail(`the floor of ${tableId} is raised to ${tso}, and ${floorMax} is readable`);
    }
    this.#floors.set(tableId, tso);
  }

  // ---- Snapshots ---------------------------------------------------------------------------------------------------

  #fillClones(event: FileEvent): void {
    for (const edit of event.edits) {
      if (edit.collection !== 'table' || !('record' in edit)) continue;
      const table = this.model.tables.get(edit.record.id);
      if (table !== undefined && table.origin !== null && table.familyIds().length === 0) {
        fillFrom(this, table, table.origin);
      }
    }
  }

  #playSnapshots(event: FileEvent): void {
    for (const record of snapshotsPut(event)) {
      this.snapshots.set(record.name, checkSnapshot(this, record));
    }
    for (const edit of event.edits) {
      if (edit.collection === 'snapshot' && 'key' in edit) this.snapshots.delete(edit.key);
    }
  }
}

/** Snapshots of tables that the edits make. */
export function snapshotsPut(event: FileEvent): SnapshotRecord[] {
  return event.edits.flatMap((edit) =>
    edit.collection === 'snapshot' && 'record' in edit && edit.record.kind === 'table'
      ? [edit.record]
      : [],
  );
}

/** Whether a row of its physical file counts for the record. */
function isOf(
  { reference, flags }: FileRecord,
  region: { readonly startKey: Uint8Array; readonly endKey: Uint8Array },
  row: string,
): boolean {
  const [from, to] =
    reference !== null
      ? [reference.fromRow, reference.toRow]
      : flags.includes('part')
        ? [region.startKey, region.endKey]
        : ['', ''];
  const end = textOf(to);
  return row >= textOf(from) && (end === '' || row < end);
}
