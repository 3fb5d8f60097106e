/**
 * Forks a store: a writable copy as of now in a new folder, in a time that does not depend on how much it holds. What is in
 * memory is flushed; store files, which never change, are linked where the file system can, and copied where not. The copy is a
 * store of its own: new ids, no past, no snapshots, no backups.
 */
import { captureTables, joinHalves } from '../engine/index.ts';
import type { Capture, Logger, RegionServer } from '../engine/index.ts';
import { IoException } from '../io/index.ts';
import { SYSTEM_NAMESPACE, parseTableName } from '../model/index.ts';
import type { BackedFile, BackedRecord, Backup } from './backup_format.ts';
import { ledgerNames, preparedAsOf, splitLedger, stagedRecords } from './backup_transactions.ts';
import { buildStore, restoreFrom, withManager } from './restore.ts';
import type { WorkOptions } from './work.ts';

export interface ForkOptions extends WorkOptions {
  /** Absent: all. */
  readonly tables?: readonly string[];
  readonly logger?: Logger;
  /** As of a restore. */
  readonly transactions?: 'restore' | 'leave';
}

export interface ForkReport {
  /** The commits up to here are in the fork. */
  readonly tso: bigint;
  readonly tables: readonly string[];
  readonly files: number;
  /** Transactions that are PREPARED in the fork, too: each store decides for itself. */
  readonly prepared: number;
}

/** Forks an open store into `dir`, which must be absent or empty. Writers go on. Throws IoException. */
export async function forkStore(
  server: RegionServer,
  dir: string,
  options: ForkOptions = {},
): Promise<ForkReport> {
  const { env, catalog } = server;
  const stat = await env.fs.stat(dir);
  if (stat !== null && (!stat.isDirectory || (await env.fs.list(dir)).length > 0)) {
    throw new IoException(`${dir} is not empty`, dir);
  }
  const names =
    options.tables ??
    [...catalog.tables()]
      .map(({ name }) => name)
      .filter((name) => parseTableName(name).namespace !== SYSTEM_NAMESPACE);
  // The staged files of who aborts between the capture's moment and its switch stay for it.
  const { appliedHigh, appliedLow } = server.readPoint;
  const hold = server.archive.hold(joinHalves(appliedHigh, appliedLow), 'fork');
  try {
    const capture = await captureTables(server, () => [...names, ...ledgerNames(server)]);
    try {
      return await forkOf(server, dir, options, capture);
    } finally {
      await capture.release();
    }
  } finally {
    hold.release();
  }
}

async function forkOf(
  server: RegionServer,
  dir: string,
  options: ForkOptions,
  capture: Capture,
): Promise<ForkReport> {
  const { env, layout } = server;
  const { tso } = capture;
  const { own, ledger } = splitLedger(capture.tables);
  const prepared = ledger === null ? [] : await preparedAsOf(server, tso);
  const staged = stagedRecords(server, prepared, { from: tso, to: tso }, null);
  try {
    const records = capture.tables.flatMap(({ files }) =>
      files.map(({ record, isHistory }): BackedRecord => ({
        role: isHistory ? 'history' : 'live',
        record,
      })),
    );
    const state = stateOf(server, tso, [...records, ...staged.records], own);
    const [part] = state.parts;
    const whole = { ...state, parts: [{ ...part!, ...(ledger === null ? {} : { ledger }) }] };
    const report = await buildStore(env, dir, options, (fork) =>
      withManager(fork, (manager) =>
        restoreFrom({ server: fork, manager, isNew: true }, layout.dir, whole, {
          ...options,
          link: true,
        }),
      ),
    );
    const { tables, files, prepared: preparedCount } = report;
    return { tso, tables, files, prepared: preparedCount };
  } finally {
    await staged.release();
  }
}

/** The capture in the shape of a backup whose files lie in the data folder. */
function stateOf(
  server: RegionServer,
  tso: bigint,
  records: readonly BackedRecord[],
  tables: Backup['parts'][number]['catalog']['tables'],
): Backup {
  const files = new Map<string, BackedFile & { records: BackedRecord[] }>();
  for (const backed of records) {
    const { path, sizeBytes } = backed.record;
    const file = files.get(path) ?? { path, sizeBytes, crc32: '', records: [] };
    file.records.push(backed);
    files.set(path, file);
  }
  const catalog = { namespaces: [...server.manifest.all('namespace')], tables };
  return {
    format: '',
    version: 1,
    id: 'fork',
    kind: 'full',
    parentId: null,
    storeId: server.manifest.store.storeId,
    createdMs: server.env.clock.nowMs(),
    fromTso: 0n,
    toTso: tso,
    all: true,
    tables: tables.map(({ record }) => record.name),
    linked: true,
    replaces: [],
    parts: [
      {
        kind: 'base',
        fromTso: 0n,
        toTso: tso,
        catalog,
        files: [...files.values()],
        log: [],
        skipped: [],
      },
    ],
  };
}
