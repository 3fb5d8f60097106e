/**
 * Two-phase transactions on their way from backups into a store, as they were at the moment: what was PREPARED comes back PREPARED,
 * under its id and label, if all tables that it writes are restored. Into a new store come the decided ones, too, with their labels,
 * and the producers' epochs; a store that is there has its own.
 */
import { takeTableIds } from '../engine/index.ts';
import type { RegionServer, TableIds } from '../engine/index.ts';
import { put, remove } from '../manifest/index.ts';
import type { Edit, FileRecord, TransactionRecord } from '../manifest/index.ts';
import { DEFAULT_NAMESPACE } from '../model/index.ts';
import { physicalMsOf } from '../tso/index.ts';
import {
  blockOf,
  decodeGroups,
  digestOf,
  originOf,
  pieceName,
  placeOf,
  recordOf,
} from '../txn/index.ts';
import type {
  AdoptedTransaction,
  FamilyOrigin,
  LedgerPut,
  LedgerRecord,
  TransactionManager,
} from '../txn/index.ts';
import { u64 } from '../cell/index.ts';
import type { BackedFile, CatalogTable, PreparedName } from './backup_format.ts';
import { TableBuilder } from './built_table.ts';
import type { BuiltTable } from './built_table.ts';
import { BackupException } from './errors.ts';
import { ledgerRows } from './ledger_rows.ts';
import { placeTables, raiseOracle } from './place_tables.ts';
import type { PlaceOptions } from './place_tables.ts';
import type { Work } from './work.ts';

/** A family of a table as of the moment, by the id that log and files know it by. */
export interface FamilyTarget {
  readonly table: BuiltTable;
  readonly family: string;
}

/** A staged file of the backups, and the record of it. */
export interface StagedSource {
  readonly dir: string;
  readonly file: BackedFile;
  readonly record: FileRecord;
}

export interface RestoredTransactionsParts {
  readonly server: RegionServer;
  readonly work: Work;
  readonly manager: TransactionManager;
  readonly tso: bigint;
  readonly ledger: CatalogTable;
  /** The backups are of all tables: what they do not have there was not. */
  readonly isOfAll: boolean;
  /** The store was made for this restore. */
  readonly isNew: boolean;
  readonly gatherBytes: number | undefined;
  readonly familyOf: (place: {
    readonly tableId: number;
    readonly familyId: number;
  }) => FamilyTarget | undefined;
  /** Gives a file its place: relative to the data folder. */
  readonly copy: (source: StagedSource, path: string) => Promise<void>;
}

/** A prepared transaction that comes back. */
interface Coming {
  readonly record: LedgerRecord;
  readonly row: Uint8Array;
  /** By the ids in the backups; its cells know them by those of `from`. */
  readonly families: readonly FamilyOrigin[];
  readonly staged: readonly StagedSource[];
}

const SHOWN = 10;

export class RestoredTransactions {
  readonly #parts: RestoredTransactionsParts;
  readonly #builder: TableBuilder;
  /** Takes the ledger's cells as of the moment. */
  readonly table: BuiltTable;
  readonly #staged = new Map<bigint, StagedSource[]>();
  #coming: Coming[] = [];
  /** Ids of all that were prepared at the moment. */
  readonly #prepared = new Set<bigint>();

  constructor(parts: RestoredTransactionsParts) {
    this.#parts = parts;
    const { server, work, ledger, gatherBytes } = parts;
    this.#builder = new TableBuilder(server, work, gatherBytes);
    const { schema } = ledger.record.schemas[0]!;
    const startKeys = ledger.regions.map(({ startKey }) => startKey);
    this.table = this.#builder.table(schema, startKeys, true);
  }

  /** The families of the ledger, by `<table id>/<family id>`. */
  *families(): Generator<[string, FamilyTarget]> {
    const { id, schemas } = this.#parts.ledger.record;
    for (const [family, familyId] of Object.entries(schemas[0]!.familyIds)) {
      yield [`${id}/${familyId}`, { table: this.table, family }];
    }
  }

  /** Files of a seal follow each other; of one that was sealed again the later ones count. */
  addStaged(txnId: bigint, sources: readonly StagedSource[]): void {
    this.#staged.set(txnId, [...sources]);
  }

  relieve(): Promise<void> {
    return this.#builder.relieve();
  }

  /** How many come back. */
  get comingCount(): number {
    return this.#coming.length;
  }

  /** Throws BackupException where one of these, which were prepared, is known here. */
  async checkKnown(prepared: readonly PreparedName[]): Promise<void> {
    if (this.#parts.isNew) return;
    const names = prepared.map((one) => ({ ...one, id: String(one.txnId) }));
    const known = await this.#parts.manager.known(names);
    this.#refuse(known.map(({ label }) => `${label}: this store knows its label or id`));
  }

  /** Looks who comes back. Throws BackupException naming those that cannot. */
  async plan(): Promise<void> {
    await this.#builder.spill();
    const problems: string[] = [];
    for await (const { row, columns } of ledgerRows(this.table, 'p')) {
      const record = recordOf(columns.get('h') ?? null);
      if (record === null) continue;
      this.#prepared.add(BigInt(record.id));
      const found = this.#look(record, row, columns);
      if (typeof found === 'string') problems.push(`${record.label}: ${found}`);
      else if (found !== null) this.#coming.push(found);
    }
    if (!this.#parts.isNew) {
      const known = await this.#parts.manager.known(this.#coming.map(({ record }) => record));
      problems.push(...known.map(({ label }) => `${label}: this store knows its label or id`));
    }
    this.#refuse(problems);
  }

  #refuse(problems: readonly string[]): void {
    if (problems.length === 0) return;
    const shown = problems.slice(0, SHOWN).join('; ') + (problems.length > SHOWN ? '; …' : '');
    throw new BackupException(
      `${problems.length} prepared transaction(s) cannot come back: ${shown}. Restore all tables that they write into a new folder, or leave transactions out`,
    );
  }

  /** Null: it has nothing to do with what is restored. Text: why it cannot come. */
  #look(
    record: LedgerRecord,
    row: Uint8Array,
    columns: ReadonlyMap<string, Uint8Array>,
  ): Coming | string | null {
    let staged: readonly StagedSource[] = [];
    let cells: readonly { readonly tableId: number; readonly familyId: number }[];
    if (record.isStaged) {
      staged = this.#staged.get(BigInt(record.id)) ?? [];
      if (staged.length === 0) {
        return this.#parts.isOfAll ? 'the backups do not have its staged files' : null;
      }
      cells = staged.map(({ record: file }) => originOf(file, record.origins));
    } else {
      const block = blockIn(columns, record);
      if (block === null || digestOf(block) !== record.digest) {
        return `its cells do not have their digest ${record.digest}`;
      }
      cells = decodeGroups(block, record.label);
    }
    const families = distinct(cells).map((from) => ({
      fromTable: from.tableId,
      fromFamily: from.familyId,
      ...placeOf(from, record.origins),
    }));
    const here = families.filter((family) => this.#parts.familyOf(family) !== undefined);
    if (here.length === 0) return null;
    if (here.length < families.length) return 'it writes tables that are not restored, too';
    return { record, row, families, staged };
  }

  /** Places the tables of `builder` and the transactions, all or nothing. Answers the commit's TSO. */
  async place(builder: TableBuilder, options: PlaceOptions): Promise<bigint> {
    const { manager, isNew, server } = this.#parts;
    if (this.#coming.length === 0 && !isNew) return placeTables(builder, options);
    const ids = new Map(
      builder.tables.map((table) => [table, takeTableIds(server.manifest, table.schema)]),
    );
    // The ledger names them before the tables are there: nobody else may get them.
    await server.manifest.commit([remove('setting', 'restore')]);
    await this.#raiseOracle();
    await this.#makeNamespaces(options);
    const further: Edit[] = [];
    for (const one of this.#coming) further.push(...(await this.#placeStaged(one, ids)));
    let placedTso = 0n;
    await manager.adopt({
      names: this.#coming.map(({ record }) => record),
      transactions: this.#adopted(ids),
      rows: this.#rows(),
      place: async () => {
        placedTso = await placeTables(builder, { ...options, ids, further });
      },
    });
    return placedTso;
  }

  /** Removes what was gathered: it is in the store's own ledger, or not wanted. */
  discard(): Promise<void> {
    return this.#builder.discard();
  }

  /** Ids are never given again, and commits are above those of decided ones. */
  async #raiseOracle(): Promise<void> {
    let newest = 0n;
    for (const { record } of this.#coming) {
      if (BigInt(record.id) > newest) newest = BigInt(record.id);
    }
    if (this.#parts.isNew) {
      for await (const { row, columns } of ledgerRows(this.table, 'r')) {
        if (row[0] === ID_ROW && row.length === 9 && u64(row, 1) > newest) newest = u64(row, 1);
        const tso = columns.get('t');
        if (tso !== undefined && u64(tso, 0) > newest) newest = u64(tso, 0);
      }
    }
    raiseOracle(this.#parts.server, newest, 'the newest transaction began');
  }

  async #makeNamespaces({ namespaces }: PlaceOptions): Promise<void> {
    const { schema } = this.#parts.server;
    for (const namespace of new Set(this.#coming.map(({ record }) => record.namespace))) {
      if (namespace === DEFAULT_NAMESPACE || schema.namespaces().includes(namespace)) continue;
      const known = namespaces.find(({ name }) => name === namespace);
      await schema.createNamespace(namespace, known?.configuration ?? {});
    }
  }

  /** Copies its files; answers the records that make them its own. */
  async #placeStaged(
    { record, staged }: Coming,
    ids: ReadonlyMap<BuiltTable, TableIds>,
  ): Promise<Edit[]> {
    if (staged.length === 0) return [];
    const { server, familyOf, copy } = this.#parts;
    const files: FileRecord[] = [];
    for (const source of staged) {
      const { table, family } = familyOf(source.record)!;
      const path = await table.newPath(0, family, '.staged');
      await copy(source, path);
      const { tableId, familyIds } = ids.get(table)!;
      const id = server.manifest.takeId('file');
      files.push({ ...source.record, id, tableId, familyId: familyIds[family]!, path });
    }
    return [...files.map((file) => put('file', file)), put('transaction', ofFiles(record, files))];
  }

  async *#adopted(ids: ReadonlyMap<BuiltTable, TableIds>): AsyncGenerator<AdoptedTransaction> {
    const byRow = new Map(
      this.#coming.map((one) => [Buffer.from(one.row).toString('latin1'), one]),
    );
    if (byRow.size === 0) return;
    for await (const { row, columns } of ledgerRows(this.table, 'p')) {
      const one = byRow.get(Buffer.from(row).toString('latin1'));
      if (one === undefined) continue;
      const { record, families } = one;
      const block = record.isStaged ? null : blockIn(columns, record);
      yield { record: this.#placed(record, families, ids), block };
    }
  }

  /** Time since the moment does not count against its own. */
  #placed(
    record: LedgerRecord,
    families: readonly FamilyOrigin[],
    ids: ReadonlyMap<BuiltTable, TableIds>,
  ): LedgerRecord {
    const { server, tso, familyOf } = this.#parts;
    const pastMs = Math.max(0, server.env.clock.nowMs() - physicalMsOf(tso));
    const origins = families.map((one) => {
      const { table, family } = familyOf(one)!;
      const { tableId, familyIds } = ids.get(table)!;
      return { ...one, tableId, familyId: familyIds[family]! };
    });
    const expiresMs = record.expiresMs === null ? null : record.expiresMs + pastMs;
    return { ...record, expiresMs, origins };
  }

  /** Of a new store: everything but what the prepared ones bring themselves. */
  async *#rows(): AsyncGenerator<LedgerPut> {
    if (!this.#parts.isNew) return;
    for await (const { row, columns } of ledgerRows(this.table, 'r')) {
      const id = row[0] === ID_ROW && row.length === 9 ? row.subarray(1) : columns.get('i');
      if (id?.length === 8 && this.#prepared.has(u64(id, 0))) continue;
      const named = [...columns].map(([name, value]) => [`r:${name}`, value] as const);
      yield { row, columns: Object.fromEntries(named) };
    }
  }
}

/** First byte of the row of an id (txn/ledger.ts). */
const ID_ROW = 0x69;

function blockIn(
  columns: ReadonlyMap<string, Uint8Array>,
  record: LedgerRecord,
): Uint8Array | null {
  const nameOf = (n: number): string => Buffer.from(pieceName(n)).toString('latin1');
  return blockOf((n) => columns.get(nameOf(n)) ?? null, record);
}

function distinct(
  places: readonly { readonly tableId: number; readonly familyId: number }[],
): { readonly tableId: number; readonly familyId: number }[] {
  const byKey = new Map(places.map((one) => [`${one.tableId}/${one.familyId}`, one]));
  return [...byKey.values()];
}

function ofFiles(record: LedgerRecord, files: readonly FileRecord[]): TransactionRecord {
  return {
    id: BigInt(record.id),
    namespace: record.namespace,
    label: record.label,
    state: 'PREPARED',
    reason: null,
    tso: null,
    digest: record.digest,
    createdMs: record.createdMs,
    deadlineMs: null,
    fileIds: files.map(({ id }) => id),
    detail: Buffer.from(files.map(({ path }) => path).join('\n'), 'utf8'),
  };
}
