/** Snapshots of tables and bulk loads, asked for by the one administrator. */
import { show } from './checker.ts';
import { SimFailure } from './history.ts';
import { MaintainedLife } from './life_maintenance.ts';
import { writeLoad } from './load_files.ts';
import type { LoadCell } from './file_watch.ts';
import type { ModelTable } from './model.ts';
import type { Shelved } from './shelf.ts';

/** Work on tables that is no change of schema. */
export type Shelving =
  | { readonly kind: 'snapshot'; readonly name: string; readonly tables: readonly string[] }
  | { readonly kind: 'deleteSnapshot'; readonly name: string }
  | {
      readonly kind: 'load';
      readonly table: string;
      readonly cells: readonly LoadCell[];
      readonly move: boolean;
    };

export class ShelvingLife extends MaintainedLife {
  /** Draws and does one such piece of work. */
  async shelve(table: ModelTable): Promise<void> {
    const { random, workload, shelf, journal } = this.parts;
    journal.nextStep();
    const { step } = journal;
    const pick = random.int(10);
    const shelved = shelf.all();
    const work = ((): Shelving => {
      if (pick < 5) {
        const families = table.current.families.map(({ rules }) => rules.name);
        return { kind: 'load', table: table.name, ...workload.load(families) };
      }
      if (pick < 7 && shelved.length > 2) {
        return { kind: 'deleteSnapshot', name: workload.pick(shelved).name };
      }
      const others = random.chance(0.25) ? this.parts.model.live().map(({ name }) => name) : [];
      return { kind: 'snapshot', name: workload.snapshotName(), tables: [table.name, ...others] };
    })();
    journal.note(() => `${step} ${show(work)}`);
    const expected = this.#refusal(work);
    try {
      await this.#perform(step, work);
      if (this.isOver) return;
      if (expected !== null) throw new SimFailure(step, `${work.kind} was done, not ${expected}`);
      journal.count(`shelf ${work.kind}`);
      journal.answer(() => `${step} = ${work.kind}`);
    } catch (error) {
      if (this.isOver) return;
      if (!(error instanceof Error) || error instanceof SimFailure) throw error;
      journal.answer(() => `${step} ! ${error.name} ${error.message}`);
      const isRegionMoved =
        work.kind === 'load' && / was changed while files were /.test(error.message);
      if (error.name !== expected && !isRegionMoved) this.checkFault(step, error);
    } finally {
      this.parts.watch.load = null;
    }
  }

  /** Why the work must be refused, as the model has it; null: it must not. */
  #refusal(work: Shelving): string | null {
    const { model, shelf } = this.parts;
    switch (work.kind) {
      case 'snapshot':
        if (shelf.get(work.name) !== undefined) return 'SnapshotExistsException';
        return work.tables.some((name) => model.find(name) === null)
          ? 'TableNotFoundException'
          : null;
      case 'deleteSnapshot':
        return null;
      case 'load':
        return model.find(work.table)?.isEnabled === true ? null : 'TableNotEnabledException';
    }
  }

  async #perform(step: number, work: Shelving): Promise<void> {
    const { shelf } = this.parts;
    const { admin } = this.connection;
    switch (work.kind) {
      case 'snapshot': {
        const made = this.#shelved(work.name, work.tables);
        const isNew = shelf.get(work.name) === undefined;
        if (isNew) shelf.unsure.set(work.name, made);
        await admin.snapshot(work.name, work.tables);
        if (this.isOver) return;
        shelf.made(made);
        shelf.unsure.delete(work.name);
        return;
      }
      case 'deleteSnapshot':
        shelf.unsure.set(work.name, shelf.get(work.name)!);
        await admin.deleteSnapshot(work.name);
        if (this.isOver) return;
        shelf.gone(work.name);
        shelf.unsure.delete(work.name);
        return;
      case 'load':
        return this.#load(step, work);
    }
  }

  #shelved(name: string, tables: readonly string[]): Shelved {
    const { model } = this.parts;
    const known = [...new Set(tables)].flatMap((table) => model.find(table) ?? []);
    return {
      name,
      tables: known.map((table) => ({
        name: table.name,
        families: table.current.families.map(({ rules }) => rules),
        durability: table.current.durability,
      })),
    };
  }

  async #load(step: number, work: Extract<Shelving, { kind: 'load' }>): Promise<void> {
    const { env, watch } = this.parts;
    const dir = `disk/load/${step}`;
    await writeLoad(env, dir, work.cells);
    watch.load = work.cells;
    const result = await this.connection.admin.bulkLoad(work.table, dir, { move: work.move });
    if (this.isOver) return;
    if (result.tso === null || result.cells !== work.cells.length) {
      throw new SimFailure(step, `${result.cells} cells loaded, not ${work.cells.length}`);
    }
    this.tell(result.tso, true);
  }
}
