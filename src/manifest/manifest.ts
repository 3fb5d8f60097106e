/**
 * The manifest: which tables, regions, files, snapshots, transactions and backups there are, and the oracle's state. All of
 * it is in memory; edits reach the disk before memory. Format: format.ts; content: records.ts.
 */
import { CorruptionException, DiskFullException, type Env, invariant } from '../io/index.ts';
import { StoreClosedException } from '../model/index.ts';
import { ManifestFailedException } from './errors.ts';
import { KIND_CHECKPOINT } from './format.ts';
import { createRecordFile, editsOf, Journal } from './journal.ts';
import { DataLayout } from './layout.ts';
import { Packer } from './pack.ts';
import {
  findCurrent,
  type FoundFile,
  openFound,
  performSwitch,
  prepareSwitch,
  type RecordFile,
} from './record_file.ts';
import {
  type CollectionName,
  type FileRecord,
  flushedKey,
  type KeyOf,
  ONLY,
  type OracleRecord,
  type RecordOf,
  type RegionRecord,
  type StoreRecord,
  type TableRecord,
} from './records.ts';
import { type AnyEdit, type Edit, ManifestState, packEdit, put } from './state.ts';

export interface ManifestOptions {
  /**
   * Edits beyond this and beyond the size of the last checkpoint make a new one. Default 64 KiB.
   */
  readonly checkpointAfterBytes?: number;
}

export interface CommitOptions {
  /** Runs in the same step in which the edits become visible in memory. Must not throw. */
  readonly applied?: () => void;
}

/** What `takeId` counts. */
export type IdKind = 'table' | 'family' | 'region' | 'file';

interface Waiting {
  readonly edits: readonly AnyEdit[];
  readonly packed: readonly unknown[];
  readonly applied: (() => void) | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A checkpoint under way: batches appended since its capture, and its file once written. */
interface Checkpoint {
  readonly batches: (readonly unknown[])[];
  file: RecordFile | null;
}

/** Some 800 renewals of the oracle's window: reading them costs an open about 10 ms. */
const CHECKPOINT_AFTER_BYTES: number = 1 << 16;
/** At so many times the limit an open makes the checkpoint before it goes on. */
const OVERDUE_FACTOR = 2;
/** Commits that wait are gathered up to this many edits a record. */
const BATCH_EDITS_MAX = 10_000;

/**
 * Reads may happen at any time and show whole commits only. `commit` may be called concurrently: commits are applied in the
 * order of the calls. One manifest a folder, guarded by the folder's lock.
 */
export class Manifest {
  readonly #journal: Journal | null;
  readonly #state: ManifestState;
  readonly #checkpointAfterBytes: number;
  readonly #nextIds: Record<IdKind, number>;
  #store: StoreRecord;
  #waiting: Waiting[] = [];
  #writer: Promise<void> | null = null;
  #checkpoint: Checkpoint | null = null;
  #checkpointWriter: Promise<void> | null = null;
  #checkpointFloorBytes = 0;
  #failure: ManifestFailedException | null = null;
  /**
   * Told once, before the commit that met it is rejected, that a write or sync has failed for good. What the next open
   * will find is then unknown, e.g. whether a family is dropped: nothing may be acknowledged that depends on it.
   */
  onFailed: ((failure: ManifestFailedException) => void) | null = null;
  #closed = false;

  private constructor(journal: Journal | null, state: ManifestState, options: ManifestOptions) {
    this.#journal = journal;
    this.#state = state;
    this.#checkpointAfterBytes = options.checkpointAfterBytes ?? CHECKPOINT_AFTER_BYTES;
    this.#store = storeOf(state);
    this.#nextIds = nextIds(this.#store, state);
  }

  /**
   * Opens `dir`/manifest; in a folder without data makes a new store. Throws CorruptionException (also when there is data
   * but no manifest), NewerVersionException, IoException. The caller holds the folder's lock and has made `dir` durable.
   */
  static async open(env: Env, dir: string, options: ManifestOptions = {}): Promise<Manifest> {
    const layout = new DataLayout(dir);
    const packer = new Packer();
    const found = await findCurrent(env.fs, layout.manifest);
    if (found === null) return Manifest.#create(env, layout, packer, options);
    const state = stateOf(packer, found);
    await env.fs.syncFolder(dir);
    const file = await openFound(env, layout.manifest, found);
    const journal = new Journal(env, layout.manifest, packer, file, checkpointEndOf(found));
    const manifest = new Manifest(journal, state, options);
    // A store that is killed soon after each open never finishes a checkpoint in the background.
    if (journal.editBytes > OVERDUE_FACTOR * manifest.#checkpointLimit(journal)) {
      await manifest.checkpoint();
    }
    return manifest;
  }

  /** A manifest of a store without a folder. */
  static inMemory(env: Env): Manifest {
    return new Manifest(null, stateOfNewStore(env), {});
  }

  static async #create(
    env: Env,
    layout: DataLayout,
    packer: Packer,
    options: ManifestOptions,
  ): Promise<Manifest> {
    await refuseDataWithoutManifest(env, layout);
    const folder = layout.manifest;
    await env.fs.ensureFolder(folder);
    await env.fs.syncFolder(layout.dir);
    const state = stateOfNewStore(env);
    const identity = { generation: 1, storeId: storeOf(state).storeId };
    const file = await createRecordFile(env, folder, packer, identity, state.capture());
    await prepareSwitch(env.fs, folder, file);
    await performSwitch(env.fs, folder);
    return new Manifest(new Journal(env, folder, packer, file, file.endAt), state, options);
  }

  get store(): StoreRecord {
    return this.#store;
  }

  /** Nothing can be written any more, and what the disk holds of the last commits is not known. */
  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  get oracle(): OracleRecord | null {
    return this.#state.get('oracle', ONLY) ?? null;
  }

  get<C extends CollectionName>(collection: C, key: KeyOf<C>): RecordOf<C> | undefined {
    return this.#state.get(collection, key);
  }

  /** All records, in no promised order. The iterator lives until the next edit of the collection. */
  all<C extends CollectionName>(collection: C): IterableIterator<RecordOf<C>> {
    return this.#state.values(collection);
  }

  size(collection: CollectionName): number {
    return this.#state.size(collection);
  }

  /** The live table of this name. */
  tableByName(name: string): TableRecord | undefined {
    for (const table of this.all('table')) {
      if (table.name === name && table.droppedTso === null) return table;
    }
    return undefined;
  }

  /** All regions of a table, removed ones too. */
  regionsOf(tableId: number): IterableIterator<RegionRecord> {
    return this.#state.group('region', tableId);
  }

  /** All files of a region, removed and history files too. */
  filesOf(regionId: number): IterableIterator<FileRecord> {
    return this.#state.group('file', regionId);
  }

  /** The TSO up to which the cells of a store are in its files; null before its first flush. */
  flushedTo(regionId: number, familyId: number): bigint | null {
    return this.#state.get('flushed', flushedKey(regionId, familyId))?.tso ?? null;
  }

  /** A number never given before in this store, durable with the next commit: record it in an edit before it is used on disk. */
  takeId(kind: IdKind): number {
    return this.#nextIds[kind]++;
  }

  /**
   * Makes the edits durable and then visible, all or none. Throws InvariantError for a value that its field cannot keep,
   * before anything is written; DiskFullException if there was no space (nothing changed; may be repeated);
   * ManifestFailedException once a write or sync has failed; StoreClosedException after `close`.
   */
  async commit(edits: readonly Edit[], options: CommitOptions = {}): Promise<void> {
    this.#refuseIfStopped();
    invariant(
      edits.every((edit) => edit.collection !== 'store'),
      'the store record is written by the manifest',
    );
    if (edits.length === 0) return;
    const packed = edits.map(packEdit);
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ edits, packed, applied: options.applied, resolve, reject });
      this.#wake();
    });
  }

  /** Writes a checkpoint now, whatever the size of the record file, and waits until it is in use. */
  async checkpoint(): Promise<void> {
    this.#refuseIfStopped();
    if (this.#journal === null) return;
    this.#startCheckpoint(this.#journal);
    await this.#checkpointWriter;
    await this.#writer;
    this.#refuseIfStopped();
  }

  /** Waits for commits under way and gives the files back. Idempotent. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#checkpointWriter;
    while (this.#writer !== null) await this.#writer;
    const unused = this.#checkpoint?.file ?? null;
    this.#checkpoint = null;
    if (this.#journal === null) return;
    if (unused !== null) await this.#journal.discard(unused);
    await this.#journal.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #refuseIfStopped(): void {
    if (this.#closed) throw new StoreClosedException('the manifest is closed');
    if (this.#failure !== null) throw this.#failure;
  }

  #wake(): void {
    this.#writer ??= this.#write();
  }

  /** Writes batch after batch while commits wait or a checkpoint is ready. Delivers every error; never rejects. */
  async #write(): Promise<void> {
    await Promise.resolve(); // Commits of the same turn go into one batch.
    for (;;) {
      if (this.#checkpoint?.file != null) await this.#useCheckpoint(this.#checkpoint);
      if (this.#waiting.length === 0) {
        this.#writer = null; // In the same step as the check: a commit that comes now starts the next writer.
        return;
      }
      const batch = this.#takeBatch();
      try {
        await this.#writeBatch(batch);
      } catch (error) {
        this.#failIfLasting(error);
        for (const { reject } of batch) reject(this.#failure ?? error);
      }
    }
  }

  #takeBatch(): Waiting[] {
    let edits = 0;
    let commits = 0;
    for (const { packed } of this.#waiting) {
      edits += packed.length;
      if (commits > 0 && edits > BATCH_EDITS_MAX) break;
      commits++;
    }
    return this.#waiting.splice(0, commits);
  }

  async #writeBatch(batch: readonly Waiting[]): Promise<void> {
    if (this.#failure !== null) throw this.#failure;
    const store = this.#storeIfChanged();
    if (this.#journal !== null) {
      if (this.#journal.torn) await this.#startOver(this.#journal);
      const packed = batch.flatMap((waiting) => waiting.packed);
      if (store !== null) packed.unshift(packEdit(put('store', store)));
      await this.#journal.append(packed);
      this.#checkpoint?.batches.push(packed);
    }
    this.#apply(batch, store);
    if (this.#journal !== null) this.#checkpointIfOutgrown(this.#journal);
  }

  #apply(batch: readonly Waiting[], store: StoreRecord | null): void {
    if (store !== null) {
      this.#store = store;
      this.#state.apply(put('store', store));
    }
    for (const { edits, applied, resolve } of batch) {
      for (const edit of edits) this.#state.apply(edit);
      applied?.();
      resolve();
    }
  }

  #storeIfChanged(): StoreRecord | null {
    const ids = this.#nextIds;
    const store = {
      ...this.#store,
      nextTableId: ids.table,
      nextFamilyId: ids.family,
      nextRegionId: ids.region,
      nextFileId: ids.file,
    };
    const old = this.#store;
    const same =
      store.nextTableId === old.nextTableId &&
      store.nextFamilyId === old.nextFamilyId &&
      store.nextRegionId === old.nextRegionId &&
      store.nextFileId === old.nextFileId;
    return same ? null : store;
  }

  #failIfLasting(error: unknown): void {
    if (this.#failure !== null) return;
    if (error instanceof DiskFullException && this.#journal?.uncertain !== true) return;
    this.#failure = new ManifestFailedException(
      `the manifest could not be written; no changes until the store is opened again: ${String(error)}`,
      { cause: error },
    );
    this.onFailed?.(this.#failure);
  }

  async #startOver(journal: Journal): Promise<void> {
    const abandoned = this.#checkpoint;
    if (abandoned !== null) {
      await this.#checkpointWriter;
      this.#checkpoint = null;
      if (abandoned.file !== null) await journal.discard(abandoned.file);
    }
    await journal.startOver(this.#state.capture());
  }

  #checkpointIfOutgrown(journal: Journal): void {
    const limit = Math.max(this.#checkpointLimit(journal), this.#checkpointFloorBytes);
    if (journal.editBytes > limit) this.#startCheckpoint(journal);
  }

  #checkpointLimit(journal: Journal): number {
    return Math.max(this.#checkpointAfterBytes, journal.checkpointBytes);
  }

  #startCheckpoint(journal: Journal): void {
    if (this.#checkpoint !== null || this.#closed) return;
    const checkpoint: Checkpoint = { batches: [], file: null };
    this.#checkpoint = checkpoint;
    this.#checkpointWriter = this.#writeCheckpoint(journal, checkpoint, this.#state.capture());
  }

  /** Never rejects: a failure is kept, or, when space is short, tried again once the file has doubled. */
  async #writeCheckpoint(
    journal: Journal,
    checkpoint: Checkpoint,
    edits: readonly AnyEdit[],
  ): Promise<void> {
    try {
      checkpoint.file = await journal.writeCheckpoint(edits);
      if (!this.#closed) this.#wake();
    } catch (error) {
      this.#giveUpCheckpoint(journal, error);
    }
  }

  #giveUpCheckpoint(journal: Journal, error: unknown): void {
    this.#checkpoint = null;
    this.#checkpointFloorBytes = 2 * journal.editBytes;
    this.#failIfLasting(error);
  }

  async #useCheckpoint(checkpoint: Checkpoint): Promise<void> {
    if (this.#journal === null || checkpoint.file === null || this.#failure !== null) return;
    try {
      await this.#journal.switchTo(checkpoint.file, checkpoint.batches);
      this.#checkpoint = null;
      this.#checkpointFloorBytes = 0;
    } catch (error) {
      this.#giveUpCheckpoint(this.#journal, error);
    }
  }
}

/** A folder that holds data but no manifest has lost it: making a new one would hide the data for good. */
async function refuseDataWithoutManifest(env: Env, layout: DataLayout): Promise<void> {
  for (const folder of [layout.data, layout.wal]) {
    if ((await env.fs.stat(folder)) === null) continue;
    if ((await env.fs.list(folder)).length > 0) {
      throw new CorruptionException(
        `the manifest is missing, but ${folder} holds data`,
        layout.manifest,
        0,
      );
    }
  }
}

function stateOfNewStore(env: Env): ManifestState {
  const state = new ManifestState();
  const hex = (length: number): string => Buffer.from(env.random.bytes(length)).toString('hex');
  state.apply(
    put('store', {
      storeId: hex(16),
      serverId: hex(16),
      createdMs: env.clock.nowMs(),
      nextTableId: 1,
      nextFamilyId: 1,
      nextRegionId: 1,
      nextFileId: 1,
    }),
  );
  return state;
}

function stateOf(packer: Packer, found: FoundFile): ManifestState {
  const state = new ManifestState();
  for (const edit of editsOf(packer, found)) state.apply(edit);
  if (state.get('store', ONLY)?.storeId !== found.identity.storeId) {
    throw new CorruptionException('the store record is missing or of another store', found.path, 0);
  }
  return state;
}

function storeOf(state: ManifestState): StoreRecord {
  const store = state.get('store', ONLY);
  invariant(store !== undefined, 'a manifest has a store record');
  return store;
}

function checkpointEndOf(found: FoundFile): number {
  const last = found.records.findLast((record) => record.kind === KIND_CHECKPOINT);
  return last?.nextAt ?? 0;
}

function nextIds(store: StoreRecord, state: ManifestState): Record<IdKind, number> {
  const after = (next: number, ids: Iterable<{ readonly id: number }>): number => {
    let above = next;
    for (const { id } of ids) above = Math.max(above, id + 1);
    return above;
  };
  return {
    table: after(store.nextTableId, state.values('table')),
    family: store.nextFamilyId,
    region: after(store.nextRegionId, state.values('region')),
    file: after(store.nextFileId, state.values('file')),
  };
}
