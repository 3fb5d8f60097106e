/** The transactions that are not decided, in memory, and those that are, in the ledger. */
import type { RegionServer } from '../engine/index.ts';
import { NamespaceNotFoundException } from '../model/index.ts';
import type { PendingTransactions, TransactionFilter, TransactionStatus } from '../model/index.ts';
import type { Ledger } from './ledger.ts';
import { badRequest } from './requests.ts';
import { Txn, statusOfRecord } from './txn.ts';

const LIST_LIMIT = 100;
const LIST_LIMIT_MAX = 10_000;

export const keyOf = (namespace: string, label: string): string => `${namespace}\0${label}`;

export class Registry {
  readonly #server: RegionServer;
  readonly #ledger: Ledger;
  readonly #byKey = new Map<string, Txn>();
  readonly #byId = new Map<bigint, Txn>();
  readonly #running = new Map<string, number>();
  readonly #freeSlots: number[] = [];
  #slotCount = 0;
  #preparedCount = 0;
  /** Greatest id of a terminal record that was forgotten; 0: none. */
  forgottenTo = 0n;

  constructor(server: RegionServer, ledger: Ledger) {
    this.#server = server;
    this.#ledger = ledger;
  }

  /** Throws NamespaceNotFoundException. */
  checkNamespace(namespace: string): void {
    if (this.#server.schema.namespaces().includes(namespace)) return;
    throw new NamespaceNotFoundException(`Namespace ${namespace} does not exist`);
  }

  add(txn: Txn): void {
    const { namespace, label, id } = txn.facts;
    this.#byKey.set(keyOf(namespace, label), txn);
    this.#byId.set(id, txn);
    this.#running.set(namespace, this.runningIn(namespace) + 1);
  }

  /** The transaction is decided. */
  remove(txn: Txn): void {
    const { namespace, label, id } = txn.facts;
    if (!this.#byId.delete(id)) return;
    if (this.#byKey.get(keyOf(namespace, label)) === txn) {
      this.#byKey.delete(keyOf(namespace, label));
    }
    this.#running.set(namespace, this.runningIn(namespace) - 1);
    if (txn.slot === null) return;
    this.#freeSlots.push(txn.slot);
    this.#preparedCount--;
  }

  /** Gives the transaction a slot of the ledger. */
  takeSlot(txn: Txn): number {
    const slot = this.#freeSlots.pop() ?? this.#slotCount++;
    txn.slot = slot;
    this.#preparedCount++;
    return slot;
  }

  /** The transaction was not prepared after all. */
  giveSlot(txn: Txn): void {
    if (txn.slot === null) return;
    this.#freeSlots.push(txn.slot);
    txn.slot = null;
    this.#preparedCount--;
  }

  /** What was found at open. */
  recovered(prepared: readonly Txn[], slotCount: number): void {
    this.#slotCount = slotCount;
    const used = new Set(prepared.map(({ slot }) => slot));
    for (let slot = slotCount - 1; slot >= 0; slot--) {
      if (!used.has(slot)) this.#freeSlots.push(slot);
    }
    for (const txn of prepared) this.add(txn);
    this.#preparedCount = prepared.length;
  }

  active(namespace: string, label: string): Txn | undefined {
    return this.#byKey.get(keyOf(namespace, label));
  }

  all(): IterableIterator<Txn> {
    return this.#byId.values();
  }

  /** What waits for its decision. */
  pending(nowMs: number): PendingTransactions {
    let open = 0;
    let prepared = 0;
    let oldestMs: number | null = null;
    for (const { state, preparedMs } of this.all()) {
      if (state === 'OPEN') open++;
      if (state !== 'PREPARED') continue;
      prepared++;
      if (preparedMs !== null && (oldestMs === null || preparedMs < oldestMs))
        oldestMs = preparedMs;
    }
    const oldestPreparedMs = oldestMs === null ? null : Math.max(0, nowMs - oldestMs);
    return { open, prepared, oldestPreparedMs };
  }

  openOf(producer: string): Txn[] {
    return [...this.all()].filter(
      ({ state, facts }) => state === 'OPEN' && facts.producer === producer,
    );
  }

  runningIn(namespace: string): number {
    return this.#running.get(namespace) ?? 0;
  }

  get preparedCount(): number {
    return this.#preparedCount;
  }

  /** Bytes of all that is not decided. */
  get stagedBytes(): number {
    let bytes = 0;
    for (const txn of this.all()) bytes += txn.bytes;
    return bytes;
  }

  /** Bytes of loaded cells in memory. */
  get memoryBytes(): number {
    let bytes = 0;
    for (const { batchBytes } of this.all()) bytes += batchBytes;
    return bytes;
  }

  /** Null: there is none, or it was forgotten. */
  async find(id: bigint): Promise<Txn | TransactionStatus | null> {
    const active = this.#byId.get(id);
    if (active !== undefined) return active;
    const record = await this.#ledger.byId(id);
    return record === null ? null : statusOfRecord(record);
  }

  /** Namespace and label of an id. */
  async byId(id: bigint): Promise<{ namespace: string; label: string } | null> {
    const found = await this.find(id);
    if (found === null) return null;
    return found instanceof Txn ? found.facts : found;
  }

  /** The oldest id of which a record would be kept. */
  async recordsSince(): Promise<bigint> {
    return this.forgottenTo + 1n;
  }

  /** By id, ascending. */
  async list(filter: TransactionFilter): Promise<TransactionStatus[]> {
    const limit = filter.limit ?? LIST_LIMIT;
    if (!Number.isInteger(limit) || limit < 1 || limit > LIST_LIMIT_MAX) {
      throw badRequest(`limit is from 1 to ${LIST_LIMIT_MAX}`);
    }
    const after = filter.after ?? 0n;
    const wanted = (status: TransactionStatus): boolean =>
      status.txnId > after &&
      (filter.namespace === undefined || status.namespace === filter.namespace) &&
      (filter.state === undefined || status.state === filter.state) &&
      (filter.prefix === undefined || status.label.startsWith(filter.prefix));
    const active = [...this.all()].map((txn) => txn.status()).filter(wanted);
    active.sort((a, b) => (a.txnId < b.txnId ? -1 : 1));
    if (filter.state === 'OPEN' || filter.state === 'PREPARED') return active.slice(0, limit);
    const terminal: TransactionStatus[] = [];
    for await (const record of this.#ledger.records(after)) {
      const status = statusOfRecord(record);
      // Those in memory are further on than their records.
      if (this.#byId.has(status.txnId) || !wanted(status)) continue;
      terminal.push(status);
      if (terminal.length === limit) break;
    }
    const all = [...active, ...terminal].sort((a, b) => (a.txnId < b.txnId ? -1 : 1));
    return all.slice(0, limit);
  }
}
