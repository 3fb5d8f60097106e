/**
 * Writes exactly once for programs that keep their own checkpoints (transactions.md section 5). Between two checkpoints all
 * writes go into one transaction on one server; at the checkpoint it is prepared, and what names it, the committable, is kept
 * with the checkpoint; only then is it committed. After a crash the program opens a writer with what its last checkpoint
 * holds: that is committed, everything later is rolled back, and the program reads its source again from there.
 *
 *     const writer = await ExactlyOnceWriter.open({ servers, connect, prefix: 'job7', restored });
 *     writer.write({ table: 't', put: 'r1', values: { 'd:n': '1' } });
 *     const committables = await writer.prepareCommit(42);
 *     await saveDurably({ checkpointId: 42, committables, … });
 *     await writer.commit(committables);
 */
import type { Env } from '../io/index.ts';
import { StoreException } from '../io/index.ts';
import { IllegalArgumentException, TransactionException } from '../model/index.ts';
import type { LoadOperation, TransactionName, Transactions } from '../model/index.ts';
import { retrying } from './txn/retry.ts';

/** Names a prepared transaction wherever it is; JSON as it stands. It resolves by server id: addresses may change. */
export interface Committable {
  readonly version: 1;
  readonly serverId: string;
  readonly addresses: readonly string[];
  readonly namespace: string;
  readonly label: string;
  /** Decimal. */
  readonly txnId: string;
  readonly digest: string | null;
  readonly checkpointId: number;
}

/** What the last complete checkpoint holds of all subtasks' writers that this one takes over. */
export interface RestoredState {
  readonly checkpointId: number;
  readonly committables: readonly Committable[];
}

export type WriteMode = 'random' | 'round_robin' | 'hash';

export interface ExactlyOnceOptions {
  /** Addresses of the servers, each given to `connect`. */
  readonly servers: readonly string[];
  /** The verbs of the server at an address. Rejects while it cannot be reached. */
  readonly connect: (address: string) => Promise<Transactions>;
  /** Of all labels of the job; unique among jobs. */
  readonly prefix: string;
  /** This writer's number of `parallelism`, from 0. Default 0 of 1. */
  readonly subtask?: number;
  readonly parallelism?: number;
  readonly namespace?: string;
  /** Null or absent: the job starts for the first time. */
  readonly restored?: RestoredState | null;
  /** How a server is chosen for each transaction. Default `random`. */
  readonly writeMode?: WriteMode;
  readonly timeoutMs?: number;
  readonly preparedTimeoutMs?: number;
  /** Operations of one request. Default 1000. */
  readonly batchRows?: number;
  /** How long a verb before prepare is repeated while no answer comes. Default 30000. */
  readonly retryForMs?: number;
  /** How long commits are repeated. Default: the prepared time-out, or a day. */
  readonly commitForMs?: number;
  /** Goes on although the job went back past its own output: a later checkpoint's transaction was committed. */
  readonly allowsReplay?: boolean;
  readonly env: Pick<Env, 'clock' | 'random' | 'timers'>;
}

/** The job went back past its own output, or its transactions are gone: going on would lose or double rows. */
export class ExactlyOnceException extends StoreException {
  readonly code: string = 'ExactlyOnceException';
  readonly retryable: boolean = false;
}

const BATCH_ROWS = 1000;
const RETRY_MS = 30_000;
const COMMIT_MS: number = 24 * 60 * 60 * 1000;
const LIST_LIMIT = 1000;
/** How long a server is asked to begin before the next is tried. */
const NEXT_SERVER_MS = 1000;

interface Pinned {
  readonly address: string;
  readonly transactions: Transactions;
  epoch: number;
}

/** The transaction under way. */
interface Current {
  readonly server: Pinned;
  readonly label: string;
  readonly name: TransactionName;
  seq: number;
  rows: number;
}

export class ExactlyOnceWriter {
  readonly #options: ExactlyOnceOptions;
  readonly #subtask: number;
  readonly #parallelism: number;
  /** Servers that were fenced and cleaned, by address. */
  readonly #ready = new Map<string, Pinned>();
  #checkpointId: number;
  #current: Current | null = null;
  #buffer: LoadOperation[] = [];
  #begun = 0;
  #working: Promise<unknown> = Promise.resolve();

  private constructor(options: ExactlyOnceOptions) {
    this.#options = options;
    this.#subtask = options.subtask ?? 0;
    this.#parallelism = options.parallelism ?? 1;
    this.#checkpointId = options.restored?.checkpointId ?? 0;
  }

  /**
   * Shuts out earlier attempts of this subtask, commits what the checkpoint holds, rolls back what came after. Servers that
   * cannot be reached are left for their first use. Throws ExactlyOnceException.
   */
  static async open(options: ExactlyOnceOptions): Promise<ExactlyOnceWriter> {
    if (options.servers.length === 0) throw new IllegalArgumentException('name a server');
    const writer = new ExactlyOnceWriter(options);
    await writer.commit(options.restored?.committables ?? []);
    for (const address of options.servers) {
      try {
        await writer.#prepareServer(address);
      } catch (error) {
        // Away now: it is fenced and cleaned before its first use.
        if (!(error instanceof StoreException) || !error.retryable) throw error;
      }
    }
    return writer;
  }

  get producer(): string {
    return `${this.#options.prefix}-${this.#subtask}`;
  }

  // ---- a server before its first use --------------------------------------------------------------------------------

  async #prepareServer(address: string): Promise<Pinned> {
    const known = this.#ready.get(address);
    if (known !== undefined) return known;
    const transactions = await this.#options.connect(address);
    const { epoch } = await this.#retry(() => transactions.fence(this.producer));
    await this.#cleanUp(transactions);
    const pinned = { address, transactions, epoch };
    this.#ready.set(address, pinned);
    return pinned;
  }

  /** Rolls back what was prepared behind the restored checkpoint; lower ids belong to whoever commits. */
  async #cleanUp(transactions: Transactions): Promise<void> {
    const mine = new Set((this.#options.restored?.committables ?? []).map(({ label }) => label));
    for (const state of ['PREPARED', 'COMMITTED'] as const) {
      for await (const { label, txnId } of this.#listed(transactions, state)) {
        const parts = partsOf(label, this.#options.prefix);
        if (parts === null || mine.has(label)) continue;
        if (parts.subtask % this.#parallelism !== this.#subtask) continue;
        if (parts.checkpointId <= this.#checkpointId) continue;
        if (state === 'PREPARED') {
          await this.#retry(() => transactions.rollback(this.#nameOf(label, txnId)));
        } else if (this.#options.allowsReplay !== true) {
          throw new ExactlyOnceException(
            `${label} is committed, but the checkpoint restored is ${this.#checkpointId}: the job went back past its own output`,
          );
        }
      }
    }
  }

  async *#listed(
    transactions: Transactions,
    state: 'PREPARED' | 'COMMITTED',
  ): AsyncGenerator<{ label: string; txnId: bigint }> {
    let after = this.#oldestOfInterest(state);
    for (;;) {
      const from = after;
      const page = await this.#retry(() =>
        transactions.list({
          state,
          prefix: `${this.#options.prefix}-`,
          limit: LIST_LIMIT,
          after: from,
          ...(this.#options.namespace === undefined ? {} : { namespace: this.#options.namespace }),
        }),
      );
      yield* page;
      const last = page.at(-1);
      if (last === undefined || page.length < LIST_LIMIT) return;
      after = last.txnId;
    }
  }

  /** Transactions behind the checkpoint have greater ids than its own. */
  #oldestOfInterest(state: 'PREPARED' | 'COMMITTED'): bigint {
    if (state === 'PREPARED') return 0n;
    const ids = (this.#options.restored?.committables ?? []).map(({ txnId }) => BigInt(txnId));
    return ids.length < this.#options.servers.length
      ? 0n
      : ids.reduce((least, id) => (id < least ? id : least));
  }

  #nameOf(label: string, txnId: bigint): TransactionName {
    const { namespace } = this.#options;
    return { label, txnId, ...(namespace === undefined ? {} : { namespace }) };
  }

  // ---- writing ------------------------------------------------------------------------------------------------------

  /** Adds a write to the transaction of the next checkpoint. Await it: it sends when enough has gathered. */
  async write(operation: LoadOperation): Promise<void> {
    this.#buffer.push(operation);
    if (this.#buffer.length >= (this.#options.batchRows ?? BATCH_ROWS)) await this.flush();
  }

  /** Sends what has gathered. Rejects when the server is gone for too long: go back to the last checkpoint. */
  flush(): Promise<void> {
    return this.#inOrder(() => this.#send());
  }

  async #send(): Promise<void> {
    const operations = this.#buffer;
    if (operations.length === 0) return;
    const current = (this.#current ??= await this.#begin());
    const seq = current.seq;
    const { epoch, transactions } = current.server;
    await this.#retry(() => transactions.load(current.name, seq, operations, { epoch }));
    current.seq++;
    current.rows += operations.length;
    this.#buffer = this.#buffer.slice(operations.length);
  }

  /** On the first server, in the order of the write mode, that answers. */
  async #begin(): Promise<Current> {
    let failure: unknown = null;
    for (const address of this.#candidates()) {
      try {
        const current = await this.#beginOn(await this.#prepareServer(address));
        this.#begun++;
        return current;
      } catch (error) {
        // What may have been begun there holds nothing, and ends by itself.
        if (!(error instanceof StoreException) || !error.retryable) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  async #beginOn(server: Pinned): Promise<Current> {
    const label = `${this.producer}-${this.#checkpointId + 1}-${server.epoch}`;
    const { namespace, timeoutMs, preparedTimeoutMs, env, servers } = this.#options;
    const requestId = Buffer.from(env.random.bytes(8)).toString('hex');
    const retryForMs = this.#options.retryForMs ?? RETRY_MS;
    const forMs = servers.length === 1 ? retryForMs : Math.min(retryForMs, NEXT_SERVER_MS);
    const begun = await retrying(env, forMs, () =>
      server.transactions.begin({
        label,
        requestId,
        producer: this.producer,
        epoch: server.epoch,
        ...(namespace === undefined ? {} : { namespace }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        ...(preparedTimeoutMs === undefined ? {} : { preparedTimeoutMs }),
      }),
    );
    return { server, label, name: this.#nameOf(label, begun.txnId), seq: 0, rows: 0 };
  }

  #candidates(): string[] {
    const { servers, writeMode = 'random', env } = this.#options;
    const first = {
      random: () => env.random.int(servers.length),
      round_robin: () => this.#begun % servers.length,
      hash: () => this.#subtask % servers.length,
    }[writeMode]();
    return servers.map((_, i) => servers[(first + i) % servers.length]!);
  }

  // ---- checkpoints --------------------------------------------------------------------------------------------------

  /**
   * Prepares what was written since the last checkpoint. Keep the answer with the checkpoint, durably, before `commit`. Ids
   * grow. Rejects when that fails: go back to the last checkpoint.
   */
  prepareCommit(checkpointId: number): Promise<Committable[]> {
    return this.#inOrder(async () => {
      if (!Number.isSafeInteger(checkpointId) || checkpointId <= this.#checkpointId) {
        throw new IllegalArgumentException(
          `checkpoint ${checkpointId} does not come after ${this.#checkpointId}`,
        );
      }
      await this.#send();
      const current = this.#current;
      if (current === null) {
        this.#checkpointId = checkpointId;
        return [];
      }
      const { server, name, label, rows } = current;
      const { transactions, epoch, address } = server;
      const prepared = await this.#retry(() =>
        transactions.prepare(name, { expect: { rows }, epoch }),
      );
      this.#current = null;
      this.#checkpointId = checkpointId;
      if (prepared.empty) return [];
      return [
        {
          version: 1,
          serverId: transactions.serverId,
          addresses: [address],
          namespace: this.#options.namespace ?? 'default',
          label,
          txnId: String(prepared.txnId),
          digest: prepared.digest,
          checkpointId,
        },
      ];
    });
  }

  /**
   * Commits what a complete checkpoint holds, repeating while servers are away; again and again is harmless. Throws
   * ExactlyOnceException when a transaction is gone: its rows are in no place.
   */
  async commit(committables: readonly Committable[]): Promise<void> {
    for (const committable of committables) await this.#commitOne(committable);
  }

  async #commitOne(committable: Committable): Promise<void> {
    const { label, txnId, namespace } = committable;
    const { commitForMs, preparedTimeoutMs, env } = this.#options;
    try {
      await retrying(env, commitForMs ?? preparedTimeoutMs ?? COMMIT_MS, async () => {
        const transactions = await this.#serverOf(committable);
        await transactions.commit({ label, namespace, txnId: BigInt(txnId) });
      });
    } catch (error) {
      if (!(error instanceof TransactionException)) throw error;
      throw new ExactlyOnceException(
        `${label} of checkpoint ${committable.checkpointId} cannot be committed: ${error.message}`,
        { cause: error },
      );
    }
  }

  /** Only the server that prepared it may commit it, wherever that is now. */
  async #serverOf({ serverId, addresses }: Committable): Promise<Transactions> {
    let failure: unknown = null;
    for (const address of new Set([...addresses, ...this.#options.servers])) {
      try {
        const transactions =
          this.#ready.get(address)?.transactions ?? (await this.#options.connect(address));
        if (transactions.serverId === serverId) return transactions;
      } catch (error) {
        if (!(error instanceof StoreException) || !error.retryable) throw error;
        failure = error;
      }
    }
    throw failure instanceof Error ? failure : new ServerAway(serverId);
  }

  /** Rolls back what was not handed over. What was stays: the checkpoint holds it. */
  async close(): Promise<void> {
    await this.#working.catch(() => undefined); // Its caller was told.
    const current = this.#current;
    this.#current = null;
    this.#buffer = [];
    if (current === null) return;
    try {
      await current.server.transactions.rollback(current.name);
    } catch (error) {
      // The next attempt's fence ends it.
      if (!(error instanceof StoreException)) throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** One verb at a time, in the order of the calls. */
  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#working.then(work, work);
    this.#working = done.catch(() => undefined);
    return done;
  }

  /** Repeats the same verb while no answer comes: silence decides nothing. */
  #retry<T>(verb: () => Promise<T>): Promise<T> {
    return retrying(this.#options.env, this.#options.retryForMs ?? RETRY_MS, verb);
  }
}

/** No server known has this id now. */
class ServerAway extends StoreException {
  readonly code: string = 'ServerAway';
  readonly retryable: boolean = true;
  constructor(serverId: string) {
    super(`no server that can be reached has the id ${serverId}`);
  }
}

/** Subtask, checkpoint id and epoch of a label; null: not of this job. */
function partsOf(
  label: string,
  prefix: string,
): { readonly subtask: number; readonly checkpointId: number } | null {
  if (!label.startsWith(`${prefix}-`)) return null;
  const match = /^(\d+)-(\d+)-(\d+)$/.exec(label.slice(prefix.length + 1));
  if (match === null) return null;
  return { subtask: Number(match[1]), checkpointId: Number(match[2]) };
}
