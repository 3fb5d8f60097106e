/** Reads everything that a store holds after an opening, as it is and as it was, and compares it with the model. */
import type { RegionServer } from '../../src/engine/region_server.ts';
import { EmbeddedConnection } from '../../src/engine/index.ts';
import type { SeededRandom } from '../../src/io/index.ts';
import type { Scanner } from '../../src/model/index.ts';
import { cellsText, fromAnswer } from './cells.ts';
import { expectedRows, explain, physicalMs } from './checker.ts';
import { SimFailure } from './history.ts';
import type { Journal } from './journal.ts';
import type { Ledger } from './ledger.ts';
import type { Model, ModelTable } from './model.ts';
import type { PinBook } from './pins.ts';

export interface AuditParts {
  readonly model: Model;
  readonly ledger: Ledger;
  readonly pins: PinBook;
  readonly journal: Journal;
  readonly random: SeededRandom;
  readonly tables: readonly string[];
  /** Stamps of any life so far. */
  readonly moments: readonly bigint[];
}

export class Audit {
  readonly #parts: AuditParts;

  constructor(parts: AuditParts) {
    this.#parts = parts;
  }

  /** Every table as the model has it, and every cell of it; then the past. Throws SimFailure. */
  async run(server: RegionServer, clockMaxMs: number): Promise<void> {
    const { model, journal } = this.#parts;
    const names = [...server.catalog.tables()].map(({ name }) => name).sort();
    const expected = model
      .live()
      .map(({ name }) => name)
      .sort();
    if (names.join() !== expected.join()) {
      const what = `tables ${names.join()} after opening, not ${expected.join()}`;
      throw new SimFailure(journal.step, what);
    }
    const connection = new EmbeddedConnection(server);
    for (const table of model.live()) await this.#now(server, connection, table);
    await this.#past(server, connection, clockMaxMs);
  }

  async #now(
    server: RegionServer,
    connection: EmbeddedConnection,
    table: ModelTable,
  ): Promise<void> {
    const { step } = this.#parts.journal;
    const { enabled, settings } = server.catalog.get(table.name);
    if (enabled !== table.isEnabled)
      throw new SimFailure(step, `${table.name}: enabled is ${enabled}`);
    if (settings.durability !== table.current.durability) {
      throw new SimFailure(step, `${table.name} has durability ${settings.durability}`);
    }
    if (!enabled) return;
    for (const options of [{ raw: true, versions: 1_000_000 }, { versions: 1_000_000 }, {}]) {
      const moment = { tso: 1n << 62n, nowMs: server.reads.clock.followedMs() };
      const read = { read: { kind: 'scan' as const, options } };
      const wanted = expectedRows(table, table.current, read, moment);
      const rows = await rowsOf(connection.table(table.name).scan(options));
      this.#compare(`${JSON.stringify(options)} of ${table.name}`, table, rows, wanted);
    }
  }

  /** Every table as of some moments, of lives before perhaps. */
  async #past(
    server: RegionServer,
    connection: EmbeddedConnection,
    clockMaxMs: number,
  ): Promise<void> {
    const { random, pins, moments, tables, model, journal } = this.#parts;
    const pinned = pins.named.map(({ tso }) => tso);
    const known = [...moments, ...pinned];
    if (known.length === 0) return;
    const recent = known.slice(-12);
    const tsos = [known, recent, recent].map((list) => list[random.int(list.length)]!);
    for (const tso of new Set([...tsos, ...pinned.slice(-2)])) {
      for (const name of tables) {
        const table = model.at(name, tso);
        const version = table?.versions.findLast((one) => one.tso <= tso);
        const options = { versions: 1_000_000, asOf: tso };
        const rows = await rowsOf(connection.table(name).scan(options)).catch((error: unknown) =>
          this.#refused(server, { table, tso, clockMaxMs, error }),
        );
        if (rows === null) continue;
        if (table === null || version === undefined) {
          throw new SimFailure(journal.step, `${name} is read as of ${tso}, when it was not`);
        }
        const moment = { tso, nowMs: physicalMs(tso) };
        const wanted = expectedRows(table, version, { read: { kind: 'scan', options } }, moment);
        journal.count('tables audited as of');
        this.#compare(`${name} as of ${tso}`, table, rows, wanted);
        const row = workloadRow(table, random);
        const cells = table.read(version, row, options, moment);
        const got = await connection.table(name).get(row, options);
        const is = got === null ? 'null' : cellsText(got.cells.map(fromAnswer));
        this.#compare(`row ${row} of ${name} as of ${tso}`, table, [is], [cellsText(cells)]);
      }
    }
  }

  /** Null for a refusal that is in order; throws any other. */
  #refused(
    server: RegionServer,
    read: { table: ModelTable | null; tso: bigint; clockMaxMs: number; error: unknown },
  ): null {
    const { table, tso, clockMaxMs, error } = read;
    const { pins, ledger, model } = this.#parts;
    const name = error instanceof Error ? error.name : '';
    const { historyRetentionMs } = server.settings;
    const promised = BigInt(Math.max(0, server.oracle.physicalMs - historyRetentionMs)) << 18n;
    const isForgotten = tso < promised || tso < ledger.floorOf(table?.id ?? null);
    if (name === 'TableNotFoundException' && table === null) return null;
    const live = table === null ? null : model.find(table.name);
    if (name === 'TableNotEnabledException' && live?.isEnabled === false) return null;
    if (name === 'SnapshotTooOld' && isForgotten && !pins.keeps(tso, clockMaxMs)) return null;
    throw error;
  }

  #compare(
    what: string,
    table: ModelTable,
    rows: readonly string[],
    wanted: readonly string[],
  ): void {
    if (rows.join('\n') === wanted.join('\n')) return;
    const at = rows.findIndex((row, i) => row !== wanted[i]);
    const where = at < 0 ? rows.length : at;
    throw new SimFailure(
      this.#parts.journal.step,
      `after opening, ${what} has\n  ${rows[where]}\nnot\n  ${wanted[where]}\n${explain(table, table.current, rows, wanted)}`,
    );
  }
}

/** Any row that was ever written. */
function workloadRow(table: ModelTable, random: SeededRandom): string {
  const rows = table.rows();
  return rows[random.int(Math.max(1, rows.length))] ?? 'a';
}

async function rowsOf(scanner: Scanner): Promise<string[]> {
  const rows: string[] = [];
  for (;;) {
    const batch = await scanner.nextBatch();
    if (batch.length === 0) return rows;
    for (const result of batch) rows.push(cellsText(result.cells.map(fromAnswer)));
  }
}
