/**
 * `open` as users have it: the engine with what the layers above it add (transactions, the change feed, backups) on one
 * connection. Lies below `server` and `cli`, which serve and drive such a connection.
 */
import { changesOf } from '../backup/feed/index.ts';
import type { Change, ChangesOptions } from '../backup/feed/index.ts';
import { EmbeddedConnection, commitOptions, openServer, transactOverAll } from '../engine/index.ts';
import type { OpenOptions, RegionServer, TableState } from '../engine/index.ts';
import { put } from '../manifest/index.ts';
import {
  IllegalArgumentException,
  TableNotFoundException,
  isHiddenTable,
  requireObject,
} from '../model/index.ts';
import type {
  Durability,
  StoreStatus,
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
import { Backups } from './backups.ts';
import { KNOBS, KNOB_SETTING, findKnob, isTsoKnob, knobSet, knobValue } from './knobs.ts';
import type { KnobSet, KnobValue } from './knobs.ts';
import { TransactionHandle, TransactionManager, XaVerbs } from '../txn/index.ts';
import type { TransactionKnobs } from '../txn/index.ts';

/** Options of the store as a whole. */
export interface StoreOptions extends OpenOptions {
  /** Knobs of two-phase transactions, by the names of the specification. */
  readonly transactions?: Partial<TransactionKnobs>;
}

export class StoreConnection extends EmbeddedConnection implements TransactionalConnection {
  readonly transactions: TransactionManager;
  readonly backups: Backups = new Backups(this);

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

  override status(): StoreStatus {
    const { registry } = this.transactions;
    return { ...super.status(), transactions: registry.pending(this.server.env.clock.nowMs()) };
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

  /** The knobs of oracle and transactions as they are. */
  knobs(): KnobValue[] {
    const values: Readonly<Record<string, boolean | number>> = {
      ...this.server.oracle.knobs,
      ...this.transactions.knobs,
    };
    return KNOBS.map((knob) => ({ ...knob, value: values[knob.name] ?? knob.default }));
  }

  /**
   * Changes a knob now; with `keep` for later openings, too, where neither file, environment nor flag says otherwise. Throws
   * IllegalArgumentException for one that may not change while the store is open.
   */
  async setKnob(name: string, given: unknown, options: { keep?: boolean } = {}): Promise<void> {
    const { changeable } = findKnob(name);
    const value = knobValue(name, given);
    if (!changeable) {
      throw new IllegalArgumentException(
        `${name} cannot be changed while the store is open: give it in a config file, the environment or a flag`,
      );
    }
    if (isTsoKnob(name)) this.server.oracle.setKnob(name, value);
    else this.transactions.setKnob(name, value);
    if (options.keep !== true) return;
    const record = { name: `${KNOB_SETTING}${name}`, value: String(value) };
    await this.server.track(() => this.server.manifest.commit([put('setting', record)]));
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
  requireObject(options, 'Options of open');
  const { transactions, ...engine } = options;
  const server = await openServer(dir, engine);
  try {
    const kept = keptKnobs(server);
    for (const [name, value] of Object.entries(kept.oracle)) {
      if (!Object.hasOwn(engine.oracle ?? {}, name)) server.oracle.setKnob(name, value);
    }
    const knobs = { ...kept.transactions, ...transactions };
    return new StoreConnection(server, await TransactionManager.open(server, { knobs }));
  } catch (error) {
    await server.close();
    throw error;
  }
}

/** What `cellar config set` left in the store. */
function keptKnobs(server: RegionServer): KnobSet {
  const found: Record<string, unknown> = {};
  for (const { name, value } of server.manifest.all('setting')) {
    if (name.startsWith(KNOB_SETTING)) found[name.slice(KNOB_SETTING.length)] = value;
  }
  return knobSet([found]);
}
