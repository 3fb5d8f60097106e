/**
 * One life of a store: opened on a simulated machine, used by clients at once, ended by whoever drives it. Records what
 * happens for the checker; its clients stop when it is over, wherever they are.
 */
import type { RegionServer } from '../../src/engine/region_server.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { show } from './checker.ts';
import { SimFailure } from './history.ts';
import { BANK, BANK_TABLE, BankingLife } from './life_bank.ts';
import { mutationsOf } from './life_writes.ts';
import { appliedTso } from './observe.ts';
import { nonceOf, type Change, type Write } from './operations.ts';
import { applyOutcome, outcomeOf, type TableFacts } from './schema.ts';
/** The table that is made by clones, mostly. */
const CLONE = 'k';

export class Life extends BankingLife {
  start(): void {
    const { clients } = this.parts;
    for (let i = 0; i < clients; i++) this.clients.push(this.#guarded(() => this.#client()));
    this.clients.push(this.#guarded(() => this.#administrator()));
    for (let i = 0; i < 2; i++) this.clients.push(this.#guarded(() => this.maintain()));
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
      else if (pick < 64) await this.batch(table);
      else if (pick < 90) await this.read(table, this.withMoment(workload.read()));
      else if (pick < 95) await this.bank();
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
      if (model.find(BANK) === null) {
        journal.nextStep();
        await this.change(BANK, { kind: 'create', spec: BANK_TABLE, splits: [] });
        // It may be refused at once, again and again: time must go on.
        if (model.find(BANK) === null) await env.timers.sleep(1);
        continue;
      }
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
          await this.change(name, isToGo ? { kind: table.isEnabled ? 'disable' : 'drop' } : change);
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

/** What the engine knows of a table; null: there is none of this name. */
export function factsOf(server: RegionServer, name: string): TableFacts | null {
  const table = server.catalog.find(name);
  if (table === undefined) return null;
  return {
    id: table.id,
    familyIds: new Map(table.families.map(({ id, settings }) => [settings.name, id])),
  };
}
