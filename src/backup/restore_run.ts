/**
 * The work of a restore: tables are built of the full backup's files and of what the log says up to the moment, then placed with the
 * transactions of that time.
 */
import { MERGED_FLAG, highOf, joinHalves, lowOf } from '../engine/index.ts';
import type { Logger, RegionServer } from '../engine/index.ts';
import { READY, WAIT } from '../cell/index.ts';
import type { CellSource } from '../cell/index.ts';
import { BlockCache, HFileReader } from '../hfile/index.ts';
import { CorruptionException, IoException } from '../io/index.ts';
import type { Env } from '../io/index.ts';
import type { FileRecord, NamespaceRecord } from '../manifest/index.ts';
import {
  IllegalArgumentException,
  TableNotFoundException,
  canonicalTableName,
} from '../model/index.ts';
import type { TableSchema } from '../model/index.ts';
import { DroppedAfter } from '../region/index.ts';
import type { TransactionManager } from '../txn/index.ts';
import { KIND_COMMIT, LogReader } from '../wal/index.ts';
import type { LogRecord } from '../wal/index.ts';
import type { BackedFile, Backup, BackupPart, CatalogTable } from './backup_format.ts';
import { entriesOf, sizeOf } from './backup_format.ts';
import { TableBuilder } from './built_table.ts';
import { copyChecked, entryFault, entryLengthFault, linkSynced } from './checked_file.ts';
import { BackupException } from './errors.ts';
import { isWithin, rowsOf, spread } from './file_rows.ts';
import { placeTables } from './place_tables.ts';
import { RestoredTransactions } from './restore_transactions.ts';
import type { FamilyTarget, StagedSource } from './restore_transactions.ts';
import { sideBySide } from './work.ts';
import type { Work, WorkOptions } from './work.ts';

/** A file that is copied as it is, and what it stands for. */
interface FileCopy {
  readonly from: string;
  /** Relative to the data folder. */
  readonly path: string;
  readonly file: BackedFile;
  readonly records: readonly FileRecord[];
}

/** Set in the family id of a group of old values. */
const BEFORE_GROUP_BIT = 0x80000000;

export interface RestoreOptions extends WorkOptions {
  /** A TSO, or a time: everything committed up to and including that millisecond. Absent: the newest there is. */
  readonly asOf?: bigint | Date;
  /** The backup whose chain is used; absent: the newest that covers the moment. */
  readonly id?: string;
  readonly tables?: readonly string[];
  readonly rename?: Readonly<Record<string, string>>;
  /** Files copied side by side; default 2. */
  readonly parallel?: number;
  /** Tables of the same name in the target make room. */
  readonly overwrite?: boolean;
  /** Cells get the write number of the restore instead of their own. */
  readonly restamp?: boolean;
  /**
   * What was PREPARED comes back PREPARED (`restore`, the default; restore_transactions.ts), or nothing of the transactions
   * does (`leave`): only what they had committed is there.
   */
  readonly transactions?: 'restore' | 'leave';
  /** Links the backup's files instead of copying them: for views that are read only. */
  readonly link?: boolean;
  /** Memory of cells of the log that are gathered before they are written. */
  readonly gatherBytes?: number;
  readonly logger?: Logger;
}

export interface RestoreReport {
  readonly tso: bigint;
  readonly backups: readonly string[];
  readonly tables: readonly string[];
  readonly files: number;
  readonly bytes: number;
  /** Of the log. */
  readonly commits: number;
  readonly cells: number;
  /** Transactions that are PREPARED again. */
  readonly prepared: number;
  readonly placedTso: bigint;
}

/** The store that is restored into. */
export interface RestoreTarget {
  readonly server: RegionServer;
  /** Null: it takes no transactions. */
  readonly manager: TransactionManager | null;
  /** It was made for this restore. */
  readonly isNew: boolean;
}

export interface RestoreParts {
  readonly target: RestoreTarget;
  readonly work: Work;
  /** The folder in which a backup's files are. */
  readonly dirOf: (backup: Backup) => string;
  readonly chain: readonly Backup[];
  readonly tso: bigint;
  readonly options: RestoreOptions;
}

/** One restore: `check`, then `run`. */
export class Restore {
  readonly #into: RestoreTarget;
  readonly #server: RegionServer;
  readonly #work: Work;
  readonly #dirOf: (backup: Backup) => string;
  readonly #chain: readonly Backup[];
  readonly #tso: bigint;
  readonly #options: RestoreOptions;
  readonly #builder: TableBuilder;
  /** By `<table id>/<family id>`. */
  readonly #families = new Map<string, FamilyTarget>();
  readonly #transactions: RestoredTransactions | null;
  #namespaces: readonly NamespaceRecord[] = [];
  #files = 0;
  #commits = 0;

  constructor({ target, work, dirOf, chain, tso, options }: RestoreParts) {
    const { server } = target;
    this.#into = target;
    this.#server = server;
    this.#work = work;
    this.#dirOf = dirOf;
    this.#chain = chain;
    this.#tso = tso;
    this.#options = options;
    this.#builder = new TableBuilder(server, work, options.gatherBytes);
    this.#transactions = this.#transactionsOf(options);
  }

  /** Null: there were none, or they are not wanted. */
  #transactionsOf({ transactions, gatherBytes }: RestoreOptions): RestoredTransactions | null {
    const ledger = this.#lastPart().ledger ?? null;
    if (ledger === null || ledger.record.createdTso > this.#tso || transactions === 'leave') {
      return null;
    }
    const { manager, isNew } = this.#into;
    if (manager === null) {
      throw new BackupException(
        'the backups hold transactions, and this store takes none: leave transactions out',
      );
    }
    return new RestoredTransactions({
      server: this.#server,
      work: this.#work,
      manager,
      tso: this.#tso,
      ledger,
      isOfAll: this.#chain.every(({ all }) => all),
      isNew,
      gatherBytes,
      familyOf: (place) => this.#familyOf(place),
      copy: ({ dir, file }, path) => this.#copyFile({ from: `${dir}/${file.path}`, path, file }),
    });
  }

  /** The part in which the moment lies. */
  #lastPart(): BackupPart {
    const parts = this.#chain.flatMap((backup) => backup.parts);
    return parts.find((part) => this.#tso <= part.toTso) ?? parts.at(-1)!;
  }

  /** Every file is there in its length, and the log is as it was, before anything is written. */
  async check(): Promise<void> {
    const { env } = this.#server;
    for (const backup of this.#chain) {
      const dir = this.#dirOf(backup);
      this.#work.bytesTotal += sizeOf(backup);
      for (const entry of entriesOf(backup)) {
        const fault = await entryLengthFault(env, dir, entry);
        if (fault !== null) throw this.#damaged(backup, entry.path, fault);
      }
      for (const entry of backup.parts.flatMap(({ log }) => log)) {
        const fault = await entryFault(this.#work, dir, entry);
        if (fault !== null) throw this.#damaged(backup, entry.path, fault);
      }
    }
  }

  #damaged(backup: Backup, path: string, fault: string): CorruptionException {
    return new CorruptionException(
      `backup ${backup.id} is damaged: ${fault};`,
      `${this.#dirOf(backup)}/${path}`,
      0,
    );
  }

  async run(): Promise<RestoreReport> {
    try {
      this.#makeTables();
      await this.#checkKnown();
      for (const backup of this.#chain) {
        for (const part of backup.parts) {
          if (part.kind === 'base' || part.fromTso < this.#tso) await this.#part(backup, part);
        }
      }
      await this.#transactions?.plan();
      await this.#builder.spill();
      return this.#report(await this.#place());
    } catch (error) {
      await this.#builder.discard();
      throw error;
    } finally {
      await this.#transactions?.discard();
    }
  }

  #place(): Promise<bigint> {
    const options = {
      overwrite: this.#options.overwrite === true,
      restamp: this.#options.restamp === true,
      namespaces: this.#namespaces,
      what: `restore as of ${this.#tso}`,
    };
    return this.#transactions === null
      ? placeTables(this.#builder, options)
      : this.#transactions.place(this.#builder, options);
  }

  /** What is known before anything is read: who was prepared when the backup was taken. */
  async #checkKnown(): Promise<void> {
    const { options, chain, tso } = { options: this.#options, chain: this.#chain, tso: this.#tso };
    const last = chain.at(-1)!;
    // Of some tables it is not known yet whose they are.
    if (options.tables !== undefined || last.toTso !== tso) return;
    await this.#transactions?.checkKnown(last.prepared ?? []);
  }

  #report(placedTso: bigint): RestoreReport {
    return {
      tso: this.#tso,
      backups: this.#chain.map(({ id }) => id),
      tables: this.#builder.tables.map(({ schema }) => schema.name).sort(),
      files: this.#files,
      bytes: this.#work.bytes,
      commits: this.#commits,
      cells: this.#work.cells,
      prepared: this.#transactions?.comingCount ?? 0,
      placedTso,
    };
  }

  // ---- The catalog as of the moment --------------------------------------------------------------------------------

  #makeTables(): void {
    const last = this.#lastPart();
    const [first] = this.#chain[0]!.parts;
    this.#namespaces = last.catalog.namespaces;
    const alive = last.catalog.tables.filter(
      ({ record }) =>
        record.createdTso <= this.#tso &&
        (record.droppedTso === null || record.droppedTso > this.#tso),
    );
    for (const table of this.#chosen(alive)) {
      // Where the table was in the full backup, its files fit the borders of then.
      const full = first!.catalog.tables.find(({ record }) => record.id === table.record.id);
      this.#makeTable(
        table,
        (full ?? table).regions.map(({ startKey }) => startKey),
      );
    }
    for (const [key, target] of this.#transactions?.families() ?? []) {
      this.#families.set(key, target);
    }
  }

  #chosen(alive: readonly CatalogTable[]): readonly CatalogTable[] {
    const { tables, rename = {} } = this.#options;
    const names = alive.map(({ record }) => record.name);
    const wanted = tables?.map(canonicalTableName) ?? names;
    for (const name of [...wanted, ...Object.keys(rename).map(canonicalTableName)]) {
      if (names.includes(name)) continue;
      throw new TableNotFoundException(
        `as of ${this.#tso} there was no table ${name}; there were ${names.join(', ')}`,
      );
    }
    const targets = wanted.map((name) => this.#target(name));
    if (new Set(targets).size < targets.length) {
      throw new IllegalArgumentException('two tables would be restored under one name');
    }
    return alive.filter(({ record }) => wanted.includes(record.name));
  }

  #target(name: string): string {
    const { rename = {} } = this.#options;
    const entry = Object.entries(rename).find(([from]) => canonicalTableName(from) === name);
    return canonicalTableName(entry?.[1] ?? name);
  }

  #makeTable({ record }: CatalogTable, startKeys: readonly Uint8Array[]): void {
    const version = record.schemas.findLast(({ tso }) => tso <= this.#tso) ?? record.schemas[0]!;
    const schema: TableSchema = { ...version.schema, name: this.#target(record.name) };
    const table = this.#builder.table(schema, startKeys, record.enabled);
    for (const [family, id] of Object.entries(version.familyIds)) {
      this.#families.set(`${record.id}/${id}`, { table, family });
    }
  }

  // ---- Files and log -------------------------------------------------------------------------------------------------

  async #part(backup: Backup, part: BackupPart): Promise<void> {
    const dir = this.#dirOf(backup);
    const copies: FileCopy[] = [];
    this.#noteStaged(dir, part);
    for (const file of part.files) {
      this.#work.begin(file.path);
      const whole = await this.#gatherParts(dir, part, file);
      if (whole.length > 0) copies.push(await this.#planCopy(dir, file, whole));
      await this.#relieve();
    }
    await sideBySide(copies, this.#options.parallel ?? 2, (copy) => this.#copyFile(copy));
    for (const { records, path } of copies) this.#addRecords(records, part, path);
    if (part.log.length > 0) await this.#log(dir, part);
  }

  async #relieve(): Promise<void> {
    await this.#builder.relieve();
    await this.#transactions?.relieve();
  }

  #noteStaged(dir: string, part: BackupPart): void {
    const byId = new Map<bigint, StagedSource[]>();
    for (const file of part.files) {
      for (const { role, record, txnId } of file.records) {
        if (role !== 'staged' || txnId === undefined) continue;
        byId.set(txnId, [...(byId.get(txnId) ?? []), { dir, file, record }]);
      }
    }
    for (const [txnId, sources] of byId) {
      sources.sort((a, b) => a.record.id - b.record.id);
      this.#transactions?.addStaged(txnId, sources);
    }
  }

  /** Takes the cells of records that count in part; answers those for which the file stands as it is. */
  async #gatherParts(dir: string, part: BackupPart, file: BackedFile): Promise<FileRecord[]> {
    const whole: FileRecord[] = [];
    for (const { role, record } of file.records) {
      if (role === 'staged' || this.#familyOf(record) === undefined) continue;
      if (role === 'covering') await this.#gatherFile(dir, file, record, part, true);
      else if (role === 'history' && record.flags.includes(MERGED_FLAG)) {
        await this.#gatherFile(dir, file, record, part, false);
      } else if (role !== 'loaded' || record.addedTso <= this.#tso) whole.push(record);
    }
    return whole;
  }

  #familyOf({
    tableId,
    familyId,
  }: Pick<FileRecord, 'tableId' | 'familyId'>): FamilyTarget | undefined {
    return this.#families.get(`${tableId}/${familyId}`);
  }

  async #planCopy(
    dir: string,
    file: BackedFile,
    records: readonly FileRecord[],
  ): Promise<FileCopy> {
    const { table, family } = this.#familyOf(records[0]!)!;
    return { from: `${dir}/${file.path}`, path: await table.newPath(0, family), file, records };
  }

  async #copyFile({ from, path, file }: Omit<FileCopy, 'records'>): Promise<void> {
    const { layout, env } = this.#server;
    this.#work.begin(file.path);
    const to = layout.resolve(path);
    if (this.#options.link !== true) await copyChecked(this.#work, from, to, file);
    else if (!(await tryLink(env, from, to))) {
      await copyChecked(this.#work, from, to, file.crc32 === '' ? null : file);
    }
    this.#files++;
  }

  /** The records of a copied file for the regions of the new table. */
  #addRecords(records: readonly FileRecord[], part: BackupPart, path: string): void {
    for (const record of records) {
      const target = this.#familyOf(record)!;
      for (const { region, facts } of spread(record, target.table, part, path)) {
        target.table.add({ region, family: target.family, facts });
      }
    }
  }

  /** The cells of a file that count, one by one: those that skipped the log, or left the live files after the capture. */
  async #gatherFile(
    dir: string,
    file: BackedFile,
    record: FileRecord,
    part: BackupPart,
    isCovering: boolean,
  ): Promise<void> {
    const { env } = this.#server;
    const path = `${dir}/${file.path}`;
    const fault = file.crc32 === '' ? null : await entryFault(this.#work, dir, file);
    if (fault !== null) throw new CorruptionException(`a backup is damaged: ${fault};`, path, 0);
    const { table, family } = this.#familyOf(record)!;
    const { from, to } = rowsOf(record, part);
    const reader = await HFileReader.open(env.fs, path, new BlockCache(1 << 20));
    try {
      const cursor = reader.cursor({ cacheBlocks: false, sequential: true });
      const drop = part.toTso;
      const source: CellSource = isCovering
        ? cursor
        : new DroppedAfter(cursor, highOf(drop), lowOf(drop));
      let state = source.seekToFirst();
      for (; state === WAIT; state = source.seekToFirst()) await source.load();
      while (state === READY) {
        const { cell } = source;
        const row = cell.block.subarray(cell.rowAt, cell.rowAt + cell.rowLength);
        const written = joinHalves(cell.writeHigh, cell.writeLow);
        const counts = !isCovering || this.#isSkipped(part, written);
        if (counts && isWithin(row, from, to)) {
          table.gather(family, cell.block, cell.at, lengthOf(cell), cell.writeHigh, cell.writeLow);
          this.#work.cells++;
          if (this.#work.cells % 1000 === 0) await this.#relieve();
        }
        state = source.next();
        for (; state === WAIT; state = source.next()) await source.load();
      }
    } finally {
      await reader.close();
    }
  }

  #isSkipped(part: BackupPart, written: bigint): boolean {
    if (written > this.#tso) return false;
    return part.skipped.some(({ first, last }) => written >= first && written <= last);
  }

  async #log(dir: string, part: BackupPart): Promise<void> {
    this.#work.begin('log');
    const first = part.log[0]!.path;
    const folder = `${dir}/${first.slice(0, first.lastIndexOf('/'))}`;
    const reader = new LogReader(this.#server.env, [folder], {
      fromHigh: highOf(part.fromTso),
      fromLow: lowOf(part.fromTso),
    });
    try {
      while (await reader.nextBatch()) {
        while (reader.next()) {
          const { record } = reader;
          if (record.tso > this.#tso) return;
          if (record.kind === KIND_COMMIT && record.tso > part.fromTso) this.#commit(record);
        }
        await this.#relieve();
        await this.#work.step(0);
      }
    } finally {
      await reader.close();
    }
  }

  #commit(record: LogRecord): void {
    let isOurs = false;
    while (record.nextGroup()) {
      const isBefore = (record.familyId & BEFORE_GROUP_BIT) !== 0;
      const target = this.#families.get(`${record.tableId}/${record.familyId}`);
      while (record.nextCell()) {
        if (target === undefined || isBefore) continue;
        const { buf, cellAt, cellLength, tsoHigh, tsoLow } = record;
        target.table.gather(target.family, buf, cellAt, cellLength, tsoHigh, tsoLow);
        this.#work.cells++;
        isOurs ||= target.table !== this.#transactions?.table;
      }
    }
    if (isOurs) this.#commits++;
  }
}

/** False where the file system cannot give a file a second name there. */
async function tryLink(env: Env, from: string, to: string): Promise<boolean> {
  try {
    await linkSynced(env, from, to);
    return true;
  } catch (error) {
    if (!(error instanceof IoException)) throw error;
    return false;
  }
}

/** A cell's length without the place for tags that it may have in a file with tags. */
function lengthOf(cell: {
  readonly length: number;
  readonly tagsLength: number;
  readonly at: number;
  readonly valueAt: number;
  readonly valueLength: number;
}): number {
  return cell.tagsLength === 0 ? cell.valueAt + cell.valueLength - cell.at : cell.length;
}
