/**
 * One life of a store: opened on a simulated machine, used by clients at once, ended by whoever drives it. Records what
 * happens for the checker; its clients stop when it is over, wherever they are.
 */
import type { RegionServer } from '../../src/engine/region_server.ts';
import { EmbeddedConnection } from '../../src/engine/index.ts';
import type { SeededRandom, SimEnv } from '../../src/io/index.ts';
import type { Mutation, OperationOutcome, Result, ScanOptions } from '../../src/model/index.ts';
import { cellsText, fromAnswer } from './cells.ts';
import {
  SimFailure,
  type ChangeRecord,
  type Instant,
  type Intent,
  type ReadRecord,
} from './history.ts';
import type { Model } from './model.ts';
import { appliedTso, durableTso, observe, readTso, type Entry } from './observe.ts';
import { nonceOf, type Change, type Read, type Workload, type Write } from './operations.ts';
import { physicalMs, show } from './checker.ts';
import { applyOutcome, outcomeOf, type TableFacts } from './schema.ts';
import type { Journal } from './journal.ts';

/** What outlives a life: stamps that clients know. */
export interface Told {
  /** The greatest stamp of any kind, and of a commit. */
  told: bigint;
  acked: bigint;
}

/** A request to issue again. */
export interface Retry {
  readonly table: string;
  readonly write: Write;
}

export interface LifeParts {
  readonly env: SimEnv;
  readonly server: RegionServer;
  readonly random: SeededRandom;
  readonly workload: Workload;
  readonly model: Model;
  readonly journal: Journal;
  readonly told: Told;
  readonly tables: readonly string[];
  readonly clients: number;
  /** Retries of requests whose outcome nobody knows. */
  readonly retries: Retry[];
  /** The chance of a change of schema, an operation. */
  readonly changes: number;
}

/** Errors after which nobody knows whether the commit exists. */
const REFUSALS: ReadonlySet<string> = new Set([
  'TableNotFoundException',
  'TableNotEnabledException',
  'NoSuchColumnFamilyException',
  'DoNotRetryIOException',
  'WrongRegionException',
  'RegionTooBusyException',
]);
/** The oracle may be this far ahead of the greatest time the clock ever showed: two windows, and the milliseconds made up. */
const LEAD_MAX_MS = 5000;

export class Life {
  readonly entries: Entry[] = [];
  readonly intents: Intent[] = [];
  readonly reads: ReadRecord[] = [];
  /** The schema change whose outcome nobody knows. */
  pendingChange: (ChangeRecord & { tso: bigint }) | null = null;
  /** Everything logged up to here was promised to be on the disk (`sync`). */
  syncedTo = 0n;
  /** The greatest read point that an answer spoke of. */
  shownTo = 0n;
  /** Faults were made, so that operations may fail. */
  isFaulty = false;
  isOver = false;
  /** Clients finish what they do and stop. */
  isStopping = false;
  failure: Error | null = null;
  readonly clients: Promise<void>[] = [];
  readonly connection: EmbeddedConnection;
  readonly #parts: LifeParts;
  readonly #turns = new Map<string, { turn: number; changing: boolean }>();
  #clockMaxMs: number;

  constructor(parts: LifeParts, clockMaxMs: number) {
    this.#parts = parts;
    this.#clockMaxMs = clockMaxMs;
    this.connection = new EmbeddedConnection(parts.server);
    observe(parts.server, (entry) => this.#observed(entry));
  }

  get server(): RegionServer {
    return this.#parts.server;
  }

  get clockMaxMs(): number {
    return this.#clockMaxMs;
  }

  start(): void {
    const { clients } = this.#parts;
    for (let i = 0; i < clients; i++) this.clients.push(this.#guarded(() => this.#client()));
    this.clients.push(this.#guarded(() => this.#administrator()));
  }

  /** A failure of a client ends the life. */
  async #guarded(run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (!this.isOver) this.failure ??= error instanceof Error ? error : new Error(String(error));
    }
  }

  #observed(entry: Entry): void {
    if (this.isOver) return;
    const { env, told } = this.#parts;
    const before = this.entries.at(-1)?.tso ?? 0n;
    const step = this.#parts.journal.step;
    if (entry.tso <= before || entry.tso <= told.told) {
      throw new SimFailure(step, `commit ${entry.tso} is not above ${before} and ${told.told}`);
    }
    const nowMs = env.clock.nowMs();
    this.#clockMaxMs = Math.max(this.#clockMaxMs, nowMs);
    const ms = physicalMs(entry.tso);
    if (ms < nowMs) throw new SimFailure(step, `commit ${entry.tso} is behind the clock, ${nowMs}`);
    if (ms > this.#clockMaxMs + LEAD_MAX_MS) {
      throw new SimFailure(step, `commit ${entry.tso} is ${ms - nowMs} ms ahead of the clock`);
    }
    this.entries.push(entry);
  }

  #turn(table: string): { turn: number; changing: boolean } {
    let turn = this.#turns.get(table);
    if (turn === undefined) this.#turns.set(table, (turn = { turn: 0, changing: false }));
    return turn;
  }

  #instant(table: string): Instant {
    const { server, told } = this.#parts;
    const { turn, changing } = this.#turn(table);
    return {
      applied: appliedTso(server),
      readPoint: readTso(server),
      told: told.told,
      acked: told.acked,
      nowMs: server.reads.clock.followedMs(),
      schemaTurn: turn,
      isChanging: changing,
    };
  }

  /** The state at an answer, which shows everything up to the read point. */
  #answered(table: string): Instant {
    const instant = this.#instant(table);
    if (instant.readPoint > this.shownTo) this.shownTo = instant.readPoint;
    return instant;
  }

  #tell(tso: bigint, isCommit: boolean): void {
    const { told } = this.#parts;
    if (tso > told.told) told.told = tso;
    if (isCommit && tso > told.acked) told.acked = tso;
  }

  // ---- Clients -----------------------------------------------------------------------------------------------------

  get #isLive(): boolean {
    return !this.isOver && !this.isStopping && this.failure === null;
  }

  async #client(): Promise<void> {
    const { random, workload, env, retries, journal } = this.#parts;
    while (this.#isLive) {
      if (random.chance(0.5)) await env.timers.sleep(random.float() * 4);
      if (!this.#isLive) return;
      journal.nextStep();
      const table = workload.pick(this.#parts.tables);
      const retry = retries.length > 0 && random.chance(0.3) ? retries.shift() : undefined;
      const pick = random.int(100);
      if (retry !== undefined) await this.write(retry.table, retry.write);
      else if (pick < 58) await this.#writeSomehow(table, workload.write());
      else if (pick < 64) await this.#batch(table);
      else if (pick < 94) await this.read(table, this.#withMoment(workload.read()));
      else if (pick < 97) await this.#stamp();
      else await this.#sync();
    }
  }

  /** Once, or, with a nonce, perhaps twice: at the same time or one after the other. */
  async #writeSomehow(table: string, write: Write): Promise<void> {
    const { random } = this.#parts;
    const isRepeatable = nonceOf(mutationsOf(write)) !== undefined;
    if (!isRepeatable || random.chance(0.7)) return this.write(table, write);
    if (random.chance(0.5)) {
      await Promise.all([this.write(table, write), this.write(table, write)]);
      return;
    }
    await this.write(table, write);
    if (this.#isLive) await this.write(table, write);
  }

  /** Issues one write and records its answer. */
  async write(table: string, write: Write): Promise<void> {
    const { journal } = this.#parts;
    const step = journal.step;
    const api = this.connection.table(table);
    const intent = this.#intend(step, table, write.kind, mutationsOf(write), {
      condition: write.kind === 'check' ? write.condition : null,
      batchMs: null,
      write,
    });
    journal.note(() => `${step} ${table} ${write.kind} ${show(write)}`);
    try {
      switch (write.kind) {
        case 'put':
        case 'delete': {
          const { mutation } = write;
          const tso =
            'put' in mutation
              ? await api.put(mutation.put, mutation.values, mutation.options)
              : 'delete' in mutation
                ? await api.delete(mutation.delete, mutation.spec)
                : 0n;
          return this.#done(intent, tso, null);
        }
        case 'increment':
        case 'append': {
          const { mutation } = write;
          const { tso, result } =
            'increment' in mutation
              ? await api.increment(mutation.increment, mutation.amounts, mutation.options)
              : 'append' in mutation
                ? await api.append(mutation.append, mutation.values, mutation.options)
                : { tso: 0n, result: null };
          return this.#done(intent, tso, result);
        }
        case 'mutateRow': {
          const { tso, result } = await api.mutateRow(write.row, write.mutations);
          return this.#done(intent, tso, result);
        }
        case 'mutateRows':
          return this.#done(intent, await api.mutateRows(write.mutations), null);
        case 'check': {
          const [only] = write.mutations;
          const action = write.mutations.length === 1 ? only! : write.mutations;
          const { processed, tso, result } = await api.checkAndMutate(
            write.row,
            write.condition,
            action,
          );
          if (processed !== (tso !== null))
            throw new Error('processed without a TSO, or not with one');
          return this.#done(intent, tso, result);
        }
      }
    } catch (error) {
      this.#failed(intent, error);
    }
  }

  #intend(
    step: number,
    table: string,
    kind: string,
    mutations: readonly Mutation[],
    rest: Pick<Intent, 'condition' | 'batchMs' | 'write'>,
  ): Intent {
    const nonce = kind === 'mutateRows' ? undefined : nonceOf(mutations);
    const intent: Intent = {
      step,
      kind,
      table,
      mutations,
      ...rest,
      nonce: nonce === undefined ? null : nonceKey(nonce),
      called: this.#instant(table),
      state: 'pending',
      answered: null,
      tso: null,
      answer: 'null',
      error: null,
    };
    this.intents.push(intent);
    return intent;
  }

  #done(intent: Intent, tso: bigint | null, result: Result | null): void {
    if (this.isOver) return;
    intent.state = 'done';
    intent.tso = tso;
    intent.answer = result === null ? 'null' : cellsText(result.cells.map(fromAnswer));
    intent.answered = this.#answered(intent.table);
    if (tso !== null) this.#tell(tso, true);
    this.#parts.journal.answer(() => `${intent.step} = ${tso} ${intent.answer}`);
  }

  #failed(intent: Intent, error: unknown): void {
    if (this.isOver) return;
    if (!(error instanceof Error)) throw new SimFailure(intent.step, `threw ${String(error)}`);
    intent.error = error;
    intent.answered = this.#answered(intent.table);
    this.#parts.journal.answer(() => `${intent.step} ! ${error.name} ${error.message}`);
    if (!REFUSALS.has(error.name)) {
      intent.state = 'unknown';
      this.#checkFault(intent.step, error);
      return;
    }
    intent.state = 'refused';
    this.#checkRefusalNow(intent, error);
  }

  /** Refusals that depend on more than data are judged at once; the rest is the checker's. */
  #checkRefusalNow(intent: Intent, error: Error): void {
    const { model, server } = this.#parts;
    if (error.name === 'RegionTooBusyException') {
      const { memstoreHeapBytes, memstoreLimitBytes } = server.status();
      intent.state = 'unknown';
      if (memstoreHeapBytes > memstoreLimitBytes / 2) return;
      throw new SimFailure(
        intent.step,
        `busy at ${memstoreHeapBytes} of ${memstoreLimitBytes} bytes`,
      );
    }
    if (intent.called.isChanging || this.#turn(intent.table).turn !== intent.called.schemaTurn)
      return;
    const table = model.find(intent.table);
    const isRight = ((): boolean => {
      switch (error.name) {
        case 'TableNotFoundException':
          return table === null;
        case 'TableNotEnabledException':
          return table !== null && !table.isEnabled;
        case 'WrongRegionException': {
          const regions = intent.mutations.map((one) => table?.regionOf(rowText(one)));
          return intent.kind === 'mutateRows' && new Set(regions).size > 1;
        }
        default:
          return table !== null && table.isEnabled;
      }
    })();
    if (!isRight) throw new SimFailure(intent.step, `${intent.kind} was refused: ${error.message}`);
    // Only what was refused for data or families is left to judge.
    if (error.name !== 'DoNotRetryIOException' && error.name !== 'NoSuchColumnFamilyException') {
      intent.state = 'unknown';
    }
  }

  #checkFault(step: number, error: Error): void {
    if (this.isFaulty || this.isStopping) return;
    throw new SimFailure(step, `failed without a fault: ${error.stack ?? error.message}`);
  }

  async #batch(table: string): Promise<void> {
    const { workload, journal, server } = this.#parts;
    const step = journal.step;
    const operations = workload.batch();
    journal.note(() => `${step} ${table} batch ${show(operations)}`);
    const batchMs = server.reads.clock.followedMs();
    const records = operations.map((operation) => {
      if ('get' in operation) {
        const read = {
          kind: 'get' as const,
          row: String(operation.get),
          options: operation.options ?? {},
        };
        return this.#recordRead(step, table, read, false);
      }
      const mutations = 'mutateRow' in operation ? operation.mutations : [operation];
      const kind = 'mutateRow' in operation ? 'mutateRow' : Object.keys(operation)[0]!;
      return this.#intend(step, table, kind, mutations, { condition: null, batchMs, write: null });
    });
    let outcomes: OperationOutcome[];
    try {
      outcomes = await this.connection.table(table).batch(operations);
    } catch (error) {
      if (this.isOver) return;
      for (const record of records)
        if (record !== null && 'state' in record) this.#failed(record, error);
      return;
    }
    if (this.isOver) return;
    for (const [i, outcome] of outcomes.entries()) {
      const record = records[i]!;
      if (record === null) continue;
      if ('state' in record) {
        if (outcome.ok) this.#done(record, outcome.tso, outcome.result);
        else this.#failed(record, outcome.error);
      } else if (outcome.ok) this.#wasRead(record, [resultText(outcome.result)]);
      else this.#readFailed(record, outcome.error);
    }
  }

  async #stamp(): Promise<void> {
    const { told, journal } = this.#parts;
    const { step } = journal;
    const before = told.told;
    const applied = appliedTso(this.server);
    journal.note(() => `${step} tso`);
    try {
      const tso = await this.connection.tso();
      if (this.isOver) return;
      journal.answer(() => `${step} = ${tso}`);
      if (tso <= before || tso <= applied) {
        throw new SimFailure(step, `tso() gave ${tso}, not above ${before} and ${applied}`);
      }
      this.#tell(tso, false);
    } catch (error) {
      if (this.isOver || error instanceof SimFailure) throw error;
      if (error instanceof Error) this.#checkFault(step, error);
    }
  }

  async #sync(): Promise<void> {
    const { journal } = this.#parts;
    const { step } = journal;
    const applied = appliedTso(this.server);
    journal.note(() => `${step} sync`);
    try {
      await this.connection.sync();
      if (this.isOver) return;
      journal.answer(() => `${step} = synced`);
      if (applied > this.syncedTo) this.syncedTo = applied;
    } catch (error) {
      if (error instanceof Error && !this.isOver) this.#checkFault(step, error);
    }
  }

  // ---- Reads -------------------------------------------------------------------------------------------------------

  /** Some reads are as of a moment that was, or see what is not yet committed. */
  #withMoment(read: Read): Read {
    const { random, env } = this.#parts;
    const pick = random.int(20);
    const { acked, told } = this.#parts.told;
    const asOf =
      pick === 0 && this.entries.length > 0
        ? this.entries[random.int(this.entries.length)]!.tso
        : pick === 1
          ? random.chance(0.5)
            ? told
            : acked
          : pick === 2
            ? new Date(env.clock.nowMs() - random.int(8))
            : undefined;
    if (asOf !== undefined) return { ...read, options: { ...read.options, asOf } } as Read;
    if (pick !== 3) return read;
    return { ...read, options: { ...read.options, isolation: 'READ_UNCOMMITTED' } } as Read;
  }

  /** Null when the table is not there to be read. `isNow`: the moment is that of this call. */
  #recordRead(
    step: number,
    table: string,
    read: ReadRecord['read'],
    isNow: boolean,
  ): ReadRecord | null {
    const { server } = this.#parts;
    const known = server.catalog.find(table);
    if (known === undefined || !known.enabled) return null;
    const schemas = server.manifest.get('table', known.id)?.schemas ?? [];
    const called = this.#instant(table);
    const { asOf, isolation } = read.options;
    let tso: bigint | null = isNow ? called.readPoint : null;
    let nowMs: number | null = isNow ? called.nowMs : null;
    if (isNow && isolation === 'READ_UNCOMMITTED') tso = called.applied;
    if (typeof asOf === 'bigint') tso = asOf;
    else if (asOf instanceof Date) tso = ((BigInt(asOf.getTime()) + 1n) << 18n) - 1n;
    if (asOf !== undefined) nowMs = physicalMs(tso!);
    const record: ReadRecord = {
      step,
      table,
      read,
      called,
      tableId: known.id,
      schemaTso: schemas.at(-1)?.tso ?? 0n,
      tso,
      nowMs,
      answered: null,
      rows: [],
      isCut: false,
      error: null,
    };
    // What an as-of read shows of a table changed since is not yet promised.
    if (asOf !== undefined && tso! < record.schemaTso) return null;
    this.reads.push(record);
    return record;
  }

  async read(table: string, read: Read): Promise<void> {
    const { journal } = this.#parts;
    const { step } = journal;
    const isNow = !(read.kind === 'scan' && read.fetch === 0);
    journal.note(() => `${step} ${table} ${read.kind} ${show(read)}`);
    const record = this.#recordRead(step, table, read, isNow);
    try {
      const rows = await this.#runRead(table, read, record);
      if (record !== null) this.#wasRead(record, rows);
    } catch (error) {
      if (this.isOver) return;
      if (!(error instanceof Error) || error instanceof SimFailure) throw error;
      if (record !== null) this.#readFailed(record, error);
      else journal.answer(() => `${step} ! ${error.name}`);
    }
  }

  async #runRead(table: string, read: Read, record: ReadRecord | null): Promise<string[]> {
    const api = this.connection.table(table);
    switch (read.kind) {
      case 'get':
        return [resultText(await api.get(read.row, read.options))];
      case 'getSync':
        return [resultText(api.getSync(read.row, read.options))];
      case 'exists':
        return [String(await api.exists(read.row, read.options))];
      case 'getMany':
        return (await api.getMany(read.rows, read.options)).map(resultText);
      case 'count':
        return [String(await api.count(read.options))];
      case 'scan':
        return this.#runScan(table, read, record);
    }
  }

  async #runScan(
    table: string,
    read: Extract<Read, { kind: 'scan' }>,
    record: ReadRecord | null,
  ): Promise<string[]> {
    const { env } = this.#parts;
    const scanner = this.connection.table(table).scan(read.options);
    const rows: string[] = [];
    let fetches = 0;
    const step = record?.step ?? 0;
    const take = (result: Result): void => {
      checkPart(step, result, read.options);
      rows.push(resultText(result));
    };
    if (read.fetch === 0) {
      for await (const result of scanner) {
        take(result);
        if (++fetches >= read.fetches) break;
        if (read.pauseMs > 0 && fetches % 2 === 0) await env.timers.sleep(read.pauseMs);
      }
    } else {
      for (;;) {
        const results = await scanner.nextBatch(read.fetch);
        if (results.length === 0) break;
        if (results.length > read.fetch)
          throw new SimFailure(step, `${results.length} results a fetch`);
        for (const result of results) take(result);
        if (++fetches >= read.fetches) break;
        if (read.pauseMs > 0) await env.timers.sleep(read.pauseMs);
      }
      await scanner.close();
    }
    if (record !== null) record.isCut = fetches >= read.fetches;
    return rows;
  }

  #wasRead(record: ReadRecord, rows: readonly string[]): void {
    if (this.isOver) return;
    record.rows = rows;
    record.answered = this.#answered(record.table);
    this.#parts.journal.answer(() => `${record.step} = ${rows.join(' | ')}`);
  }

  #readFailed(record: ReadRecord, error: Error): void {
    if (this.isOver) return;
    record.error = error;
    record.answered = this.#answered(record.table);
    this.#parts.journal.answer(() => `${record.step} ! ${error.name}`);
    const { called, answered, step, read } = record;
    if (called.isChanging || called.schemaTurn !== answered.schemaTurn) return;
    switch (error.name) {
      case 'NoSuchColumnFamilyException': {
        const table = this.#parts.model.find(record.table);
        const names = table?.current.families.map(({ rules }) => rules.name) ?? [];
        const asked = [...(read.options.families ?? []), ...(read.options.columns ?? [])];
        if (asked.some((one) => !names.includes(String(one).split(':')[0]!))) return;
        break;
      }
      case 'SnapshotInFuture':
        if (record.tso !== null && record.tso > called.told) return;
        break;
      case 'SnapshotNotVisible':
        if (read.kind === 'getSync' && record.tso! > called.readPoint) return;
        if (this.isFaulty) return;
        break;
      default:
        if (this.isFaulty || this.isStopping) return;
    }
    throw new SimFailure(step, `${read.kind} failed: ${error.stack ?? error.message}`);
  }

  // ---- Changes of schema -------------------------------------------------------------------------------------------

  /** One at a time, so that the outcome of at most one is unknown after a crash. */
  async #administrator(): Promise<void> {
    const { random, workload, env, tables, model, journal, changes } = this.#parts;
    while (this.#isLive && this.pendingChange === null) {
      for (const name of tables) {
        if (!this.#isLive) return;
        const table = model.find(name);
        if (table === null) {
          journal.nextStep();
          await this.change(name, workload.create(name));
        } else if (!table.isEnabled || random.chance(changes)) {
          journal.nextStep();
          const families = table.current.families.map(({ rules }) => rules.name);
          await this.change(name, workload.change(families, table.isEnabled));
        }
        if (this.pendingChange !== null) return;
      }
      await env.timers.sleep(1 + random.float() * 10);
    }
  }

  async change(name: string, change: Change): Promise<void> {
    const { model, journal } = this.#parts;
    const { step } = journal;
    const expected = outcomeOf(model.find(name), change);
    const turn = this.#turn(name);
    turn.turn++;
    turn.changing = true;
    journal.note(() => `${step} ${name} ${change.kind} ${show(change)}`);
    const seenBefore = this.entries.length;
    try {
      await this.#runChange(name, change);
      if (this.isOver) return;
      if (typeof expected === 'string') {
        throw new SimFailure(step, `${change.kind} of ${name} was done; expected ${expected}`);
      }
      const control = this.entries.slice(seenBefore).find((entry) => entry.kind === 'control');
      if (control === undefined) throw new SimFailure(step, `${change.kind} took no TSO`);
      const wrong = applyOutcome(model, name, expected, control.tso, factsOf(this.server, name));
      if (wrong !== null) throw new SimFailure(step, `${change.kind}: ${wrong}`);
      journal.answer(() => `${step} = changed at ${control.tso}`);
    } catch (error) {
      if (this.isOver) return;
      if (!(error instanceof Error) || error instanceof SimFailure) throw error;
      journal.answer(() => `${step} ! ${error.name} ${error.message}`);
      if (error.name === expected) return;
      this.#checkFault(step, error);
      const control = this.entries.slice(seenBefore).find((entry) => entry.kind === 'control');
      if (control !== undefined)
        this.pendingChange = { step, table: name, change, tso: control.tso };
    } finally {
      if (!this.isOver && this.pendingChange === null) {
        turn.turn++;
        turn.changing = false;
      }
    }
  }

  /** The change that a crash now would leave undecided. */
  undecided: (ChangeRecord & { seenBefore: number }) | null = null;

  async #runChange(name: string, change: Change): Promise<void> {
    const { admin } = this.connection;
    this.undecided = {
      step: this.#parts.journal.step,
      table: name,
      change,
      seenBefore: this.entries.length,
    };
    try {
      await this.#callAdmin(admin, name, change);
    } finally {
      if (!this.isOver) this.undecided = null;
    }
  }

  #callAdmin(admin: EmbeddedConnection['admin'], name: string, change: Change): Promise<void> {
    switch (change.kind) {
      case 'create':
        return admin.createTable(change.spec);
      case 'alterTable':
        return admin.alterTable({ ...change.spec, name });
      case 'addFamily':
        return admin.addFamily(name, change.family);
      case 'modifyFamily':
        return admin.modifyFamily(name, change.family);
      case 'dropFamily':
        return admin.dropFamily(name, change.family);
      case 'disable':
        return admin.disableTable(name);
      case 'enable':
        return admin.enableTable(name);
      case 'truncate':
        return admin.truncateTable(name);
      case 'drop':
        return admin.dropTable(name);
    }
  }

  /** Ends the life: from now on nothing is recorded. */
  end(): { durable: bigint } {
    const durable = durableTso(this.server);
    this.isOver = true;
    if (this.undecided !== null && this.pendingChange === null) {
      const { seenBefore, ...record } = this.undecided;
      const control = this.entries.slice(seenBefore).find((entry) => entry.kind === 'control');
      if (control !== undefined) this.pendingChange = { ...record, tso: control.tso };
    }
    return { durable };
  }
}

export function mutationsOf(write: Write): readonly Mutation[] {
  return 'mutation' in write ? [write.mutation] : write.mutations;
}

function rowText(mutation: Mutation): string {
  if ('put' in mutation) return String(mutation.put);
  return 'delete' in mutation ? String(mutation.delete) : '';
}

function nonceKey({ group, nonce }: { group: bigint; nonce: bigint }): string {
  const hex = (part: bigint): string => BigInt.asUintN(64, part).toString(16).padStart(16, '0');
  return hex(group) + hex(nonce);
}

const resultText = (result: Result | null): string =>
  result === null ? 'null' : cellsText(result.cells.map(fromAnswer));

function checkPart(step: number, result: Result, options: ScanOptions): void {
  if (result.size !== result.cells.length)
    throw new SimFailure(step, 'size is not the count of cells');
  const batch = options.batch ?? Infinity;
  if (result.size > batch)
    throw new SimFailure(step, `${result.size} cells in a batch of ${batch}`);
  if (result.partial && batch === Infinity)
    throw new SimFailure(step, 'a part of a row without batch');
}

/** What the engine knows of a table; null: there is none of this name. */
export function factsOf(server: RegionServer, name: string): TableFacts | null {
  const table = server.catalog.find(name);
  if (table === undefined) return null;
  return {
    id: table.id,
    familyIds: new Map(table.families.map(({ id, settings }) => [settings.name, id])),
  };
}
