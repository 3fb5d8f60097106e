/**
 * Brings transactions of a backup into this store. Their states are written first, the tables that they write come after them, in
 * one commit of the manifest: until then nobody knows them, and a crash in between is undone by the next opening
 * (`Decider#recover`). Nobody uses their labels meanwhile.
 */
import type { RegionServer } from '../engine/index.ts';
import { StoreException } from '../io/index.ts';
import { TransactionException } from '../model/index.ts';
import { commitTransaction } from './commit_step.ts';
import type { Decider } from './decider.ts';
import { preparedPuts } from './ledger.ts';
import type { Ledger, LedgerPut, LedgerRecord } from './ledger.ts';
import { keyOf } from './registry.ts';
import type { Registry } from './registry.ts';
import type { Txn } from './txn.ts';
import { txnOfRecord } from './txn.ts';

/** By what a store would know it. */
export type AdoptedName = Pick<LedgerRecord, 'id' | 'namespace' | 'label'>;

export interface AdoptedTransaction {
  /** Its `origins` name every family that it writes by the ids of this store. */
  readonly record: LedgerRecord;
  /** Its cells as the ledger keeps them (cells.ts), with the ids they were made with; null: in staged files. */
  readonly block: Uint8Array | null;
}

export interface Adoption {
  /** Those that `transactions` will give. */
  readonly names: readonly AdoptedName[];
  readonly transactions: AsyncIterable<AdoptedTransaction>;
  /** Rows of the ledger beside: decided ones, labels, epochs. */
  readonly rows: AsyncIterable<LedgerPut>;
  /** Places the tables, and the staged files with the manifest's records of their transactions. Once it settles all is there. */
  readonly place: () => Promise<void>;
}

export interface AdopterParts {
  readonly server: RegionServer;
  readonly ledger: Ledger;
  readonly registry: Registry;
  readonly decider: Decider;
  /** Runs after the verbs on the label that came before. */
  readonly exclusively: <T>(key: string, work: () => Promise<T>) => Promise<T>;
}

/** Rows of one commit. */
const ROWS_MAX = 500;

export class Adopter {
  readonly #parts: AdopterParts;

  constructor(parts: AdopterParts) {
    this.#parts = parts;
  }

  /** Those whose label or id this store knows, in whatever state. */
  async known(names: readonly AdoptedName[]): Promise<AdoptedName[]> {
    const { registry, ledger } = this.#parts;
    const known: AdoptedName[] = [];
    for (const name of names) {
      const { namespace, label, id } = name;
      const isKnown =
        registry.active(namespace, label) !== undefined ||
        (await ledger.byLabel(namespace, label)) !== null ||
        (await registry.find(BigInt(id))) !== null;
      if (isKnown) known.push(name);
    }
    return known;
  }

  /** Throws LABEL_ALREADY_EXISTS, and what `place` throws; then nothing has changed. */
  adopt(adoption: Adoption): Promise<void> {
    const keys = adoption.names.map(({ namespace, label }) => keyOf(namespace, label)).sort();
    return this.#lock(keys, 0, () => this.#adopt(adoption));
  }

  #lock(keys: readonly string[], from: number, work: () => Promise<void>): Promise<void> {
    const key = keys[from];
    if (key === undefined) return work();
    return this.#parts.exclusively(key, () => this.#lock(keys, from + 1, work));
  }

  async #adopt({ names, transactions, rows, place }: Adoption): Promise<void> {
    const { registry, decider, ledger } = this.#parts;
    const [known] = await this.known(names);
    if (known !== undefined) {
      throw new TransactionException('LABEL_ALREADY_EXISTS', `label ${known.label} is used`);
    }
    const written: { readonly record: LedgerRecord; readonly txn: Txn }[] = [];
    try {
      await this.#writeRows(rows);
      for await (const { record, block } of transactions) {
        const txn = txnOfRecord(record);
        const slot = registry.takeSlot(txn);
        written.push({ record, txn });
        await this.#commit(preparedPuts(record, slot, block));
      }
      await place();
    } catch (error) {
      for (const { record, txn } of written) await this.#undo(record, txn);
      throw error;
    }
    await decider.takeOver(new Set(written.map(({ record }) => record.id)));
    registry.forgottenTo = await ledger.forgottenTo();
  }

  async #writeRows(rows: AsyncIterable<LedgerPut>): Promise<void> {
    let puts: LedgerPut[] = [];
    for await (const put of rows) {
      puts.push(put);
      if (puts.length < ROWS_MAX) continue;
      await this.#commit(puts);
      puts = [];
    }
    if (puts.length > 0) await this.#commit(puts);
  }

  async #commit(puts: readonly LedgerPut[]): Promise<void> {
    const { server, ledger } = this.#parts;
    await commitTransaction(server, ledger, {
      puts,
      groups: [],
      txnId: 0n,
      label: null,
      isFresh: false,
      isDistinct: true,
    });
  }

  /** What cannot be undone now keeps its slot: the next opening finds none of its tables. */
  async #undo(record: LedgerRecord, txn: Txn): Promise<void> {
    const { server, ledger, registry } = this.#parts;
    try {
      await ledger.erase(record, txn.slot!);
      registry.giveSlot(txn);
    } catch (error) {
      if (!(error instanceof StoreException)) throw error;
      const { label } = record;
      server.logger.warn(
        { label, error },
        'a transaction of a broken-off restore stays until the next opening',
      );
    }
  }
}
