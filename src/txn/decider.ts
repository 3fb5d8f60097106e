/**
 * Prepare, decision and abort as commits of the ledger. The state in memory changes in the step of the commit; what is
 * answered waits for the disk.
 */
import type { RegionServer, TableState } from '../engine/index.ts';
import {
  RowIntents,
  isIntended,
  isRowWrittenInMemory,
  isRowWrittenSince,
  joinHalves,
} from '../engine/index.ts';
import { ROW_AT, compareBytes, compareRanges, u16 } from '../cell/index.ts';
import { TableHasPreparedTransactions, TransactionException } from '../model/index.ts';
import type { AbortReason } from '../model/index.ts';
import { decodeGroups, digestOf } from './cells.ts';
import type { CellGroup } from './cells.ts';
import { clockMs, commitTransaction } from './commit_step.ts';
import type { TransactionKnobs } from './knobs.ts';
import { preparedPuts, recordBytes, recordPuts, slotRow } from './ledger.ts';
import type { Ledger, LedgerPut, LedgerRecord, LedgerSlot } from './ledger.ts';
import type { TransactionMetrics } from './metrics.ts';
import { placedGroups } from './origins.ts';
import type { Registry } from './registry.ts';
import type { SharedMemory } from './staging.ts';
import { CorruptData } from './stager.ts';
import type { Stager } from './stager.ts';
import { recordOfTxn, txnOfRecord } from './txn.ts';
import type { IntentRows, Txn } from './txn.ts';

export interface DeciderParts {
  readonly memory: SharedMemory;
  readonly server: RegionServer;
  readonly ledger: Ledger;
  readonly registry: Registry;
  readonly metrics: TransactionMetrics;
  readonly stager: Stager;
  readonly knobs: () => TransactionKnobs;
}

const NOTHING: Uint8Array = new Uint8Array(0);

/** A table is being changed: look again behind its gate. */
class GateClosed extends Error {
  readonly gate: Promise<void>;
  constructor(gate: Promise<void>) {
    super('a table is being changed');
    this.gate = gate;
  }
}

export class Decider {
  readonly #parts: DeciderParts;

  constructor(parts: DeciderParts) {
    this.#parts = parts;
  }

  // ---- prepare ------------------------------------------------------------------------------------------------------

  /** Makes the folded transaction PREPARED, durably. Throws TXN_CONFLICT and TXN_ABORTED, having aborted it. */
  async prepare(txn: Txn, timeoutMs: number): Promise<void> {
    noteTouched(txn);
    const nowMs = clockMs(this.#parts.server);
    const change = { state: 'PREPARED', preparedMs: nowMs, expiresMs: nowMs + timeoutMs } as const;
    try {
      for (;;) {
        await this.#checkConflicts(txn);
        try {
          await this.#writePrepared(txn, recordOfTxn(txn, change), () => {
            txn.state = 'PREPARED';
            txn.preparedMs = nowMs;
            txn.expiresMs = nowMs + timeoutMs;
            txn.block = null;
            this.#forgetLoads(txn);
          });
          return;
        } catch (error) {
          this.#release(txn);
          if (!(error instanceof GateClosed)) throw error;
          await error.gate;
        }
      }
    } catch (error) {
      if (error instanceof Conflict) {
        await this.abort(txn, 'CONFLICT');
        throw error.refusal;
      }
      if (error instanceof TableGone) {
        await this.abort(txn, 'TABLE_DROPPED');
        throw error.refusal;
      }
      if (txn.state === 'OPEN') txn.touched.clear();
      throw error;
    }
  }

  async #writePrepared(txn: Txn, record: LedgerRecord, applied: () => void): Promise<void> {
    const { server, ledger, registry } = this.#parts;
    const { id } = txn.facts;
    const slot = registry.takeSlot(txn);
    await commitTransaction(server, ledger, {
      puts: preparedPuts(record, slot, txn.block),
      groups: [],
      txnId: id,
      label: null,
      isFresh: false,
      isDistinct: true,
      check: () => {
        this.#checkTables(txn);
        this.#putIntents(txn);
      },
      applied,
    });
  }

  /** In the step: the tables and families are there, and nobody is changing them. */
  #checkTables(txn: Txn): void {
    for (const [tableId, familyIds] of txn.touched) {
      const table = this.#parts.server.catalog.byId(tableId);
      if (table === undefined) throw new TableGone(txn);
      if (table.gate !== null) throw new GateClosed(table.gate);
      const known = new Set(table.families.map(({ id }) => id));
      for (const id of familyIds) if (!known.has(id)) throw new TableGone(txn);
    }
  }

  /** Waits for intents on the rows; of a snapshot transaction looks for commits since its start. */
  async #checkConflicts(txn: Txn): Promise<void> {
    await this.#awaitIntents(txn);
    const isSnapshot = txn.facts.isolation === 'snapshot';
    for (const { table, rows } of this.#rowsOf(txn)) {
      for (const row of rows) {
        if (isIntended(table, row)) {
          if (isSnapshot) throw new Conflict(txn, `a row of ${table.name} is prepared by another`);
          await table.intents!.free(row);
        }
        if (!isSnapshot) continue;
        if (this.#isPreparedByAnother(txn, table.id, row)) {
          throw new Conflict(txn, `a row of ${table.name} is prepared by another`);
        }
        if (await isRowWrittenSince(table, row, txn.facts.startTso ?? 0n)) {
          throw new Conflict(txn, `a row of ${table.name} was written since its start`);
        }
      }
    }
  }

  /** Files of a blind transaction meet rows that a snapshot transaction has: it waits for these. */
  async #awaitIntents(txn: Txn): Promise<void> {
    for (const { tableId, firstRow, lastRow } of txn.staged?.files ?? []) {
      const intents = this.#parts.server.catalog.byId(tableId)?.intents ?? null;
      if (intents === null || firstRow === null || lastRow === null) continue;
      for (const row of intents.within(firstRow, lastRow)) await intents.free(row);
    }
  }

  /** Another's cells wait for their commit; files are judged by their first and last rows. */
  #isPreparedByAnother(txn: Txn, tableId: number, row: Uint8Array): boolean {
    for (const other of this.#parts.registry.all()) {
      if (other === txn || other.state !== 'PREPARED' || !other.touched.has(tableId)) continue;
      const inFiles = (other.staged?.files ?? []).some(
        ({ tableId: id, firstRow, lastRow }) =>
          id === tableId &&
          firstRow !== null &&
          lastRow !== null &&
          compareBytes(row, firstRow) >= 0 &&
          compareBytes(row, lastRow) <= 0,
      );
      if (inFiles) return true;
      const groups = other.groups.filter((group) => group.tableId === tableId);
      if (groups.some((group) => holdsRow(group, row))) return true;
    }
    return false;
  }

  *#rowsOf(txn: Txn): Generator<{ table: TableState; rows: Uint8Array[] }> {
    if (txn.facts.isolation !== 'snapshot' && !this.#hasIntents(txn)) return;
    for (const group of txn.groups) {
      const table = this.#parts.server.catalog.byId(group.tableId);
      if (table !== undefined) yield { table, rows: rowsOfGroup(group) };
    }
  }

  #hasIntents(txn: Txn): boolean {
    return [...txn.touched.keys()].some(
      (id) => (this.#parts.server.catalog.byId(id)?.intents?.size ?? 0) > 0,
    );
  }

  /** In the step: takes the rows of a snapshot transaction, unless somebody was quicker. */
  #putIntents(txn: Txn): void {
    if (txn.facts.isolation !== 'snapshot') return;
    const { server, knobs } = this.#parts;
    const intents: IntentRows[] = [];
    for (const { table, rows } of this.#rowsOf(txn)) {
      table.intents ??= new RowIntents({
        timers: server.env.timers,
        waitMs: () => knobs().txn_intent_wait_ms,
      });
      for (const row of rows) {
        const other = table.intents.of(row);
        if (other !== null && other.txnId !== txn.facts.id) {
          throw new Conflict(txn, `a row of ${table.name} is prepared by ${other.label}`);
        }
        const since = isRowWrittenInMemory(table, row, txn.facts.startTso ?? 0n);
        if (since) throw new Conflict(txn, `a row of ${table.name} was written since its start`);
      }
      intents.push({ tableId: table.id, rows });
    }
    txn.intents = intents;
    for (const { tableId, rows } of intents) {
      const held = server.catalog.byId(tableId)?.intents;
      for (const row of rows) {
        if (held?.of(row) === null) held.put(row, { label: txn.facts.label, txnId: txn.facts.id });
      }
    }
  }

  #dropIntents(txn: Txn): void {
    for (const { tableId, rows } of txn.intents) {
      const held = this.#parts.server.catalog.byId(tableId)?.intents;
      for (const row of rows) held?.remove(row, txn.facts.id);
    }
    txn.intents = [];
  }

  /** A prepare that failed leaves the transaction as it was. */
  #release(txn: Txn): void {
    if (txn.state !== 'OPEN') return;
    this.#dropIntents(txn);
    this.#parts.registry.giveSlot(txn);
  }

  // ---- the decision -------------------------------------------------------------------------------------------------

  /** Commits a PREPARED transaction, or a folded OPEN one in one phase. */
  async commit(txn: Txn): Promise<void> {
    const { server, ledger, stager } = this.#parts;
    if (txn.corrupt !== null) {
      throw new TransactionException('TXN_DATA_CORRUPT', txn.corrupt, { status: txn.status() });
    }
    const isOnePhase = txn.state === 'OPEN';
    if (isOnePhase) {
      noteTouched(txn);
      await this.#checkOnePhase(txn);
    }
    const from = txn.state;
    const commit = {
      txnId: txn.facts.id,
      label: txn.facts.label,
      isFresh: txn.isFresh,
      isDistinct: txn.facts.timestamps === 'commit',
      check: () => {
        if (txn.state !== from) throw overtaken(txn);
        if (isOnePhase) this.#checkTables(txn);
      },
      applied: (tso: bigint) => this.#decided(txn, 'COMMITTED', null, tso),
      gone: () => new TableGone(txn),
    };
    const nowMs = clockMs(server);
    const record = recordOfTxn(txn, { state: 'COMMITTED', finishedMs: nowMs, expiresMs: null });
    txn.finishedMs = nowMs;
    try {
      if (txn.staged !== null) await stager.link(txn, { ...commit, puts: endPuts(txn, record) });
      else {
        const puts = endPuts(txn, record);
        await commitTransaction(server, ledger, { ...commit, groups: txn.groups, puts });
      }
    } catch (error) {
      if (error instanceof GateClosed) {
        await error.gate;
        return this.commit(txn);
      }
      if (error instanceof CorruptData) {
        throw new TransactionException('TXN_DATA_CORRUPT', error.message, { status: txn.status() });
      }
      if (!(error instanceof TableGone)) throw error;
      await this.abort(txn, 'TABLE_DROPPED');
      throw error.refusal;
    }
    this.#parts.metrics.commits++;
    this.#finished(txn);
  }

  async #checkOnePhase(txn: Txn): Promise<void> {
    try {
      await this.#checkConflicts(txn);
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      await this.abort(txn, 'CONFLICT');
      throw error.refusal;
    }
  }

  /** Aborts what is not decided. Throws TXN_COMMITTED if a commit was quicker. */
  async abort(txn: Txn, reason: AbortReason): Promise<void> {
    const { server, ledger, metrics, stager } = this.#parts;
    if (txn.state === 'ABORTED') return;
    const nowMs = clockMs(server);
    const change = { state: 'ABORTED', reason, finishedMs: nowMs, expiresMs: null } as const;
    const tso = await commitTransaction(server, ledger, {
      puts: endPuts(txn, recordOfTxn(txn, change)),
      groups: [],
      txnId: txn.facts.id,
      label: null,
      isFresh: false,
      isDistinct: true,
      check: () => {
        if (txn.isDecided) throw overtaken(txn);
      },
      applied: () => {
        txn.finishedMs = nowMs;
        this.#decided(txn, 'ABORTED', reason, null);
      },
    });
    metrics.aborted(reason);
    try {
      await stager.discard(txn, tso);
    } catch (error) {
      // It is ABORTED all the same; the next opening removes them.
      server.logger.warn({ label: txn.facts.label, error }, 'files of an aborted transaction stay');
    }
    this.#finished(txn);
  }

  #decided(
    txn: Txn,
    state: 'COMMITTED' | 'ABORTED',
    reason: AbortReason | null,
    tso: bigint | null,
  ): void {
    txn.state = state;
    txn.reason = reason;
    txn.tso = tso;
    this.#dropIntents(txn);
  }

  /** On the disk: the ledger knows it from now on. */
  #finished(txn: Txn): void {
    this.#parts.registry.remove(txn);
    txn.hold?.release();
    txn.groups = [];
    txn.block = null;
    this.#forgetLoads(txn);
  }

  #forgetLoads(txn: Txn): void {
    this.#parts.memory.give(txn.batches);
    txn.batches = [];
    txn.batchBytes = 0;
    txn.requests.clear();
  }

  // ---- drops --------------------------------------------------------------------------------------------------------

  /** Throws TableHasPreparedTransactions; with `force` aborts them. The table is behind its gate. */
  async guardDrop(table: TableState, familyIds: readonly number[], force: boolean): Promise<void> {
    const holders = [...this.#parts.registry.all()].filter(
      (txn) => txn.state === 'PREPARED' && txn.touches(table.id, familyIds),
    );
    if (holders.length === 0) return;
    if (!force) {
      const labels = holders.map(({ facts }) => facts.label);
      const shown = labels.slice(0, 10).join(', ') + (labels.length > 10 ? ', …' : '');
      throw new TableHasPreparedTransactions(
        `${table.name} has cells of ${labels.length} prepared transactions: ${shown}; decide them, or use force`,
      );
    }
    for (const txn of holders) await this.abort(txn, 'TABLE_DROPPED');
  }

  // ---- recovery -----------------------------------------------------------------------------------------------------

  /** Takes over what was prepared. Time in which the server was down does not count. */
  async recover(): Promise<void> {
    const { server, ledger, registry, stager } = this.#parts;
    const found = await ledger.slots();
    const { slotCount } = found;
    const slots = await this.#withoutBrokenOff(found.slots);
    // Nothing was committed since the opening: this is what recovery found.
    const lastMs = Number(joinHalves(server.readPoint.high, server.readPoint.low) >> 18n);
    const downMs = lastMs === 0 ? 0 : Math.max(0, clockMs(server) - lastMs);
    const prepared = slots.map((slot) => this.#recovered(slot, downMs));
    await stager.recover(prepared);
    registry.recovered(prepared, slotCount);
    registry.forgottenTo = await ledger.forgottenTo();
    for (const txn of prepared) this.#watch(txn);
    if (prepared.length > 0) await this.#moveDeadlines(prepared);
  }

  /** Takes over transactions that a restore has brought; they have their slots. */
  async takeOver(ids: ReadonlySet<string>): Promise<void> {
    const { ledger, registry, stager } = this.#parts;
    const { slots } = await ledger.slots(ids);
    for (const slot of slots) {
      const txn = this.#recovered(slot, 0);
      await stager.takeOver(txn);
      registry.add(txn);
      this.#watch(txn);
    }
  }

  #watch(txn: Txn): void {
    noteTouched(txn);
    if (txn.corrupt !== null) {
      this.#parts.server.logger.error({ label: txn.facts.label }, txn.corrupt);
    } else if (txn.facts.isolation === 'snapshot') this.#retakeIntents(txn);
  }

  /**
   * A restore writes its transactions here before it places their tables: where none of these is, it was broken off, and they
   * never came.
   */
  async #withoutBrokenOff(slots: readonly LedgerSlot[]): Promise<LedgerSlot[]> {
    const { server, ledger } = this.#parts;
    const kept: LedgerSlot[] = [];
    for (const found of slots) {
      const { origins } = found.record;
      const isHere =
        origins === undefined ||
        origins.some(({ tableId }) => server.catalog.byId(tableId) !== undefined);
      // A store that takes no writes keeps it: it cannot be committed.
      if (isHere || server.oracle.refusal() !== null) kept.push(found);
      else await ledger.erase(found.record, found.slot);
    }
    return kept;
  }

  #recovered({ slot, record, block }: LedgerSlot, downMs: number): Txn {
    const txn = txnOfRecord(record);
    txn.slot = slot;
    txn.expiresMs += downMs;
    if (record.isStaged) {
      txn.staged = { runs: [], files: [], bytes: 0, isVerified: false };
      return txn;
    }
    const where = `${record.label} (${record.id})`;
    if (block === null || digestOf(block) !== record.digest) {
      txn.corrupt = `the cells of the prepared transaction ${where} do not have the digest ${record.digest}`;
    } else {
      txn.groups = placedGroups(decodeGroups(block, where), record.origins);
    }
    return txn;
  }

  #retakeIntents(txn: Txn): void {
    const { server, knobs } = this.#parts;
    const intents: IntentRows[] = [];
    for (const group of txn.groups) {
      const table = server.catalog.byId(group.tableId);
      if (table === undefined) continue;
      table.intents ??= new RowIntents({
        timers: server.env.timers,
        waitMs: () => knobs().txn_intent_wait_ms,
      });
      const rows = rowsOfGroup(group);
      for (const row of rows) {
        if (table.intents.of(row) === null) {
          table.intents.put(row, { label: txn.facts.label, txnId: txn.facts.id });
        }
      }
      intents.push({ tableId: table.id, rows });
    }
    txn.intents = intents;
  }

  /** Kept with the state, so that the next opening counts from here. */
  async #moveDeadlines(prepared: readonly Txn[]): Promise<void> {
    const { server, ledger } = this.#parts;
    if (server.oracle.refusal() !== null) return;
    for (const txn of prepared) {
      await commitTransaction(server, ledger, {
        puts: [
          {
            row: slotRow(txn.slot!),
            columns: { 'p:h': recordBytes(recordOfTxn(txn)) },
          },
        ],
        groups: [],
        txnId: txn.facts.id,
        label: null,
        isFresh: false,
        isDistinct: true,
      });
    }
  }
}

/** Tables and families that a drop has to ask about. */
function noteTouched(txn: Txn): void {
  const files = (txn.staged?.files ?? []).map(({ tableId, familyId }) => ({ tableId, familyId }));
  for (const { tableId, familyId } of [...txn.groups, ...files]) {
    const families = txn.touched.get(tableId) ?? new Set<number>();
    families.add(familyId);
    txn.touched.set(tableId, families);
  }
}

/** Whether the group, which is sorted, has a cell of the row. */
function holdsRow({ buf, at }: CellGroup, row: Uint8Array): boolean {
  let low = 0;
  let high = at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const cellAt = at[middle]!;
    const length = u16(buf, cellAt + 8);
    const order = compareRanges(buf, cellAt + ROW_AT, length, row, 0, row.length);
    if (order === 0) return true;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return false;
}

function rowsOfGroup({ buf, at }: CellGroup): Uint8Array[] {
  const rows: Uint8Array[] = [];
  let last: Uint8Array = NOTHING;
  for (const cellAt of at) {
    const row = buf.subarray(cellAt + ROW_AT, cellAt + ROW_AT + u16(buf, cellAt + 8));
    if (rows.length > 0 && Buffer.compare(row, last) === 0) continue;
    rows.push(row);
    last = row;
  }
  return rows;
}

/** The rows of a decision or an abort. */
function endPuts(txn: Txn, record: LedgerRecord): LedgerPut[] {
  const puts = recordPuts(record);
  if (txn.slot !== null) puts.push({ row: slotRow(txn.slot), columns: { 'p:h': NOTHING } });
  return puts;
}

function overtaken(txn: Txn): TransactionException {
  const { label } = txn.facts;
  const isCommitted = txn.state === 'COMMITTED';
  return new TransactionException(
    isCommitted ? 'TXN_COMMITTED' : 'TXN_ABORTED',
    `transaction ${label} is already ${txn.state}`,
    { status: txn.status() },
  );
}

class Conflict extends Error {
  readonly refusal: TransactionException;
  constructor(txn: Txn, why: string) {
    super(why);
    const text = `transaction ${txn.facts.label} conflicts: ${why}`;
    this.refusal = new TransactionException('TXN_CONFLICT', text, { status: txn.status() });
  }
}

class TableGone extends Error {
  readonly refusal: TransactionException;
  constructor(txn: Txn) {
    super('a table or family is gone');
    const text = `transaction ${txn.facts.label} is ABORTED: a table or family that it writes was dropped`;
    this.refusal = new TransactionException('TXN_ABORTED', text, { status: txn.status() });
  }
}
