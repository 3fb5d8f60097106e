/**
 * Bringing a store back between tests: to nothing, or to what it held when a fixture was named. A fixture is a snapshot of all
 * tables, so nothing is copied, and naming it or returning to it takes milliseconds.
 */
import { IllegalArgumentException } from '../model/index.ts';
import type { Connection } from '../model/index.ts';

const RESERVED: ReadonlySet<string> = new Set(['default', 'hbase']);

interface Fixture {
  /** Null when there was no table. */
  readonly snapshot: string | null;
  readonly tables: readonly string[];
  readonly disabled: ReadonlySet<string>;
  readonly namespaces: readonly string[];
}

/** Not safe against others who create or drop tables meanwhile. */
export class Fixtures {
  readonly #connection: Connection;
  readonly #byName = new Map<string, Fixture>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Names what the store holds now; the name may be used again. */
  async keep(name: string): Promise<void> {
    const { admin } = this.#connection;
    const old = this.#byName.get(name);
    if (old !== undefined && old.snapshot !== null) await admin.deleteSnapshot(old.snapshot);
    const tables = await admin.listTables();
    const snapshot = tables.length === 0 ? null : `fixture.${name}`;
    if (snapshot !== null) await admin.snapshot(snapshot, tables);
    const disabled = new Set<string>();
    for (const table of tables) if (!(await admin.isEnabled(table))) disabled.add(table);
    const namespaces = await admin.listNamespaces();
    this.#byName.set(name, { snapshot, tables, disabled, namespaces });
  }

  /** Returns to the fixture or, without a name, to an empty store: then fixtures and snapshots go, too. */
  async reset(name?: string): Promise<void> {
    if (name === undefined) return this.#empty();
    const fixture = this.#byName.get(name);
    if (fixture === undefined) {
      throw new IllegalArgumentException(`there is no fixture '${name}': name it by keepFixture`);
    }
    const { admin } = this.#connection;
    const kept = new Set(fixture.tables);
    for (const table of await admin.listTables()) {
      await this.#disable(table);
      if (!kept.has(table)) await admin.dropTable(table);
    }
    for (const namespace of fixture.namespaces) {
      if ((await admin.listNamespaces()).includes(namespace)) continue;
      await admin.createNamespace(namespace);
    }
    if (fixture.snapshot !== null) await admin.restoreSnapshot(fixture.snapshot);
    for (const table of fixture.tables) {
      const isEnabled = await admin.isEnabled(table);
      if (fixture.disabled.has(table)) await this.#disable(table);
      else if (!isEnabled) await admin.enableTable(table);
    }
    await this.#dropNamespaces(new Set(fixture.namespaces));
  }

  async #empty(): Promise<void> {
    const { admin } = this.#connection;
    for (const table of await admin.listTables()) {
      await this.#disable(table);
      await admin.dropTable(table);
    }
    for (const { name } of await admin.listSnapshots()) await admin.deleteSnapshot(name);
    this.#byName.clear();
    await this.#dropNamespaces(RESERVED);
  }

  async #disable(table: string): Promise<void> {
    const { admin } = this.#connection;
    if (await admin.isEnabled(table)) await admin.disableTable(table);
  }

  async #dropNamespaces(kept: ReadonlySet<string>): Promise<void> {
    const { admin } = this.#connection;
    for (const name of await admin.listNamespaces()) {
      if (!kept.has(name) && !RESERVED.has(name)) await admin.dropNamespace(name);
    }
  }
}
