/**
 * The step in which a transaction's cells and its ledger rows become one commit: one TSO, one log record over any tables
 * and regions. Cells go to the regions that hold their rows at that moment.
 */
import { ROW_AT, compareBytes, equalBytes, putU32, u16 } from '../cell/index.ts';
import type { CommitPart, RegionServer, TableState } from '../engine/index.ts';
import { joinHalves, readOld } from '../engine/index.ts';
import { MutationBuffer } from '../region/index.ts';
import type { Region } from '../region/index.ts';
import { FSYNC_WAL } from '../wal/index.ts';
import type { CellGroup } from './cells.ts';
import type { Ledger, LedgerPut } from './ledger.ts';

/** A commit's cursor may run ahead of the clock by so much; what needs a fresh millisecond waits for the rest. */
const AHEAD_MS_MAX = 10;

export interface TransactionCommit {
  readonly puts: readonly LedgerPut[];
  readonly groups: readonly CellGroup[];
  readonly txnId: bigint;
  /** Null: the commit is the ledger's own business, not the transaction's. */
  readonly label: string | null;
  readonly isFresh: boolean;
  readonly isDistinct: boolean;
  /** Tables beside those of the groups whose changes the commit waits for. */
  readonly gates?: readonly TableState[];
  /** Runs in the step, right before the commit. Throws why it must not be made. */
  readonly check?: () => void;
  /** Runs in the step, right after the commit. */
  readonly applied?: (tso: bigint) => void;
  /** The table or family of a group is gone. */
  readonly gone?: (tableId: number) => Error;
}

/** A row to lock while the commit is made. */
interface LockedRow {
  readonly tableId: number;
  readonly region: Region;
  readonly row: Uint8Array;
}

interface Plan {
  readonly parts: CommitPart[];
  readonly rows: LockedRow[];
  readonly seen: { readonly table: TableState; readonly version: number }[];
}

/** Makes the commit; settles with its TSO once the read point has passed it. */
export async function commitTransaction(
  server: RegionServer,
  ledger: Ledger,
  commit: TransactionCommit,
): Promise<bigint> {
  const state = await ledger.ensure();
  for (;;) {
    const plan = await planOf(server, commit);
    const own = new MutationBuffer();
    const tsoAt = ledger.encode(own, state, commit.puts);
    const region = state.regionOf(commit.puts[0]!.row);
    const parts = [...plan.parts, { table: state, region, mutation: own }];
    const stamped = (high: number, low: number): void => {
      if (tsoAt < 0) return;
      putU32(own.buf, tsoAt, high);
      putU32(own.buf, tsoAt + 4, low);
    };
    const tso = await tryCommit(server, plan, parts, { ...commit, stamped });
    if (tso === null) continue;
    await server.readPoint.whenPassed(Number(tso >> 32n), Number(tso & 0xffffffffn), undefined);
    return tso;
  }
}

async function tryCommit(
  server: RegionServer,
  plan: Plan,
  parts: readonly CommitPart[],
  commit: TransactionCommit & { readonly stamped: (high: number, low: number) => void },
): Promise<bigint | null> {
  let held = 0;
  try {
    for (const { region, row } of plan.rows) {
      if (!region.locks.tryAcquire(row)) await region.locks.acquire(row);
      held++;
    }
    for (const { table, region, mutation } of parts) {
      if (!table.settings.changeBefore) continue;
      const rows = plan.rows.filter((one) => one.region === region).map(({ row }) => row);
      mutation.old = await readOld(table, region, rows, server.queue.nowMs);
    }
    for (let wait = obstacle(server, parts, commit); wait !== null;) {
      await wait;
      wait = obstacle(server, parts, commit);
    }
    if (!isCurrent(plan, parts)) return null;
    commit.check?.();
    server.queue.commitParts(parts, {
      durability: FSYNC_WAL,
      nonce: null,
      label: commit.label,
      batchMs: 0,
      transaction: commit.label === null ? null : commit.txnId,
      fresh: commit.isFresh,
      stamped: commit.stamped,
    });
    const { appliedHigh, appliedLow } = server.readPoint;
    const tso = joinHalves(appliedHigh, appliedLow);
    commit.applied?.(tso);
    return tso;
  } finally {
    for (let i = 0; i < held; i++) plan.rows[i]!.region.locks.release(plan.rows[i]!.row);
  }
}

function obstacle(
  server: RegionServer,
  parts: readonly CommitPart[],
  commit: TransactionCommit,
): Promise<void> | null {
  for (const { table } of parts) if (table.gate !== null) return table.gate;
  for (const table of commit.gates ?? []) if (table.gate !== null) return table.gate;
  const admission = server.queue.admitParts(parts);
  if (admission !== null) return admission;
  if (!commit.isFresh) return null;
  const aheadMs = server.oracle.physicalMs + 1 - clockMs(server);
  return aheadMs > AHEAD_MS_MAX ? server.env.timers.sleep(aheadMs - AHEAD_MS_MAX) : null;
}

/** What the oracle's clock shows. */
export function clockMs(server: RegionServer): number {
  return server.env.clock.nowMs() + server.oracle.knobs.tso_time_offset_debug_mode;
}

function isCurrent(plan: Plan, parts: readonly CommitPart[]): boolean {
  return (
    plan.seen.every(({ table, version }) => !table.replaced && table.version === version) &&
    parts.every(({ table, region }) => table.holdsRegion(region))
  );
}

/** The parts of the tables as they are now: a buffer a region, rows in the order in which they are locked. */
async function planOf(server: RegionServer, commit: TransactionCommit): Promise<Plan> {
  const plan: Plan = { parts: [], rows: [], seen: [] };
  const buffers = new Map<Region, MutationBuffer>();
  for (const group of commit.groups) {
    const table = server.catalog.byId(group.tableId);
    const familyIndex = table?.families.findIndex(({ id }) => id === group.familyId) ?? -1;
    if (table === undefined || familyIndex < 0) {
      throw commit.gone?.(group.tableId) ?? new Error(`table ${group.tableId} is gone`);
    }
    if (table.gate !== null) await table.gate;
    if (!plan.seen.some((seen) => seen.table === table)) {
      plan.seen.push({ table, version: table.version });
    }
    let last: Uint8Array = new Uint8Array(0);
    let region: Region | null = null;
    for (let i = 0; i < group.at.length; i++) {
      const at = group.at[i]!;
      const row = group.buf.subarray(at + ROW_AT, at + ROW_AT + u16(group.buf, at + 8));
      if (!equalBytes(row, last)) {
        if (region === null || !region.contains(row)) region = table.regionOf(row);
        plan.rows.push({ tableId: table.id, region, row });
        last = row;
      }
      let buffer = buffers.get(region!);
      if (buffer === undefined) {
        buffer = new MutationBuffer();
        buffers.set(region!, buffer);
        const distinct = commit.isDistinct;
        plan.parts.push({ table, region: region!, mutation: buffer, distinct });
      }
      buffer.addStaged(familyIndex, group.buf, at, group.length[i]!);
    }
  }
  return { ...plan, rows: distinctRows(plan.rows) };
}

/** Each row once, by table and key: no two commits can wait for each other. */
function distinctRows(rows: readonly LockedRow[]): LockedRow[] {
  const sorted = [...rows].sort((a, b) => a.tableId - b.tableId || compareBytes(a.row, b.row));
  return sorted.filter(
    (one, i) =>
      i === 0 || one.tableId !== sorted[i - 1]!.tableId || !equalBytes(one.row, sorted[i - 1]!.row),
  );
}
