/** Exports, imports, backups, restores and forks of an open store, on its connection. */
import {
  createBackup,
  exportTables,
  forkStore,
  importTables,
  managerOf,
  restoreIntoServer,
  summaryOf,
} from '../backup/index.ts';
import type {
  BackupOptions,
  BackupSummary,
  ExportManifest,
  ExportOptions,
  ForkOptions,
  ForkReport,
  ImportOptions,
  ImportedTable,
  RestoreOptions,
  RestoreReport,
} from '../backup/index.ts';
import type { EmbeddedConnection } from '../engine/index.ts';

/** Writers go on under all of these. What fails or is stopped leaves nothing half done. */
export class Backups {
  readonly #connection: EmbeddedConnection;

  constructor(connection: EmbeddedConnection) {
    this.#connection = connection;
  }

  /** Writes tables, all as of one moment, into the folder `out`; null: all tables. */
  export(
    tables: readonly string[] | null,
    out: string,
    options: ExportOptions = {},
  ): Promise<ExportManifest> {
    const connection = this.#connection;
    const { server } = connection;
    return server.track(() => exportTables(connection, server.env, tables, out, options));
  }

  /** Brings an export, ours or HBase's, back into tables. */
  import(dir: string, options: ImportOptions = {}): Promise<ImportedTable[]> {
    const connection = this.#connection;
    const { server } = connection;
    return server.track(() => importTables(connection, server.env, dir, options));
  }

  /** Takes a full or incremental backup into the folder `dest`. */
  create(dest: string, options: BackupOptions = {}): Promise<BackupSummary> {
    const { server } = this.#connection;
    return server.track(async () => summaryOf(await createBackup(server, dest, options)));
  }

  /** Brings tables of backups, as of any moment that they cover, into this store. */
  restore(dest: string, options: RestoreOptions = {}): Promise<RestoreReport> {
    const { server } = this.#connection;
    const manager = managerOf(this.#connection);
    return server.track(() => restoreIntoServer(server, dest, options, manager));
  }

  /** Makes a writable copy in `dir`, in a time that does not depend on how much the store holds. */
  fork(dir: string, options: ForkOptions = {}): Promise<ForkReport> {
    const { server } = this.#connection;
    return server.track(() => forkStore(server, dir, options));
  }
}
