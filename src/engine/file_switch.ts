/**
 * The switch of files at the end of a flush or compaction: a commit of its own. Its TSO is the drop TSO of what the
 * rewrite left out; the manifest records it, durably, before the read point passes it; then the store takes the new files
 * in one step. Readers that were opened before keep the old ones.
 */
import { put, remove } from '../manifest/index.ts';
import type { Edit, FileRecord, Manifest } from '../manifest/index.ts';
import type { RewriteOutput, StoreFile } from '../region/index.ts';
import type { CommitQueue } from './commit_queue.ts';
import { markUnsynced } from './late_sync.ts';
import type { LateSyncs } from './late_sync.ts';
import { highOf, joinHalves, lowOf } from './read_point.ts';
import type { Reads } from './reads.ts';
import type { FilePlace, StoreFiles } from './store_files.ts';

/** One store's part of a switch. */
export interface StoreSwitch {
  readonly place: FilePlace;
  readonly output: RewriteOutput;
  /** For a flush: everything of the store up to here is in files now. */
  readonly flushedTso: bigint | null;
  /** The files are on the disk; if not, they are synced once they are live (late_sync.ts). */
  readonly isSynced: boolean;
  readonly flags: readonly string[];
  readonly level: number;
  /** Files that the new one replaces, by position in `store.files`; empty for a flush. */
  readonly replaced: readonly StoreFile[];
}

export class FileSwitch {
  readonly #manifest: Manifest;
  readonly #queue: CommitQueue;
  readonly #files: StoreFiles;
  readonly #reads: Reads;
  readonly #late: LateSyncs;

  constructor(parts: {
    readonly manifest: Manifest;
    readonly queue: CommitQueue;
    readonly files: StoreFiles;
    readonly reads: Reads;
    readonly late: LateSyncs;
  }) {
    this.#manifest = parts.manifest;
    this.#queue = parts.queue;
    this.#files = parts.files;
    this.#reads = parts.reads;
    this.#late = parts.late;
  }

  /**
   * Makes the switch of these stores as one commit. `applied` runs in the step that changes what readers see. `further`
   * edits, which may be about the new files, belong to the same commit. Stores that are no more, because their region was
   * split or merged, their family or table dropped, are left out, and what was written for them is removed; answers how many
   * were switched.
   */
  async perform(
    what: string,
    switches: readonly StoreSwitch[],
    applied: () => void,
    further: ((tso: bigint, files: readonly FileRecord[]) => readonly Edit[]) | null = null,
  ): Promise<number> {
    const tables = [...new Set(switches.map(({ place }) => place.table))];
    tables.sort((a, b) => a.id - b.id);
    const leave: (() => void)[] = [];
    try {
      for (const table of tables) {
        leave.push(await table.layout.enter());
        await table.linked();
      }
      // What a synced switch says of the log holds for older files of its stores, too.
      const isSynced = switches.length === 0 || switches.some((change) => change.isSynced);
      if (isSynced) for (const table of tables) await this.#late.settled(table);
      const live = switches.filter(({ place }) => place.table.holds(place.region, place.store));
      if (live.length > 0 || further !== null) {
        await this.#perform(what, live, applied, further ?? ((): readonly Edit[] => []));
      }
      const gone = switches.filter((change) => !live.includes(change));
      for (const { output } of gone) {
        const written = [output.file, output.history];
        await this.#files.discard(written.flatMap((file) => (file === null ? [] : [file.path])));
      }
      return live.length;
    } finally {
      for (const done of leave) done();
    }
  }

  async #perform(
    what: string,
    switches: readonly StoreSwitch[],
    applied: () => void,
    further: (tso: bigint, files: readonly FileRecord[]) => readonly Edit[],
  ): Promise<void> {
    const body = Buffer.from(what, 'utf8');
    for (let wait = this.#queue.admitControl(body.length); wait !== null;) {
      await wait;
      wait = this.#queue.admitControl(body.length);
    }
    const stamp = this.#queue.commitControl(body);
    try {
      const tso = joinHalves(stamp.high, stamp.low);
      const records = switches.map((change) => this.#recordsOf(change, tso));
      const files = records.flatMap(({ file }) => (file === null ? [] : [file]));
      const edits = [
        ...switches.flatMap((change, i) => editsOf(change, records[i]!)),
        ...further(tso, files),
      ];
      await this.#manifest.commit(edits, {
        applied: () => {
          switches.forEach((change, i) => this.#apply(change, records[i]!));
          applied();
        },
      });
    } finally {
      stamp.done();
    }
  }

  #recordsOf(change: StoreSwitch, tso: bigint): SwitchRecords {
    const { output, place, flags, level } = change;
    const common = { maxFlushedTso: change.flushedTso, addedTso: tso };
    return {
      file:
        output.file === null
          ? null
          : this.#files.recordOf(output.file, place, {
              ...common,
              kind: 'store',
              dropTso: null,
              flags,
              level,
            }),
      history:
        output.history === null
          ? null
          : this.#files.recordOf(output.history, place, {
              ...common,
              kind: 'history',
              dropTso: tso,
              flags: [],
              level: 0,
            }),
    };
  }

  #apply(change: StoreSwitch, records: SwitchRecords): void {
    const { store, region } = change.place;
    const replaced = new Set(change.replaced);
    const at = store.files.findIndex((file) => replaced.has(file));
    const kept = store.files.filter((file) => !replaced.has(file));
    if (records.file !== null) {
      // The new file stands where the newest of those it replaces stood; a flush's is the newest of all.
      kept.splice(Math.max(at, 0), 0, this.#files.make(records.file, store));
    }
    store.files = kept;
    if (records.history !== null) {
      const drop = records.history.dropTso ?? 0n;
      const file = this.#files.make(records.history, store);
      const entry = {
        file,
        dropHigh: highOf(drop),
        dropLow: lowOf(drop),
        dropsByCell: false,
      };
      store.history = [entry, ...store.history];
      region.droppedAt(highOf(drop), lowOf(drop));
    }
    if (change.flushedTso !== null) {
      if (!change.isSynced) this.#late.begin(change.place, written(records), change.flushedTso);
      store.flushedHigh = highOf(change.flushedTso);
      store.flushedLow = lowOf(change.flushedTso);
    }
    region.layoutVersion++;
    this.#reads.forget(region);
    for (const file of change.replaced) this.#files.retire(file);
  }
}

interface SwitchRecords {
  readonly file: FileRecord | null;
  readonly history: FileRecord | null;
}

const written = ({ file, history }: SwitchRecords): FileRecord[] =>
  [file, history].filter((record) => record !== null);

function editsOf(change: StoreSwitch, records: SwitchRecords): Edit[] {
  const { region, store } = change.place;
  const edits: Edit[] = change.replaced.map((file) => remove('file', file.info.id));
  if (records.file !== null) edits.push(put('file', records.file));
  if (records.history !== null) edits.push(put('file', records.history));
  if (change.flushedTso !== null && !change.isSynced) edits.push(...markUnsynced(written(records)));
  else if (change.flushedTso !== null) {
    edits.push(
      put('flushed', { regionId: region.id, familyId: store.familyId, tso: change.flushedTso }),
    );
  }
  return edits;
}
