/** The table of an embedded store: checks arguments, runs operations, answers when they may be seen. */
import {
  IllegalArgumentException,
  READ_DEFAULT,
  WrongRegionException,
  requireArray,
  shown,
  toRow,
} from '../model/index.ts';
import type {
  Bytes,
  CheckAndMutate,
  CheckAndMutateOutcome,
  CheckAndMutateResult,
  Condition,
  DeleteSpec,
  Durability,
  ExplainTarget,
  GroupTransaction,
  IncrementOptions,
  Mutation,
  MutationOptions,
  MutationResult,
  Nonce,
  Operation,
  OperationOutcome,
  PutOptions,
  ReadExplanation,
  ReadOptions,
  Result,
  ScanOptions,
  Scanner,
  Table,
  TransactOptions,
  TransactResult,
  TransactTarget,
  Value,
  Values,
} from '../model/index.ts';
import { toStringBinary } from '../cell/index.ts';
import { FSYNC_WAL } from '../wal/index.ts';
import type { MutationBuffer, Region } from '../region/index.ts';
import { CellEncoder, RowScratch, encodeDelete, encodePut, needsNewest } from './encode.ts';
import { runBatch } from './batch.ts';
import type { BlindWrite } from './batch.ts';
import { commitOptionsOf } from './commit_options.ts';
import type { CommitOptions } from './commit_queue.ts';
import { nonceBytes } from './nonces.ts';
import { hiddenPuts } from './hidden_puts.ts';
import { highOf, joinHalves, lowOf } from './read_point.ts';
import { EmbeddedScanner } from './embedded_scanner.ts';
import { explainRead } from './explain.ts';
import { IncrementNow } from './increment_now.ts';
import type { RegionServer } from './region_server.ts';
import {
  checkMutations,
  checkOperation,
  prepareCheckAndMutate,
  prepareRow,
  readsRow,
  rowOf,
} from './row_operations.ts';
import type { RowContext } from './row_operations.ts';
import type { EncodeRow, Prepared, RowOperation } from './row_writer.ts';
import type { Steps } from './steps.ts';
import { durabilityNumber } from './table_state.ts';
import { transactInRegion } from './transact.ts';
import type { TableState } from './table_state.ts';

interface CommitWishes {
  readonly durability?: Durability | undefined;
  readonly nonce?: Uint8Array | null;
  readonly batchMs?: number;
}

const NO_WISHES: CommitWishes = {};

const DURABILITY_WORDS: ReadonlySet<string> = new Set([
  'USE_DEFAULT',
  'SKIP_WAL',
  'ASYNC_WAL',
  'SYNC_WAL',
  'FSYNC_WAL',
]);

export class EmbeddedTable implements Table {
  readonly name: string;
  readonly #server: RegionServer;
  readonly #encoder: CellEncoder = new CellEncoder();
  readonly #rows: RowScratch = new RowScratch();
  readonly #incrementNow: IncrementNow;

  constructor(server: RegionServer, name: string) {
    this.#server = server;
    this.name = name;
    this.#incrementNow = new IncrementNow(server);
  }

  put(row: Bytes, values: Values, options?: PutOptions): Promise<bigint> {
    try {
      this.#server.checkOpen();
      if (options?.onHidden !== undefined) return this.#putAndTell(toRow(row), values, options);
      return this.#put(this.#rows.of(row), values, options, 0);
    } catch (error) {
      return rejected(error);
    }
  }

  /** A put whose caller wants to know what of it is hidden by markers. */
  async #putAndTell(row: Uint8Array, values: Values, options: PutOptions): Promise<bigint> {
    const { onHidden } = options;
    if (typeof onHidden !== 'function') {
      throw new IllegalArgumentException(`onHidden must be a function, not ${shown(onHidden)}`);
    }
    const kept = Uint8Array.from(row);
    const tso = await this.#put(kept, values, options, 0);
    const { families } = this.#server.catalog.enabled(this.name);
    const isClassic = (name: string): boolean =>
      families.find(({ settings }) => settings.name === name)?.settings.newVersionBehavior !== true;
    await using scanner = this.scan({
      start: kept,
      stop: kept,
      stopInclusive: true,
      raw: true,
      versions: Infinity,
    });
    const [result] = await scanner.nextBatch(1);
    for (const hidden of hiddenPuts(result?.cells ?? [], tso, isClassic)) onHidden(hidden);
    return tso;
  }

  #put(
    row: Uint8Array,
    values: Values,
    options: MutationOptions | undefined,
    batchMs: number,
  ): Promise<bigint> {
    const encode: EncodeRow = (mutation, table, bytes) =>
      encodePut(this.#encoder, mutation, table, bytes, values, options);
    return this.#blind(row, encode, options?.durability, options?.nonce, batchMs);
  }

  delete(row: Bytes, spec?: DeleteSpec): Promise<bigint> {
    try {
      this.#server.checkOpen();
      return this.#delete(needsNewest(spec) ? toRow(row) : this.#rows.of(row), spec, 0);
    } catch (error) {
      return rejected(error);
    }
  }

  #delete(row: Uint8Array, spec: DeleteSpec | undefined, batchMs: number): Promise<bigint> {
    if (needsNewest(spec)) {
      const mutation: Mutation = spec === undefined ? { delete: row } : { delete: row, spec };
      return this.#modify(row, [mutation], spec, batchMs).then(({ tso }) => tso);
    }
    const encode: EncodeRow = (mutation, table, bytes) => {
      encodeDelete(this.#encoder, mutation, table, bytes, spec, () => null);
      return false;
    };
    return this.#blind(row, encode, spec?.durability, spec?.nonce, batchMs);
  }

  #blind(
    row: Uint8Array,
    encode: EncodeRow,
    durability: Durability | undefined,
    nonce: Nonce | undefined,
    batchMs: number,
  ): Promise<bigint> {
    const { rows, nonces } = this.#server;
    if (nonce === undefined) {
      return rows.write(this.name, row, encode, (table, mutation) =>
        this.#commitOptions(table, mutation, { durability, batchMs }),
      );
    }
    const bytes = nonceBytes(nonce);
    const kept = Uint8Array.from(row);
    return nonces.once(
      bytes,
      () =>
        rows.write(this.name, kept, encode, (table, mutation) =>
          this.#commitOptions(table, mutation, { durability, batchMs, nonce: bytes }),
        ),
      async (tso) => {
        await rows.acknowledged(tso);
        return tso;
      },
    );
  }

  #commitOptions(table: TableState, mutation: MutationBuffer, wishes: CommitWishes): CommitOptions {
    return commitOptions(this.#server, table, mutation, wishes);
  }

  async mutateRow(row: Bytes, mutations: readonly Mutation[]): Promise<MutationResult> {
    this.#server.checkOpen();
    checkMutations(mutations);
    return this.#modify(toRow(row), mutations, undefined, 0);
  }

  increment(
    row: Bytes,
    amounts: Readonly<Record<string, bigint | number>>,
    options?: IncrementOptions,
  ): Promise<MutationResult> {
    try {
      this.#server.checkOpen();
      if (options === undefined) {
        const answer = this.#incrementPlain(row, amounts);
        if (answer !== null) return answer;
      }
      const mutation = options === undefined ? { amounts } : { amounts, options };
      return this.#modify(toRow(row), [{ increment: row, ...mutation }], options, 0);
    } catch (error) {
      return rejected(error);
    }
  }

  /** One counter by a plain number, if nothing has to be waited for; null: take the general way. */
  #incrementPlain(
    row: Bytes,
    amounts: Readonly<Record<string, bigint | number>>,
  ): Promise<MutationResult> | null {
    if (typeof amounts !== 'object' || amounts === null) return null;
    const names = Object.keys(amounts);
    const amount = names.length === 1 ? amounts[names[0]!] : null;
    if (typeof amount !== 'number' || !Number.isSafeInteger(amount)) return null;
    const bytes = this.#rows.of(row);
    return this.#incrementNow.run(this.name, bytes, names[0]!, amount, this.#plainOptions);
  }

  readonly #plainOptions = (table: TableState, mutation: MutationBuffer): CommitOptions =>
    this.#commitOptions(table, mutation, NO_WISHES);

  append(
    row: Bytes,
    values: Readonly<Record<string, Value>>,
    options?: IncrementOptions,
  ): Promise<MutationResult> {
    try {
      this.#server.checkOpen();
      const mutation = options === undefined ? { values } : { values, options };
      return this.#modify(toRow(row), [{ append: row, ...mutation }], options, 0);
    } catch (error) {
      return rejected(error);
    }
  }

  /** Mutations of one row, under its lock, as one commit. */
  #modify(
    row: Uint8Array,
    mutations: readonly Mutation[],
    wishes: { readonly durability?: Durability; readonly nonce?: Nonce } | undefined,
    batchMs: number,
  ): Promise<MutationResult> {
    const durability = wishes?.durability ?? strongest(mutations);
    const given = wishes?.nonce ?? nonceOf(mutations);
    const nonce = given === undefined ? null : nonceBytes(given);
    const run = (): Promise<MutationResult> =>
      this.#server.rows.run(
        this.name,
        this.#rowOperation(row, (context) => prepareRow(context, mutations), {
          durability,
          nonce,
          batchMs,
        }),
      );
    if (nonce === null) return run();
    return this.#server.nonces.once(nonce, run, async (tso) => ({
      tso,
      result: await this.#answerAgain(row, mutations, tso),
    }));
  }

  /** What a repeated increment or append answers: its columns as of its commit. */
  async #answerAgain(
    row: Uint8Array,
    mutations: readonly Mutation[],
    tso: bigint,
  ): Promise<Result | null> {
    await this.#server.rows.acknowledged(tso);
    const columns = mutations.flatMap((mutation) => {
      const wanted =
        ('increment' in mutation || 'append' in mutation) &&
        mutation.options?.returnResults !== false;
      if (!wanted) return [];
      return Object.keys('increment' in mutation ? mutation.amounts : mutation.values);
    });
    if (columns.length === 0) return null;
    return this.get(row, { columns, asOf: tso });
  }

  #rowOperation<T>(
    row: Uint8Array,
    prepare: (context: RowContext) => Steps<Prepared<T>>,
    wishes: CommitWishes,
  ): RowOperation<T> {
    const { reads } = this.#server;
    return {
      row,
      prepare: (table: TableState, region: Region, buffer: MutationBuffer) =>
        prepare({
          table,
          region,
          row,
          buffer,
          encoder: new CellEncoder(),
          reads,
          floorHigh: 0,
          floorLow: 0,
          returned: [],
        }),
      options: (table, mutation) => this.#commitOptions(table, mutation, wishes),
    };
  }

  async checkAndMutate(
    row: Bytes,
    condition: Condition,
    action: Mutation | readonly Mutation[],
  ): Promise<CheckAndMutateResult> {
    this.#server.checkOpen();
    return this.#checkAndMutate(row, condition, action, 0);
  }

  async #checkAndMutate(
    row: Bytes,
    condition: Condition,
    action: Mutation | readonly Mutation[],
    batchMs: number,
  ): Promise<CheckAndMutateResult> {
    const bytes = toRow(row);
    const mutations = isList(action) ? action : [action];
    checkMutations(mutations);
    const given = nonceOf(mutations);
    const nonce = given === undefined ? null : nonceBytes(given);
    const operation = this.#rowOperation(
      bytes,
      (context) => prepareCheckAndMutate(context, condition, mutations),
      { durability: strongest(mutations), nonce, batchMs },
    );
    const run = (): Promise<CheckAndMutateResult> => this.#server.rows.run(this.name, operation);
    if (nonce === null) return run();
    return this.#server.nonces.once(nonce, run, async (tso) => ({
      processed: true,
      tso,
      result: await this.#answerAgain(bytes, mutations, tso),
    }));
  }

  async checkAndMutateAll(checks: readonly CheckAndMutate[]): Promise<CheckAndMutateOutcome[]> {
    this.#server.checkOpen();
    requireArray(checks, 'checks');
    for (const check of checks) {
      checkOperation(check);
      if ('checkAndMutate' in check) continue;
      throw new IllegalArgumentException('checkAndMutateAll takes checkAndMutate operations');
    }
    const outcomes = await this.batch(checks);
    return outcomes.map((outcome) =>
      outcome.ok ? { ...outcome, processed: outcome.processed === true } : outcome,
    );
  }

  async mutateRows(mutations: readonly Mutation[]): Promise<bigint> {
    this.#server.checkOpen();
    checkMutations(mutations);
    const rows = mutations.map((mutation) => {
      if (readsRow(mutation) || 'increment' in mutation || 'append' in mutation) {
        throw new IllegalArgumentException(
          'mutateRows takes puts and deletes (of versions only with ts)',
        );
      }
      return rowOf(mutation);
    });
    const durability = strongest(mutations);
    const given = nonceOf(mutations);
    const nonce = given === undefined ? null : nonceBytes(given);
    const encode = (mutation: MutationBuffer, table: TableState, region: Region): void => {
      for (const [index, change] of mutations.entries()) {
        const row = rows[index]!;
        if (!region.contains(row)) throw outsideRegion(row, table, region);
        if ('put' in change) {
          encodePut(this.#encoder, mutation, table, row, change.values, change.options);
        } else if ('delete' in change) {
          encodeDelete(this.#encoder, mutation, table, row, change.spec, () => null);
        }
      }
    };
    const writer = this.#server.rows;
    const run = (): Promise<bigint> =>
      writer.writeRows(this.name, rows, encode, (table, mutation) =>
        this.#commitOptions(table, mutation, { durability, nonce }),
      );
    if (nonce === null) return run();
    return this.#server.nonces.once(nonce, run, async (tso) => {
      await writer.acknowledged(tso);
      return tso;
    });
  }

  async transact<T>(
    target: TransactTarget,
    work: (tx: GroupTransaction) => Promise<T>,
    options: TransactOptions = {},
  ): Promise<TransactResult<T>> {
    const parts = {
      server: this.#server,
      options: (table: TableState, mutation: MutationBuffer, durability?: Durability) =>
        commitOptions(this.#server, table, mutation, { durability }),
    };
    return this.#server.track(() => transactInRegion(parts, this.name, target, work, options));
  }

  async batch(operations: readonly Operation[]): Promise<OperationOutcome[]> {
    const { reads, rows, readPoint } = this.#server;
    this.#server.checkOpen();
    requireArray(operations, 'operations');
    const batchMs = reads.clock.followedMs();
    // Only stamps that do not lie in synced records have to be published.
    let weakest: number = FSYNC_WAL;
    return runBatch(operations, {
      asBlind: (operation) => this.#asBlind(operation),
      writeNow: ({ row, encode }, operation) => {
        const durability = durabilityOf(operation);
        const options = rows.writeNow(this.name, row, encode, (table, mutation) =>
          this.#commitOptions(table, mutation, { durability, batchMs }),
        );
        if (options === null) return null;
        weakest = Math.min(weakest, options.durability);
        return joinHalves(readPoint.appliedHigh, readPoint.appliedLow);
      },
      run: (operation) => this.#operation(operation, batchMs),
      acknowledged: (tso) =>
        weakest === FSYNC_WAL
          ? readPoint.whenPassed(highOf(tso), lowOf(tso), undefined)
          : rows.acknowledged(tso),
    });
  }

  /** A put or a delete that needs no reading and has no nonce. */
  #asBlind(operation: Operation): BlindWrite | null {
    checkOperation(operation);
    if ('put' in operation && operation.options?.nonce === undefined) {
      const { values, options } = operation;
      const encode: EncodeRow = (mutation, table, bytes) =>
        encodePut(this.#encoder, mutation, table, bytes, values, options);
      return { row: this.#rows.of(operation.put), encode };
    }
    if (!('delete' in operation)) return null;
    const { spec } = operation;
    if (spec?.nonce !== undefined || needsNewest(spec)) return null;
    const encode: EncodeRow = (mutation, table, bytes) => {
      encodeDelete(this.#encoder, mutation, table, bytes, spec, () => null);
      return false;
    };
    return { row: this.#rows.of(operation.delete), encode };
  }

  async #operation(
    operation: Operation,
    batchMs: number,
  ): Promise<{ tso: bigint | null; result: Result | null; processed?: boolean }> {
    if ('checkAndMutate' in operation) {
      const { checkAndMutate, condition, action } = operation;
      return this.#checkAndMutate(checkAndMutate, condition, action, batchMs);
    }
    if ('get' in operation) {
      return { tso: null, result: await this.get(operation.get, operation.options) };
    }
    if ('mutateRow' in operation) {
      const row = toRow(operation.mutateRow);
      checkMutations(operation.mutations);
      return this.#modify(row, operation.mutations, undefined, batchMs);
    }
    const row = rowOf(operation);
    if ('put' in operation) {
      const tso = await this.#put(row, operation.values, operation.options, batchMs);
      return { tso, result: null };
    }
    if ('delete' in operation) {
      return { tso: await this.#delete(row, operation.spec, batchMs), result: null };
    }
    return this.#modify(row, [operation], operation.options, batchMs);
  }

  get(row: Bytes, options?: ReadOptions): Promise<Result | null> {
    try {
      this.#server.checkOpen();
      const { reads } = this.#server;
      // With options the read may have to wait before it looks at the row.
      if (options !== undefined) return reads.get(this.name, toRow(row), options);
      const bytes = this.#rows.of(row);
      const table = reads.table(this.name, READ_DEFAULT);
      const answer = reads.getIn(table, table.regionOf(bytes), bytes, READ_DEFAULT);
      return answer instanceof Promise ? answer : Promise.resolve(answer);
    } catch (error) {
      return rejected(error);
    }
  }

  getSync(row: Bytes, options?: ReadOptions): Result | null {
    this.#server.checkOpen();
    return this.#server.reads.getSync(this.name, this.#rows.of(row), options);
  }

  async getMany(rows: readonly Bytes[], options?: ReadOptions): Promise<(Result | null)[]> {
    this.#server.checkOpen();
    requireArray(rows, 'rows');
    return Promise.all(rows.map((row) => this.get(row, options)));
  }

  async exists(row: Bytes, options?: ReadOptions): Promise<boolean> {
    return (await this.get(row, options)) !== null;
  }

  scan(options?: ScanOptions): Scanner {
    return new EmbeddedScanner(this.#server, this.name, options);
  }

  async count(options?: ScanOptions): Promise<number> {
    this.#server.checkOpen();
    return this.#server.reads.count(this.name, options);
  }

  async explain(target: ExplainTarget): Promise<ReadExplanation> {
    this.#server.checkOpen();
    return explainRead(this.#server, this.name, target);
  }
}

/** What was asked for; else the strongest of what the families touched ask for. */
export function commitOptions(
  server: RegionServer,
  table: TableState,
  mutation: MutationBuffer,
  wishes: CommitWishes,
): CommitOptions {
  return commitOptionsOf(table, mutation, {
    durability: wishedDurability(wishes.durability),
    byDefault: durabilityNumber(server.settings.durability),
    nonce: wishes.nonce ?? null,
    batchMs: wishes.batchMs ?? 0,
  });
}

function wishedDurability(word: Durability | undefined): number {
  if (word === undefined) return 0;
  if (!DURABILITY_WORDS.has(word)) {
    throw new IllegalArgumentException(`durability '${String(word)}' is unknown`);
  }
  return durabilityNumber(word);
}

function durabilityOf(operation: Operation): Durability | undefined {
  if ('put' in operation) return operation.options?.durability;
  return 'delete' in operation ? operation.spec?.durability : undefined;
}

/** The strongest durability that any of the mutations asks for; undefined if none does. */
function strongest(mutations: readonly Mutation[]): Durability | undefined {
  let found: Durability | undefined;
  for (const mutation of mutations) {
    const asked = 'delete' in mutation ? mutation.spec?.durability : mutation.options?.durability;
    if (asked === undefined) continue;
    if (found === undefined || wishedDurability(asked) > wishedDurability(found)) found = asked;
  }
  return found;
}

function nonceOf(mutations: readonly Mutation[]): Nonce | undefined {
  for (const mutation of mutations) {
    const nonce = 'delete' in mutation ? mutation.spec?.nonce : mutation.options?.nonce;
    if (nonce !== undefined) return nonce;
  }
  return undefined;
}

function outsideRegion(row: Uint8Array, table: TableState, region: Region): WrongRegionException {
  const range = `[${toStringBinary(region.startKey)}, ${toStringBinary(region.endKey)})`;
  return new WrongRegionException(
    `Requested row out of range for mutateRows on table ${table.name}, region ${region.encodedName} ${range}, row='${toStringBinary(row)}'`,
  );
}

const isList = (action: Mutation | readonly Mutation[]): action is readonly Mutation[] =>
  Array.isArray(action);

function rejected<T>(error: unknown): Promise<T> {
  return Promise.reject(error instanceof Error ? error : new Error(String(error)));
}
