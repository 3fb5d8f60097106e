/**
 * Where transactions are kept: a table of the store itself, `hbase:cellar_txn`, which nobody else sees. So a state is a commit
 * like any other: logged, synced, replayed, flushed, restored; and a decision is one log record with the transaction's cells.
 *
 *     row                          column   value
 *     i · txn id (8)               r:s      the record, JSON
 *                                  r:t      the TSO of its commit (8), only of a committed one
 *     l · namespace · 0 · label    r:i      id of the label's newest transaction (8)
 *     f · producer                 r:e      its epoch (8)
 *     s                            r:f      greatest id whose record was forgotten (8)
 *     p · slot (4)                 p:h      of a prepared transaction its record, JSON; empty when it is decided
 *                                  p:N (4)  its id (8) · piece N of its cells (cells.ts)
 *
 * Slots are used again, so that an opening reads as many as were ever prepared at a time. Numbers are big-endian.
 */
import { putU32, putU64, toBytes, u32, u64 } from '../cell/index.ts';
import { CellEncoder, encodePut, hiddenName } from '../engine/index.ts';
import type { RegionServer, TableState } from '../engine/index.ts';
import { invariant } from '../io/index.ts';
import { TableExistsException } from '../model/index.ts';
import type {
  AbortReason,
  Result,
  ScanOptions,
  Table,
  TransactionIsolation,
  TransactionPhase,
  TransactionTimestamps,
} from '../model/index.ts';
import type { MutationBuffer } from '../region/index.ts';
import type { FamilyOrigin } from './origins.ts';

/** In HBase's own namespace, as its system tables are. */
export const LEDGER_TABLE = 'hbase:cellar_txn';
const STATE_ROW: Uint8Array = Buffer.from('s');
const PIECE_BYTES: number = 1 << 20;

/** A transaction as the ledger keeps it. 64-bit numbers are decimal text. */
export interface LedgerRecord {
  readonly id: string;
  readonly namespace: string;
  readonly label: string;
  readonly state: TransactionPhase;
  readonly reason: AbortReason | null;
  readonly tso: string | null;
  readonly digest: string | null;
  readonly rows: number;
  readonly cells: number;
  readonly bytes: number;
  readonly isolation: TransactionIsolation;
  readonly timestamps: TransactionTimestamps;
  readonly producer: string | null;
  readonly epoch: number | null;
  readonly startTso: string | null;
  readonly createdMs: number;
  readonly preparedMs: number | null;
  readonly finishedMs: number | null;
  readonly expiresMs: number | null;
  /** The commit takes a fresh millisecond. */
  readonly isFresh: boolean;
  /** Ids of its staged files in the manifest, instead of cells in pieces. */
  readonly isStaged: boolean;
  /** Of one that came with a backup: every family that it writes. */
  readonly origins?: readonly FamilyOrigin[];
}

/** A prepared transaction as found at open. */
export interface LedgerSlot {
  readonly slot: number;
  readonly record: LedgerRecord;
  /** Its cells; null when a piece is missing. */
  readonly block: Uint8Array | null;
}

/** One row to write. */
export interface LedgerPut {
  readonly row: Uint8Array;
  readonly columns: Readonly<Record<string, Uint8Array>>;
  readonly pieces?: readonly Uint8Array[];
  /** A column that gets the TSO of the commit, 8 bytes. */
  readonly tsoColumn?: string;
}

export class Ledger {
  readonly #server: RegionServer;
  readonly #table: Table;
  readonly #encoder: CellEncoder = new CellEncoder();
  #creating: Promise<void> | null = null;

  constructor(server: RegionServer, table: Table) {
    this.#server = server;
    this.#table = table;
  }

  /** Null before the first transaction that had to be kept. */
  get state(): TableState | null {
    return this.#server.catalog.find(hiddenName(LEDGER_TABLE)) ?? null;
  }

  /** Makes the table, the first time. */
  async ensure(): Promise<TableState> {
    const found = this.state;
    if (found !== null) return found;
    this.#creating ??= this.#create().finally(() => (this.#creating = null));
    await this.#creating;
    const made = this.state;
    invariant(made !== null, 'the ledger is there once it is made');
    return made;
  }

  async #create(): Promise<void> {
    try {
      await this.#server.schema.createTable({
        name: LEDGER_TABLE,
        families: ['p', 'r'],
        DURABILITY: 'FSYNC_WAL',
      });
    } catch (error) {
      if (!(error instanceof TableExistsException)) throw error;
    }
  }

  /** Encodes rows into a commit; answers where in the buffer its TSO goes, -1: nowhere. */
  encode(mutation: MutationBuffer, table: TableState, puts: readonly LedgerPut[]): number {
    let tsoAt = -1;
    for (const { row, columns, pieces, tsoColumn } of puts) {
      if (tsoColumn !== undefined) {
        encodePut(this.#encoder, mutation, table, row, { [tsoColumn]: 0n }, undefined);
        tsoAt = mutation.size - 8;
      }
      if (Object.keys(columns).length > 0) {
        encodePut(this.#encoder, mutation, table, row, columns, undefined);
      }
      for (const [n, piece] of (pieces ?? []).entries()) {
        const value = { family: 'p', qualifier: u32Bytes(n), value: piece };
        encodePut(this.#encoder, mutation, table, row, [value], undefined);
      }
    }
    return tsoAt;
  }

  /** The record of this id; null if there is none, or it was forgotten. */
  async byId(id: bigint): Promise<LedgerRecord | null> {
    if (this.state === null) return null;
    const result = await this.#table.get(idRow(id), { families: ['r'] });
    return result === null ? null : fullRecordOf(result);
  }

  async byLabel(namespace: string, label: string): Promise<LedgerRecord | null> {
    if (this.state === null) return null;
    const result = await this.#table.get(labelRow(namespace, label), { columns: ['r:i'] });
    const id = result?.value('r:i') ?? null;
    return id === null || id.length !== 8 ? null : this.byId(u64(id, 0));
  }

  /** Of a producer; 0 if it was never fenced. */
  async epoch(producer: string): Promise<number> {
    if (this.state === null) return 0;
    const result = await this.#table.get(fenceRow(producer), { columns: ['r:e'] });
    const value = result?.value('r:e') ?? null;
    return value === null ? 0 : Number(u64(value, 0));
  }

  /** Greatest id whose record was forgotten; 0: none was. */
  async forgottenTo(): Promise<bigint> {
    if (this.state === null) return 0n;
    const result = await this.#table.get(STATE_ROW, { columns: ['r:f'] });
    const value = result?.value('r:f') ?? null;
    return value === null ? 0n : u64(value, 0);
  }

  /** Forgets these records; labels that were used again since stay. */
  async forget(records: readonly LedgerRecord[]): Promise<void> {
    let last = 0n;
    for (const { id, namespace, label } of records) {
      const newest = await this.#table.get(labelRow(namespace, label), { columns: ['r:i'] });
      const value = newest?.value('r:i') ?? null;
      await this.#table.delete(idRow(BigInt(id)));
      if (value !== null && u64(value, 0) === BigInt(id)) {
        await this.#table.delete(labelRow(namespace, label));
      }
      if (BigInt(id) > last) last = BigInt(id);
    }
    const before = await this.forgottenTo();
    if (last > before) await this.#table.put(STATE_ROW, { 'r:f': last });
  }

  /** Removes every trace of one that was never PREPARED in this store after all; the slot last. */
  async erase({ id, namespace, label }: LedgerRecord, slot: number): Promise<void> {
    await this.#table.delete(idRow(BigInt(id)));
    await this.#table.delete(labelRow(namespace, label));
    await this.#table.put(slotRow(slot), { 'p:h': new Uint8Array(0) });
  }

  /** Records by id, ascending, above `after`, in steps. */
  async *records(after: bigint): AsyncGenerator<LedgerRecord> {
    if (this.state === null) return;
    const options: ScanOptions = {
      start: idRow(after),
      startInclusive: false,
      stop: Buffer.from('j'),
      families: ['r'],
    };
    const scanner = this.#table.scan(options);
    try {
      for await (const result of scanner) {
        const record = fullRecordOf(result);
        if (record !== null) yield record;
      }
    } finally {
      await scanner.close();
    }
  }

  /** Records of what was prepared and not decided as of this moment, without cells. */
  async preparedAsOf(tso: bigint): Promise<LedgerRecord[]> {
    const records: LedgerRecord[] = [];
    if (this.state === null || this.state.createdTso > tso) return records;
    const scanner = this.#table.scan({ prefix: 'p', columns: ['p:h'], asOf: tso });
    for await (const result of scanner) {
      const record = recordOf(result.value('p:h'));
      if (record !== null) records.push(record);
    }
    return records;
  }

  /** What was prepared and not decided (of these ids), with how many slots there are. */
  async slots(
    ids: ReadonlySet<string> | null = null,
  ): Promise<{ slots: LedgerSlot[]; slotCount: number }> {
    const slots: LedgerSlot[] = [];
    let slotCount = 0;
    if (this.state === null) return { slots, slotCount };
    for await (const result of this.#table.scan({ prefix: 'p', families: ['p'] })) {
      const slot = u32(result.row, 1);
      slotCount = Math.max(slotCount, slot + 1);
      const record = recordOf(result.value('p:h'));
      if (record === null || ids?.has(record.id) === false) continue;
      const block = record.isStaged
        ? null
        : blockOf((n) => result.value(['p', pieceName(n)]), record);
      slots.push({ slot, record, block });
    }
    return { slots, slotCount };
  }
}

/** The rows that make a transaction PREPARED: `block` holds its cells, null of a staged one. */
export function preparedPuts(
  record: LedgerRecord,
  slot: number,
  block: Uint8Array | null,
): LedgerPut[] {
  const id = BigInt(record.id);
  const columns = { 'p:h': recordBytes(record) };
  const pieces = block === null ? [] : piecesOf(id, block);
  return [...recordPuts(record), { row: slotRow(slot), columns, pieces }];
}

/** The rows of a state. */
export function recordPuts(record: LedgerRecord): LedgerPut[] {
  const id = BigInt(record.id);
  const tso = record.state === 'COMMITTED' ? { tsoColumn: 'r:t' } : {};
  return [
    { row: idRow(id), columns: { 'r:s': recordBytes(record) }, ...tso },
    { row: labelRow(record.namespace, record.label), columns: { 'r:i': u64Bytes(id) } },
  ];
}

/** The pieces of a block, each behind the id. */
export function piecesOf(id: bigint, block: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < block.length || at === 0; at += PIECE_BYTES) {
    const part = block.subarray(at, at + PIECE_BYTES);
    const piece = Buffer.allocUnsafe(8 + part.length);
    putU64(piece, 0, id);
    piece.set(part, 8);
    pieces.push(piece);
  }
  return pieces;
}

/** The pieces one after the other, as many as belong to the record; null if one is missing. */
export function blockOf(
  pieceAt: (n: number) => Uint8Array | null,
  record: LedgerRecord,
): Uint8Array | null {
  const id = BigInt(record.id);
  const parts: Uint8Array[] = [];
  let size = 0;
  for (let n = 0; ; n++) {
    const piece = pieceAt(n);
    if (piece === null || piece.length < 8 || u64(piece, 0) !== id) break;
    parts.push(piece.subarray(8));
    size += piece.length - 8;
    if (piece.length - 8 < PIECE_BYTES) break;
  }
  return parts.length === 0 ? null : Buffer.concat(parts, size);
}

/** The record of an `i` row, with the TSO beside it. */
function fullRecordOf(result: Result): LedgerRecord | null {
  const record = recordOf(result.value('r:s'));
  const tso = result.value('r:t');
  if (record === null || tso === null) return record;
  return { ...record, tso: String(u64(tso, 0)) };
}

/** Null: nothing is there, or of a slot: it is decided. */
export function recordOf(value: Uint8Array | null): LedgerRecord | null {
  if (value === null || value.length === 0) return null;
  return JSON.parse(Buffer.from(value).toString('utf8')) as LedgerRecord;
}

export const recordBytes = (record: LedgerRecord): Uint8Array =>
  Buffer.from(JSON.stringify(record), 'utf8');

export function idRow(id: bigint): Uint8Array {
  return Buffer.concat([Buffer.from('i'), u64Bytes(id)]);
}

export const labelRow = (namespace: string, label: string): Uint8Array =>
  toBytes(`l${namespace}\0${label}`);

export const fenceRow = (producer: string): Uint8Array => toBytes(`f${producer}`);

export function slotRow(slot: number): Uint8Array {
  return Buffer.concat([Buffer.from('p'), u32Bytes(slot)]);
}

export function u64Bytes(value: bigint): Uint8Array {
  const bytes = Buffer.alloc(8);
  putU64(bytes, 0, value);
  return bytes;
}

/** The qualifier of a piece. */
export const pieceName = (n: number): Uint8Array => u32Bytes(n);

function u32Bytes(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  putU32(bytes, 0, value);
  return bytes;
}
