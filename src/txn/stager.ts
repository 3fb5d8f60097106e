/**
 * Transactions that are too large for memory: their cells lie in files until they are decided (stage_job.ts). Runs of open
 * ones lie in txn/<id>/ and are swept at open. The files of a prepared one lie where its tables' files lie, named `.staged`;
 * the manifest names them, of no region, and the transaction, before the ledger says PREPARED.
 *
 * The decision is the ledger's commit alone. In its very step the regions get the files, with the commit's stamp; their
 * records follow when the decision is on the disk. A crash in between is made good at open.
 */
import { compareBytes } from '../cell/index.ts';
import type { RegionServer, TableState } from '../engine/index.ts';
import { FileNotFoundException, StoreException, invariant } from '../io/index.ts';
import { put, remove } from '../manifest/index.ts';
import type { Edit, FileRecord, TransactionRecord } from '../manifest/index.ts';
import { digestText } from './cells.ts';
import { originOf } from './origins.ts';
import { clockMs, commitTransaction } from './commit_step.ts';
import type { TransactionCommit } from './commit_step.ts';
import type { TransactionKnobs } from './knobs.ts';
import type { Ledger } from './ledger.ts';
import { archivedStaged } from './staged_files.ts';
import { digestJob, runJob, sealJob } from './stage_job.ts';
import type { SealFamily, SealedFile } from './stage_job.ts';
import type { SharedMemory } from './staging.ts';
import type { Txn } from './txn.ts';

/** An open transaction keeps so much in memory once it is to be staged. */
const RUN_BYTES: number = 8 * 1024 * 1024;
/** Of the memstores' limit: what all open transactions keep in memory. */
const MEMORY_SHARE = 4;
const PART_FLAG = 'part';
const LATEST_FLAG = 'latest';
const MARKERS_FLAG = 'markers';

export interface StagerParts {
  readonly memory: SharedMemory;
  readonly server: RegionServer;
  readonly ledger: Ledger;
  readonly knobs: () => TransactionKnobs;
}

export class Stager {
  readonly #server: RegionServer;
  readonly #ledger: Ledger;
  readonly #memory: SharedMemory;
  readonly #knobs: () => TransactionKnobs;
  #runs = 0;
  /** Links on their way into the manifest. */
  readonly #following = new Set<Promise<void>>();

  constructor({ server, ledger, memory, knobs }: StagerParts) {
    this.#server = server;
    this.#ledger = ledger;
    this.#memory = memory;
    this.#knobs = knobs;
  }

  /** More cells than are kept in the ledger. */
  isLarge(txn: Txn): boolean {
    // The rows of a snapshot transaction are looked at one by one: they stay in memory.
    return txn.facts.isolation !== 'snapshot' && txn.bytes > this.#knobs().txn_spill_bytes;
  }

  // ---- open ---------------------------------------------------------------------------------------------------------

  /** Writes what the transaction has in memory into a run if that is much, or all together have too much there. */
  async spillIfLarge(txn: Txn, memoryBytes: number): Promise<void> {
    if (txn.facts.isolation === 'snapshot') return;
    const spill = this.#knobs().txn_spill_bytes;
    const runBytes = Math.min(RUN_BYTES, Math.max(1, spill) * 32);
    const limit = this.#server.settings.memstoreBytes / MEMORY_SHARE;
    const isFull = txn.batchBytes > spill && memoryBytes > limit;
    if (txn.batchBytes <= runBytes && !isFull) return;
    await this.#spill(txn);
  }

  async #spill(txn: Txn): Promise<void> {
    const { env, layout } = this.#server;
    const folder = layout.transaction(txn.facts.id);
    await env.fs.ensureFolder(folder);
    const { batches } = txn;
    const prefix = `${folder}/run-${++this.#runs}`;
    const { runs } = await env.executor.run(
      runJob({ batches, prefix, nowMs: clockMs(this.#server) }),
    );
    txn.staged ??= { runs: [], files: [], bytes: 0, isVerified: true };
    txn.staged.runs.push(...runs);
    txn.batches = txn.batches.filter((batch) => !batches.includes(batch));
    this.#memory.give(batches);
    txn.batchBytes = txn.batches.reduce((sum, { buf }) => sum + buf.length, 0);
  }

  // ---- prepare ------------------------------------------------------------------------------------------------------

  /** Makes the files that the commit will link, and has the manifest name them. */
  async seal(txn: Txn): Promise<void> {
    const { env, files, layout, manifest } = this.#server;
    const staged = (txn.staged ??= { runs: [], files: [], bytes: 0, isVerified: true });
    // Runs and memory are not read together.
    if (staged.runs.length > 0 && txn.batches.length > 0) await this.#spill(txn);
    // Of a prepare that failed.
    await this.#discardFiles(txn.facts.id, staged.files, null);
    staged.files = [];
    const families = await this.#familiesOf(txn);
    const sealed = await env.executor.run(
      sealJob({
        families,
        batches: txn.batches,
        timestamps: txn.facts.timestamps,
        loadedMs: new Map([...txn.requests].map(([seq, { loadedMs }]) => [seq, loadedMs])),
        nowMs: clockMs(this.#server),
      }),
    );
    const paths = sealed.files.map(({ summary }) => layout.relative(summary.path));
    const release = files.hold(paths);
    try {
      for (const { summary } of sealed.files) await files.syncFolderOf(summary.path);
      const records = sealed.files.map((file) => this.#stagedRecord(file, sealed.hasLatestMarkers));
      await manifest.commit([
        ...records.map((record) => put('file', record)),
        put('transaction', transactionRecord(txn, records)),
      ]);
      staged.files = records;
    } finally {
      await release();
    }
    staged.bytes = staged.files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    txn.cells = sealed.cells;
    txn.isFresh = sealed.isFresh;
    txn.digest = digestText(sealed.crc);
    txn.groups = [];
    txn.block = null;
  }

  /** It is PREPARED: its runs are needed no more. */
  async prepared(txn: Txn): Promise<void> {
    await this.#removeRuns(txn);
  }

  /** Where each family's cells go. Throws when a table or family is gone. */
  async #familiesOf(txn: Txn): Promise<SealFamily[]> {
    const runs = new Map<string, string[]>();
    for (const { tableId, familyId, path } of txn.staged?.runs ?? []) {
      const key = `${tableId}/${familyId}`;
      runs.set(key, [...(runs.get(key) ?? []), path]);
    }
    for (const { tableId, familyId } of txn.batches.flatMap(({ stores }) => stores)) {
      const key = `${tableId}/${familyId}`;
      if (!runs.has(key)) runs.set(key, []);
    }
    const families: SealFamily[] = [];
    for (const [key, paths] of runs) {
      const [tableId, familyId] = key.split('/').map(Number);
      families.push(await this.#familyOf(tableId!, familyId!, paths));
    }
    return families.sort((a, b) => a.tableId - b.tableId || a.familyId - b.familyId);
  }

  async #familyOf(tableId: number, familyId: number, runs: string[]): Promise<SealFamily> {
    const table = this.#server.catalog.byId(tableId);
    const family = table?.families.find(({ id }) => id === familyId);
    if (table === undefined || family === undefined) {
      throw new FileNotFoundException(`table ${tableId} or its family ${familyId} was dropped`, '');
    }
    const { regions } = table;
    const folders: string[] = [];
    for (const region of regions) {
      const store = region.stores.find((one) => one.familyId === familyId)!;
      const { path } = await this.#server.files.place({ table, region, store });
      folders.push(path.slice(0, path.lastIndexOf('/')));
    }
    const startKeys = regions.map(({ startKey }) => startKey);
    return { tableId, familyId, settings: family.settings, runs, startKeys, folders };
  }

  #stagedRecord(file: SealedFile, hasMarkers: boolean): FileRecord {
    const { summary, tableId, familyId, hasLatest } = file;
    return {
      id: this.#server.manifest.takeId('file'),
      tableId,
      regionId: null,
      familyId,
      path: this.#server.layout.relative(summary.path),
      kind: 'staged',
      sizeBytes: summary.sizeBytes,
      cellCount: summary.cellCount,
      firstRow: rowOfKey(summary.firstKey),
      lastRow: rowOfKey(summary.lastKey),
      minTimestamp: summary.timeRangeMin,
      maxTimestamp: summary.timestampMax,
      minWriteNumber: 0n,
      maxWriteNumber: 0n,
      maxFlushedTso: null,
      dropTso: null,
      stamp: null,
      reference: null,
      level: 0,
      flags: [
        ...(summary.hasTags ? ['tags'] : []),
        ...(hasLatest ? [LATEST_FLAG] : []),
        ...(hasLatest && hasMarkers ? [MARKERS_FLAG] : []),
      ],
      addedTso: 0n,
      removedTso: null,
    };
  }

  async #removeRuns(txn: Txn): Promise<void> {
    if (txn.staged === null || txn.staged.runs.length === 0) return;
    txn.staged.runs = [];
    await this.#server.env.fs.remove(this.#server.layout.transaction(txn.facts.id));
  }

  // ---- the decision -------------------------------------------------------------------------------------------------

  /**
   * Commits the ledger's rows, and gives the files to the regions in the same step. Settles when the decision is on the disk: the
   * manifest follows, and an opening makes good what a crash leaves of that.
   */
  async link(txn: Txn, commit: Omit<TransactionCommit, 'groups'>): Promise<void> {
    const server = this.#server;
    await this.#verify(txn);
    const files = txn.staged?.files ?? [];
    const tables = this.#tablesOf(files, commit);
    const leave: (() => void)[] = [];
    let finish: Finish = { edits: [], done: () => undefined, failed: () => undefined };
    try {
      for (const table of tables) leave.push(await table.layout.enter());
      await commitTransaction(server, this.#ledger, {
        ...commit,
        groups: [],
        gates: tables,
        // Its rows are not looked at: markers of the same millisecond would hide its puts.
        isFresh: true,
        check: () => {
          commit.check?.();
          for (const table of tables) if (table.replaced) throw commit.gone!(table.id);
        },
        applied: (tso) => {
          commit.applied?.(tso);
          finish = this.#apply(txn, tso, tables);
        },
      });
    } catch (error) {
      for (const done of leave) done();
      throw error;
    }
    this.#follow(txn, finish, leave);
  }

  /** Brings the links into the manifest. Before that the layout of the tables stays as it is. */
  #follow(txn: Txn, finish: Finish, leave: readonly (() => void)[]): void {
    const following = this.#nameFiles(txn, finish).finally(() => {
      for (const done of leave) done();
      this.#following.delete(following);
    });
    this.#following.add(following);
  }

  async #nameFiles(txn: Txn, finish: Finish): Promise<void> {
    try {
      await this.#server.manifest.commit(finish.edits);
      finish.done();
    } catch (error) {
      const { label } = txn.facts;
      this.#server.logger.error({ label, error }, 'files of a committed transaction are not named');
      finish.failed(error);
    }
  }

  #tablesOf(files: readonly FileRecord[], commit: Pick<TransactionCommit, 'gone'>): TableState[] {
    const ids = [...new Set(files.map(({ tableId }) => tableId))].sort((a, b) => a - b);
    return ids.map((id) => {
      const table = this.#server.catalog.byId(id);
      if (table === undefined) throw commit.gone?.(id) ?? new Error(`table ${id} is gone`);
      return table;
    });
  }

  /** In the step: every region whose rows a file meets has it, or its part of it. */
  #apply(txn: Txn, tso: bigint, tables: readonly TableState[]): Finish {
    const staged = txn.staged?.files ?? [];
    const { edits, hasMarkers } = this.#give(staged, tso, txn);
    // A put without timestamp in this millisecond would be hidden by a marker that nobody remembers.
    if (hasMarkers) this.#server.oracle.closeMillisecond(Number(tso >> 18n));
    let done: () => void = () => undefined;
    let failed: (error: unknown) => void = () => undefined;
    const link = new Promise<void>((resolve, reject) => {
      done = resolve;
      failed = reject;
    });
    for (const table of tables) table.linking(link);
    return { edits, done, failed };
  }

  #give(
    staged: readonly FileRecord[],
    tso: bigint,
    txn: Txn,
  ): { edits: Edit[]; hasMarkers: boolean } {
    const { catalog, archive, manifest } = this.#server;
    const edits: Edit[] = [];
    const given: FileRecord[] = [];
    let hasMarkers = false;
    for (const file of staged) {
      edits.push(remove('file', file.id));
      hasMarkers ||= file.flags.includes(MARKERS_FLAG);
      const table = catalog.byId(file.tableId);
      if (table !== undefined) given.push(...this.#giveFile(table, file, tso));
    }
    const kept = archivedStaged(txn.facts.id, staged, tso);
    for (const record of [...given, ...archive.copiesOf([...given, ...kept])]) {
      edits.push(put('file', record));
    }
    for (const table of new Set(staged.map(({ tableId }) => catalog.byId(tableId)))) {
      // Whoever has read and not yet committed starts over: it would miss what came now.
      if (table !== undefined) table.version++;
    }
    const before = manifest.get('transaction', txn.facts.id);
    if (before !== undefined) {
      edits.push(put('transaction', { ...before, state: 'COMMITTED', tso, fileIds: [] }));
    }
    return { edits, hasMarkers };
  }

  #giveFile(table: TableState, file: FileRecord, tso: bigint): FileRecord[] {
    const { files, reads, background, manifest } = this.#server;
    const isLatest = file.flags.includes(LATEST_FLAG);
    const timestamp = isLatest ? tso >> 18n : null;
    const regions = table.regions.filter(
      ({ startKey, endKey }) =>
        compareBytes(startKey, file.lastRow!) <= 0 &&
        (endKey.length === 0 || compareBytes(endKey, file.firstRow!) > 0),
    );
    const times = isLatest ? rangeOfLatest(file, tso >> 18n) : file;
    return regions.flatMap((region) => {
      const store = region.stores.find(({ familyId }) => familyId === file.familyId);
      if (store === undefined) return [];
      const share = 1 / regions.length;
      const record: FileRecord = {
        ...file,
        id: manifest.takeId('file'),
        regionId: region.id,
        kind: 'store',
        sizeBytes: Math.round(file.sizeBytes * share),
        cellCount: Math.max(1, Math.round(file.cellCount * share)),
        minTimestamp: times.minTimestamp,
        maxTimestamp: times.maxTimestamp,
        minWriteNumber: tso,
        maxWriteNumber: tso,
        stamp: { writeNumber: tso, timestamp },
        flags: [
          ...file.flags.filter((flag) => flag === 'tags'),
          'bulk',
          ...(regions.length > 1 ? [PART_FLAG] : []),
        ],
        addedTso: tso,
      };
      store.files = [files.make(record, store, region), ...store.files];
      region.newestHigh = Number(tso >> 32n);
      region.newestLow = Number(tso & 0xffffffffn);
      region.layoutVersion++;
      reads.forget(region);
      background.consider(table, region);
      return [record];
    });
  }

  /** Reads the files of one that was prepared by an earlier process, once: what is damaged is never committed. */
  async #verify(txn: Txn): Promise<void> {
    const { staged } = txn;
    if (staged === null || staged.isVerified) return;
    const { env, layout } = this.#server;
    const files = staged.files.map(({ tableId, familyId, path }) => ({
      ...originOf({ tableId, familyId }, txn.origins),
      path: layout.resolve(path),
    }));
    try {
      const { cells, crc } = await env.executor.run(digestJob({ files }));
      if (cells !== txn.cells) txn.corrupt = `its files hold ${cells} cells, not ${txn.cells}`;
      else if (digestText(crc) !== txn.digest) {
        txn.corrupt = `its files have the digest ${digestText(crc)}, not ${txn.digest}`;
      }
    } catch (error) {
      if (!(error instanceof StoreException)) throw error;
      txn.corrupt = `its files are damaged: ${error.message}`;
    }
    if (txn.corrupt !== null) throw new CorruptData(txn);
    staged.isVerified = true;
  }

  // ---- the end ------------------------------------------------------------------------------------------------------

  /** Removes what a transaction has on the disk that was aborted by the commit `tso`. */
  async discard(txn: Txn, tso: bigint): Promise<void> {
    if (txn.staged === null) return;
    const { runs, files } = txn.staged;
    if (runs.length > 0) {
      await this.#server.env.fs.remove(this.#server.layout.transaction(txn.facts.id));
    }
    await this.#discardFiles(txn.facts.id, files, txn.preparedMs === null ? null : tso);
    txn.staged = null;
  }

  /** `abortedTso` of one that was PREPARED: backups of moments before still want its files. */
  async #discardFiles(
    id: bigint,
    files: readonly FileRecord[],
    abortedTso: bigint | null,
  ): Promise<void> {
    const { manifest, archive } = this.#server;
    const edits: Edit[] = files.map((file) => remove('file', file.id));
    const kept = abortedTso === null ? [] : archivedStaged(id, files, abortedTso);
    for (const record of archive.copiesOf(kept)) edits.push(put('file', record));
    if (manifest.get('transaction', id) !== undefined) edits.push(remove('transaction', id));
    if (edits.length === 0) return;
    const release = this.#server.files.hold(files.map(({ path }) => path));
    try {
      await manifest.commit(edits);
    } finally {
      await release();
    }
  }

  /** What a crash left: links to finish, files of what was never prepared, runs. */
  async recover(prepared: readonly Txn[]): Promise<void> {
    const { manifest, env, layout } = this.#server;
    await env.fs.remove(layout.transactions);
    const byId = new Map(prepared.map((txn) => [txn.facts.id, txn]));
    for (const record of [...manifest.all('transaction')]) {
      if (record.state !== 'PREPARED') continue;
      const files = record.fileIds.flatMap((id) => manifest.get('file', id) ?? []);
      if ((byId.get(record.id)?.staged ?? null) !== null) continue;
      const kept = await this.#ledger.byId(record.id);
      if (kept?.state === 'COMMITTED' && kept.tso !== null) {
        await this.#finishLink(record, files, BigInt(kept.tso));
        continue;
      }
      const wasPrepared = kept !== null && kept.preparedMs !== null;
      // When it was aborted is not known; not after now.
      await this.#discardFiles(record.id, files, wasPrepared ? this.#server.oracle.cursor() : null);
    }
    for (const txn of prepared) await this.takeOver(txn);
  }

  /** The files of a prepared one, as the manifest names them. */
  async takeOver(txn: Txn): Promise<void> {
    const { manifest } = this.#server;
    if (txn.staged === null) return;
    const record = manifest.get('transaction', txn.facts.id);
    const ids = record?.state === 'PREPARED' ? record.fileIds : [];
    const files = ids.flatMap((id) => manifest.get('file', id) ?? []);
    txn.staged.files = files;
    txn.staged.bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    await this.#checkFiles(txn);
    if (files.length === 0) txn.corrupt ??= 'the manifest does not name its files';
  }

  async #checkFiles(txn: Txn): Promise<void> {
    const { env, layout } = this.#server;
    for (const { path, sizeBytes } of txn.staged?.files ?? []) {
      const stat = await env.fs.stat(layout.resolve(path));
      if (stat?.sizeBytes === sizeBytes) continue;
      txn.corrupt = `its file ${path} has ${stat?.sizeBytes ?? 0} bytes, not ${sizeBytes}`;
    }
  }

  /** The decision is in the log, the files' records are not in the manifest. */
  async #finishLink(
    record: TransactionRecord,
    files: readonly FileRecord[],
    tso: bigint,
  ): Promise<void> {
    const { manifest, catalog, archive } = this.#server;
    const edits: Edit[] = files.map((file) => remove('file', file.id));
    const given = files.flatMap((file) => {
      const table = catalog.byId(file.tableId);
      return table === undefined ? [] : this.#giveFile(table, file, tso);
    });
    const kept = archivedStaged(record.id, files, tso);
    for (const one of [...given, ...archive.copiesOf([...given, ...kept])]) {
      edits.push(put('file', one));
    }
    edits.push(put('transaction', { ...record, state: 'COMMITTED', tso, fileIds: [] }));
    await manifest.commit(edits);
  }

  /** Forgets which files committed transactions were made of, once one of these is gone: the feed shows a gap then. */
  async sweep(): Promise<void> {
    const { manifest } = this.#server;
    const done = [...manifest.all('transaction')].filter(({ state }) => state === 'COMMITTED');
    if (done.length === 0) return;
    const named = new Set<string>();
    for (const { path } of manifest.all('file')) named.add(path);
    const gone = done.filter(({ detail }) => pathsOf(detail).some((path) => !named.has(path)));
    if (gone.length > 0) await manifest.commit(gone.map(({ id }) => remove('transaction', id)));
  }

  async close(): Promise<void> {
    const { env, layout } = this.#server;
    await Promise.all(this.#following);
    if (this.#runs > 0) await env.fs.remove(layout.transactions);
  }
}

interface Finish {
  readonly edits: Edit[];
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** Told to the decider, which has the error for callers. */
export class CorruptData extends Error {
  constructor(txn: Txn) {
    super(txn.corrupt ?? 'its cells are damaged');
  }
}

const pathsOf = (detail: Uint8Array): string[] => Buffer.from(detail).toString('utf8').split('\n');

function transactionRecord(txn: Txn, files: readonly FileRecord[]): TransactionRecord {
  const { id, namespace, label, createdMs } = txn.facts;
  invariant(files.length > 0, 'a staged transaction has files');
  return {
    id,
    namespace,
    label,
    state: 'PREPARED',
    reason: null,
    tso: null,
    digest: txn.digest,
    createdMs,
    deadlineMs: null,
    fileIds: files.map((file) => file.id),
    detail: Buffer.from(files.map(({ path }) => path).join('\n'), 'utf8'),
  };
}

/** A marker reaches down to 0. */
function rangeOfLatest(
  file: FileRecord,
  ms: bigint,
): { readonly minTimestamp: bigint; readonly maxTimestamp: bigint } {
  const reachesDown = file.minTimestamp === 0n;
  return { minTimestamp: reachesDown ? 0n : ms - 1n, maxTimestamp: ms };
}

/** The row of a flat key: u16 length, row, … */
function rowOfKey(key: Uint8Array | null): Uint8Array | null {
  if (key === null) return null;
  return key.slice(2, 2 + ((key[0]! << 8) | key[1]!));
}
