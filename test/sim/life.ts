/**
 * One life of a store: opened on a simulated machine, used by clients at once, ended by whoever drives it. Records what
 * happens for the checker; its clients stop when it is over, wherever they are.
 */
import type { RegionServer } from '../../src/engine/region_server.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import type { Mutation, OperationOutcome, Result } from '../../src/model/index.ts';
import { cellsText, fromAnswer } from './cells.ts';
import { show } from './checker.ts';
import { SimFailure, type Intent } from './history.ts';
import { resultText } from './life_reads.ts';
import { ShelvingLife } from './life_shelf.ts';
import { appliedTso } from './observe.ts';
import { nonceOf, type Change, type Write } from './operations.ts';
import { applyOutcome, outcomeOf, type TableFacts } from './schema.ts';
/** The table that is made by clones, mostly. */
const CLONE = 'k';
/** Errors after which nobody knows whether the commit exists. */
const REFUSALS: ReadonlySet<string> = new Set([
  'TableNotFoundException',
  'TableNotEnabledException',
  'NoSuchColumnFamilyException',
  'DoNotRetryIOException',
  'IOException',
  'WrongRegionException',
  'RegionTooBusyException',
]);
export class Life extends ShelvingLife {
  start(): void {
    const { clients } = this.parts;
    for (let i = 0; i < clients; i++) this.clients.push(this.#guarded(() => this.#client()));
    this.clients.push(this.#guarded(() => this.#administrator()));
    this.clients.push(this.#guarded(() => this.maintain()));
  }

  /** A failure of a client ends the life. */
  async #guarded(run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (!this.isOver) this.failure ??= error instanceof Error ? error : new Error(String(error));
    }
  }
  // ---- Clients -----------------------------------------------------------------------------------------------------
  async #client(): Promise<void> {
    const { random, workload, env, retries, journal } = this.parts;
    while (this.isLive) {
      if (random.chance(0.5)) await env.timers.sleep(random.float() * 4);
      if (!this.isLive) return;
      journal.nextStep();
      const table = workload.pick(this.parts.tables);
      const retry = retries.length > 0 && random.chance(0.3) ? retries.shift() : undefined;
      const pick = random.int(100);
      if (retry !== undefined) await this.write(retry.table, retry.write);
      else if (pick < 58) await this.#writeSomehow(table, workload.write());
      else if (pick < 64) await this.#batch(table);
      else if (pick < 94) await this.read(table, this.withMoment(workload.read()));
      else if (pick < 97) await this.#stamp();
      else await this.#sync();
    }
  }

  /** Once, or, with a nonce, perhaps twice: at the same time or one after the other. */
  async #writeSomehow(table: string, write: Write): Promise<void> {
    const { random } = this.parts;
    const isRepeatable = nonceOf(mutationsOf(write)) !== undefined;
    if (!isRepeatable || random.chance(0.7)) return this.write(table, write);
    if (random.chance(0.5)) {
      await Promise.all([this.write(table, write), this.write(table, write)]);
      return;
    }
    await this.write(table, write);
    if (this.isLive) await this.write(table, write);
  }

  /** Issues one write and records its answer. */
  async write(table: string, write: Write): Promise<void> {
    const { journal } = this.parts;
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
      called: this.instant(table),
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
    intent.answered = this.answered(intent.table);
    if (tso !== null) this.tell(tso, true);
    this.parts.journal.answer(() => `${intent.step} = ${tso} ${intent.answer}`);
  }

  #failed(intent: Intent, error: unknown): void {
    if (this.isOver) return;
    if (!(error instanceof Error)) throw new SimFailure(intent.step, `threw ${String(error)}`);
    intent.error = error;
    intent.answered = this.answered(intent.table);
    this.parts.journal.answer(() => `${intent.step} ! ${error.name} ${error.message}`);
    if (!REFUSALS.has(error.name)) {
      intent.state = 'unknown';
      // A repeat is answered by a read as of the first, which may be too long ago for a short retention.
      const isForgotten = error.name === 'SnapshotTooOld' && intent.nonce !== null;
      if (!isForgotten || !this.isShortlived) this.checkFault(intent.step, error);
      return;
    }
    intent.state = 'refused';
    this.#checkRefusalNow(intent, error);
  }

  /** Refusals that depend on more than data are judged at once; the rest is the checker's. */
  #checkRefusalNow(intent: Intent, error: Error): void {
    const { model } = this.parts;
    if (error.name === 'RegionTooBusyException') {
      intent.state = 'unknown';
      // It may have been given free since.
      const [, used, limit] = /holds (\d+) of (\d+) bytes/.exec(error.message) ?? [];
      if (Number(used) > Number(limit) / 2) return;
      throw new SimFailure(intent.step, `busy without need: ${error.message}`);
    }
    if (intent.called.isChanging || this.turn(intent.table).turn !== intent.called.schemaTurn)
      return;
    const table = model.find(intent.table);
    const isRight = ((): boolean => {
      switch (error.name) {
        case 'TableNotFoundException':
          return table === null;
        case 'TableNotEnabledException':
          return table !== null && !table.isEnabled;
        case 'WrongRegionException': {
          const now = this.instant(intent.table).borders;
          if (now?.join() !== intent.called.borders?.join()) return true;
          const regions = intent.mutations.map((one) => regionOf(now ?? [], rowText(one)));
          return intent.kind === 'mutateRows' && new Set(regions).size > 1;
        }
        default:
          return table !== null && table.isEnabled;
      }
    })();
    if (!isRight) throw new SimFailure(intent.step, `${intent.kind} was refused: ${error.message}`);
    // Only what was refused for data or families is left to judge.
    const onData = ['DoNotRetryIOException', 'IOException', 'NoSuchColumnFamilyException'];
    if (!onData.includes(error.name)) {
      intent.state = 'unknown';
    }
  }
  async #batch(table: string): Promise<void> {
    const { workload, journal, server } = this.parts;
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
        return this.recordRead(step, table, read, false);
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
      } else if (outcome.ok) this.wasRead(record, [resultText(outcome.result)]);
      else this.readFailed(record, outcome.error);
    }
  }

  async #stamp(): Promise<void> {
    const { told, journal } = this.parts;
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
      this.tell(tso, false);
    } catch (error) {
      if (this.isOver || error instanceof SimFailure) throw error;
      if (error instanceof Error) this.checkFault(step, error);
    }
  }

  async #sync(): Promise<void> {
    const { journal } = this.parts;
    const { step } = journal;
    const applied = appliedTso(this.server);
    journal.note(() => `${step} sync`);
    try {
      await this.connection.sync();
      if (this.isOver) return;
      journal.answer(() => `${step} = synced`);
      if (applied > this.syncedTo) this.syncedTo = applied;
    } catch (error) {
      if (error instanceof Error && !this.isOver) this.checkFault(step, error);
    }
  }
  // ---- Changes of schema -------------------------------------------------------------------------------------------

  /** One at a time, so that the outcome of at most one is unknown after a crash. */
  async #administrator(): Promise<void> {
    const { random, workload, env, tables, model, journal, changes } = this.parts;
    while (this.isLive && this.pendingChange === null) {
      for (const name of tables) {
        if (!this.isLive) return;
        const table = model.find(name);
        const shelved = this.parts.shelf.all().filter(({ tables: { length } }) => length === 1);
        const ofName = shelved.filter(({ tables: [one] }) => one!.name === name);
        if (table !== null && random.chance(0.05 + changes)) await this.shelve(table);
        if (!this.isLive) return;
        if (table === null && name === CLONE && shelved.length === 0) continue;
        if (shelved.length > 0 && table === null && random.chance(0.8)) {
          journal.nextStep();
          await this.change(name, { kind: 'clone', snapshot: workload.pick(shelved).name });
        } else if (ofName.length > 0 && random.chance(table?.isEnabled === true ? 0.01 : 0.3)) {
          journal.nextStep();
          await this.change(name, { kind: 'restore', snapshot: workload.pick(ofName).name });
        } else if (table === null) {
          journal.nextStep();
          await this.change(name, workload.create(name));
        } else if (!table.isEnabled || random.chance(changes)) {
          journal.nextStep();
          const families = table.current.families.map(({ rules }) => rules.name);
          const isToGo = name === CLONE && random.chance(0.5);
          const change = workload.change(families, table.isEnabled);
          await this.change(
            name,
            isToGo ? { kind: table.isEnabled ? 'disable' : 'drop' } : change,
          );
        }
        if (this.pendingChange !== null) return;
      }
      await env.timers.sleep(1 + random.float() * 10);
    }
  }

  async change(name: string, change: Change): Promise<void> {
    const { model, journal } = this.parts;
    const { step } = journal;
    const table = model.find(name);
    const expected = outcomeOf(table, change, this.parts.shelf);
    const turn = this.turn(name);
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
      const control = this.changeSince(seenBefore);
      if (control === undefined) throw new SimFailure(step, `${change.kind} took no TSO`);
      const wrong = applyOutcome(model, name, expected, control.tso, factsOf(this.server, name));
      if (wrong !== null) throw new SimFailure(step, `${change.kind}: ${wrong}`);
      journal.count(`change ${change.kind}`);
      journal.answer(() => `${step} = changed at ${control.tso}`);
    } catch (error) {
      if (this.isOver) return;
      if (!(error instanceof Error) || error instanceof SimFailure) throw error;
      journal.answer(() => `${step} ! ${error.name} ${error.message}`);
      if (error.name === expected) return;
      this.checkFault(step, error);
      const control = this.changeSince(seenBefore);
      if (control !== undefined)
        this.pendingChange = { step, table: name, change, tso: control.tso };
    } finally {
      if (!this.isOver && this.pendingChange === null) {
        turn.turn++;
        turn.changing = false;
      }
    }
  }
  async #runChange(name: string, change: Change): Promise<void> {
    const { admin } = this.connection;
    this.undecided = {
      step: this.parts.journal.step,
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
      case 'clone':
        return admin.cloneSnapshot(change.snapshot, name);
      case 'restore':
        return admin.restoreSnapshot(change.snapshot);
    }
  }
}

export function mutationsOf(write: Write): readonly Mutation[] {
  return 'mutation' in write ? [write.mutation] : write.mutations;
}

/** Index of the region that holds the row, by the start keys. */
const regionOf = (borders: readonly string[], row: string): number =>
  borders.filter((key) => row >= key).length;

function rowText(mutation: Mutation): string {
  if ('put' in mutation) return String(mutation.put);
  return 'delete' in mutation ? String(mutation.delete) : '';
}

function nonceKey({ group, nonce }: { group: bigint; nonce: bigint }): string {
  const hex = (part: bigint): string => BigInt.asUintN(64, part).toString(16).padStart(16, '0');
  return hex(group) + hex(nonce);
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
