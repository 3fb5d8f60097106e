/** What happened in one life of a store, as its clients saw it, with the moments that an answer may belong to. */
import type { ColumnCondition, Mutation, ReadOptions, ScanOptions } from '../../src/model/index.ts';
import type { Change, Read, Write } from './operations.ts';

/** The state of the engine at the call of an operation or at its answer. */
export interface Instant {
  /** The newest TSO applied. */
  readonly applied: bigint;
  readonly readPoint: bigint;
  /** The greatest stamp that any client had been given, and the greatest of an acknowledged commit. */
  readonly told: bigint;
  readonly acked: bigint;
  /** The time that judges TTL. */
  readonly nowMs: number;
  /** Changes of files so far, in the whole run. */
  readonly turn: number;
  /** Start keys of the table's regions; null: there is no such table. */
  readonly borders: readonly string[] | null;
  /** Grows with each beginning and end of a schema change, by table. */
  readonly schemaTurn: number;
  /** The table was being changed. */
  readonly isChanging: boolean;
}

/** What a transaction has read, and what its write goes by. */
export interface GroupRead {
  readonly row: string;
  readonly options: ReadOptions;
  readonly answer: string;
}

/** A commit that a client asked for: one operation, or one member of a batch. */
export interface Intent {
  readonly step: number;
  readonly kind: string;
  readonly table: string;
  readonly mutations: readonly Mutation[];
  readonly condition: ColumnCondition | null;
  /** The millisecond that the operations of a batch share; null for none. */
  readonly batchMs: number | null;
  /** Reads of a transaction's last attempt: they must be true at its commit. Null: it is none. */
  readonly group: readonly GroupRead[] | null;
  readonly nonce: string | null;
  /** The request, for a retry; null for members of a batch. */
  readonly write: Write | null;
  readonly called: Instant;
  state: 'pending' | 'done' | 'refused' | 'unknown';
  answered: Instant | null;
  /** Of done ones; null when a condition did not hold. */
  tso: bigint | null;
  /** The new cells as text, 'null' for none. */
  answer: string;
  error: Error | null;
}

/** A read of one row, or of several. */
export interface ReadRecord {
  readonly step: number;
  readonly table: string;
  readonly read: Exclude<Read, { kind: 'scan' }> | { kind: 'scan'; options: ScanOptions };
  readonly called: Instant;
  readonly tableId: number;
  /** TSO of the table's descriptor at the call. */
  readonly schemaTso: bigint;
  /** The moment it must show; null: one between call and answer. */
  readonly tso: bigint | null;
  readonly nowMs: number | null;
  answered: Instant | null;
  /** One text a row. */
  rows: readonly string[];
  /** A scan that was left before its end: `rows` are its first ones. */
  isCut: boolean;
  error: Error | null;
}

export interface ChangeRecord {
  readonly step: number;
  readonly table: string;
  readonly change: Change;
}

export type AsOfOptions = ReadOptions | ScanOptions;

/** A broken promise of the engine, found by the simulator. */
export class SimFailure extends Error {
  override readonly name = 'SimFailure';
  readonly step: number;
  constructor(step: number, message: string) {
    super(message);
    this.step = step;
  }
}
