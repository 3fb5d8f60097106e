/**
 * `open` as users have it: the engine with what the layers above it add (transactions, the change feed, backups) on one
 * connection. Lies below `server` and `cli`, which serve and drive such a connection.
 */
import { changesOf } from '../backup/feed/index.ts';
import type { Change, ChangesOptions } from '../backup/feed/index.ts';
import { EmbeddedConnection, commitOptions, openServer, transactOverAll } from '../engine/index.ts';
import type { OpenOptions, RegionServer, TableState } from '../engine/index.ts';
import { TableNotFoundException, isHiddenTable } from '../model/index.ts';
import type {
  Durability,
  Table,
  TransactResult,
  Transaction,
  TransactionOptions,
  TransactionalConnection,
  WideTransaction,
  WorkOptions,
  XaResource,
} from '../model/index.ts';
import type { MutationBuffer } from '../region/index.ts';
import { TransactionHandle, TransactionManager, XaVerbs } from '../txn/index.ts';
import type { TransactionKnobs } from '../txn/index.ts';

/** Options of the store as a whole. */
export interface StoreOptions extends OpenOptions {
  /** Knobs of two-phase transactions, by the names of the specification. */
  readonly transactions?: Partial<TransactionKnobs>;
}

export class StoreConnection extends EmbeddedConnection implements TransactionalConnection {
  readonly transactions: TransactionManager;

  constructor(server: RegionServer, transactions: TransactionManager) {
    super(server);
    this.transactions = transactions;
  }

  override table(name: string): Table {
    if (isHiddenTable(name)) throw new TableNotFoundException(`Table '${name}' was not found`);
    return super.table(name);
  }

  /** A two-phase transaction; nothing happens before its `begin`. */
  transaction(options: TransactionOptions): Transaction {
    return new TransactionHandle(this.transactions, options);
  }

  /**
   * Runs `work` over any rows and tables and commits what it wrote, all at once or nothing; does it again when others wrote
   * what it has read (serializable, the default) or is to write (snapshot). Throws what `work` throws,
   * RowLockedByTransaction, TransactionConflictException after too many attempts.
   */
  transact<T>(
    work: (tx: WideTransaction) => Promise<T>,
    options: WorkOptions = {},
  ): Promise<TransactResult<T>> {
    const { server } = this;
    const parts = {
      server,
      options: (table: TableState, mutation: MutationBuffer, durability?: Durability) =>
        commitOptions(server, table, mutation, { durability }),
    };
    return server.track(() => transactOverAll(parts, work, options));
  }

  /** XA's verbs on the same transactions. */
  get xa(): XaResource {
    return new XaVerbs(this.transactions);
  }

  /**
   * The commits of the log in the order of their TSOs, each whole, up to what is on the disk. A consumer that has taken a
   * commit goes on from its TSO + 1. Leaving the loop closes it. Throws SnapshotTooOld.
   */
  changes(options: ChangesOptions = {}): AsyncGenerator<Change, void, void> {
    return changesOf(this.server, options);
  }

  override async close(): Promise<void> {
    await this.transactions.close();
    await super.close();
  }
}

/**
 * Opens a store: in `dir` (made if absent), or in memory without one. See `openServer` for the errors. The connection
 * must be closed.
 */
export async function open(dir?: string, options: StoreOptions = {}): Promise<StoreConnection> {
  const { transactions, ...engine } = options;
  const server = await openServer(dir, engine);
  try {
    const knobs = transactions === undefined ? {} : { knobs: transactions };
    return new StoreConnection(server, await TransactionManager.open(server, knobs));
  } catch (error) {
    await server.close();
    throw error;
  }
}
