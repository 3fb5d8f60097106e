/** What keeps a store in shape while it is used: flushes, compactions, passes over the history, splits and merges, pins. */
import { show } from './checker.ts';
import { SimFailure } from './history.ts';
import { ReadingLife } from './life_reads.ts';
import { appliedTso } from './observe.ts';
import type { Pin } from './pins.ts';
import type { Maintenance } from './maintenance.ts';

const HOUR_MS = 3_600_000;

/** Refusals that need no fault: the table, region or snapshot is not there, or is not as it would have to be. */
const REFUSALS: ReadonlySet<string> = new Set([
  'TableNotFoundException',
  'TableNotEnabledException',
  'DoNotRetryIOException',
  'UnknownRegionException',
  'RegionTooBusyException',
]);

/** A row of the table: the bank has others. */
const rowOf = (table: string, row: string): string =>
  table === 'bank' ? `${row.toUpperCase()}1` : row;

export class MaintainedLife extends ReadingLife {
  async maintain(): Promise<void> {
    const { random, env, journal, workload, maintenanceMs } = this.parts;
    while (this.isLive) {
      await env.timers.sleep(random.float() * 2 * maintenanceMs);
      if (!this.isLive) return;
      journal.nextStep();
      const table = workload.pick(this.parts.maintained);
      // Some work goes on beside what comes next.
      const work = this.#run(table, workload.maintenance());
      if (random.chance(0.7)) await work;
      else work.catch((error: unknown) => this.#failed(error));
    }
  }

  #failed(error: unknown): void {
    if (!this.isOver) this.failure ??= error instanceof Error ? error : new Error(String(error));
  }

  async #run(table: string, work: Maintenance): Promise<void> {
    const { journal } = this.parts;
    const { step } = journal;
    journal.note(() => `${step} ${table} ${show(work)}`);
    try {
      await this.#perform(step, table, work);
      if (this.isOver) return;
      journal.count(`maintenance ${work.kind}`);
      journal.answer(() => `${step} = ${work.kind}`);
    } catch (error) {
      if (this.isOver) return;
      if (!(error instanceof Error) || error instanceof SimFailure) throw error;
      journal.answer(() => `${step} ! ${error.name} ${error.message}`);
      if (!REFUSALS.has(error.name)) this.checkFault(step, error);
    }
  }

  async #perform(step: number, table: string, work: Maintenance): Promise<void> {
    const { admin } = this.connection;
    switch (work.kind) {
      case 'flush':
        return this.#flush(step, table);
      case 'compact':
        return admin.compact(table, { major: work.major });
      case 'history':
        return this.server.background.history.run();
      case 'split':
        return admin.split(table, ...(work.row === null ? [] : [rowOf(table, work.row)]));
      case 'merge':
        return this.#merge(table, work.index);
      case 'normalize':
        await admin.normalize(table);
        return;
      case 'switch':
        await admin.setSwitch(work.name, work.on);
        return;
      case 'pin':
        return this.#pin(step, work.name);
      case 'release':
        return this.#release(work.index);
    }
  }

  /** Whoever asked for a flush finds everything in files that was applied when it asked. */
  async #flush(step: number, table: string): Promise<void> {
    const { catalog } = this.server;
    const id = catalog.find(table)?.id;
    const tso = appliedTso(this.server);
    await this.connection.admin.flush(table);
    if (this.isOver || id === undefined || catalog.find(table)?.id !== id) return;
    this.parts.watch.claimFlushed(id, tso, step);
  }

  async #merge(table: string, index: number): Promise<void> {
    const regions = await this.connection.regions(table);
    const at = index % regions.length;
    const [one, other] = [regions[at]!, regions[at + 1]];
    if (other === undefined) return;
    await this.connection.admin.mergeRegions(table, one.encodedName, other.encodedName);
  }

  async #pin(step: number, name: string | null): Promise<void> {
    const { pins, env, told, journal } = this.parts;
    const before = told.told;
    if (name !== null) pins.unsure.add(name);
    const handle = await this.connection.snapshot(name === null ? {} : { name });
    if (this.isOver) return;
    const { tso } = handle;
    if (tso <= before) throw new SimFailure(step, `a pin at ${tso}, not above ${before}`);
    this.tell(tso, false);
    journal.answer(() => `${step} = pinned ${tso}`);
    const untilMs = name === null ? env.clock.nowMs() + HOUR_MS : Infinity;
    pins.add({ name, tso, untilMs, handle });
    if (name !== null) pins.unsure.delete(name);
  }

  async #release(index: number): Promise<void> {
    const { pins } = this.parts;
    const live = pins.live(0);
    if (live.length === 0) return;
    const pin: Pin = live[index % live.length]!;
    pins.release(pin);
    if (pin.name !== null) pins.unsure.add(pin.name);
    if (pin.handle !== null && pin.name === null) await pin.handle.release();
    else if (pin.name !== null) await this.connection.releasePin(pin.name);
    if (!this.isOver && pin.name !== null) pins.unsure.delete(pin.name);
  }
}
