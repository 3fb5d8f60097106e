/** What an opening has found, held against what the life before had done. */
import type { RegionServer } from '../../src/engine/region_server.ts';
import { cellsText } from './cells.ts';
import { floorsPut, type FileEvent } from './file_watch.ts';
import { SimFailure } from './history.ts';
import type { Life } from './life.ts';
import type { Model } from './model.ts';
import type { Commit, Entry } from './observe.ts';

/** A log as an opening has left it, and what must be in it. */
export interface FoundLog {
  readonly log: readonly Entry[];
  readonly server: RegionServer;
  readonly model: Model;
  /** What was logged, by TSO. */
  readonly logged: ReadonlyMap<bigint, Entry>;
  /** Every logged commit up to here was promised to be there. */
  readonly promised: bigint;
  readonly step: number;
}

/**
 * The log holds the commits that were made up to some TSO, all of them and nothing else. Gives that TSO; throws SimFailure.
 */
export function checkLog({ log, server, model, logged, promised, step }: FoundLog): bigint {
  const found = new Set<bigint>();
  for (const entry of log) {
    found.add(entry.tso);
    const known = logged.get(entry.tso);
    if (known === undefined)
      throw new SimFailure(step, `the log has ${entry.tso}, which nobody wrote`);
    const [is, was] = [entryText(entry), entryText(known)];
    if (is !== was) throw new SimFailure(step, `the log has\n  ${is}\nfor\n  ${was}`);
    if (entry.kind === 'commit') checkFamilies(model, entry, step);
  }
  let last = log.at(-1)?.tso ?? 0n;
  for (const { tso } of server.manifest.all('flushed')) last = tso > last ? tso : last;
  const first = log[0]?.tso ?? last + 1n;
  for (const [tso, entry] of logged) {
    if (found.has(tso) || tso < first) continue;
    if (tso < last) throw new SimFailure(step, `the log has a hole: ${entryText(entry)}`);
    if (tso <= promised) {
      throw new SimFailure(step, `lost, though promised up to ${promised}: ${entryText(entry)}`);
    }
  }
  return last;
}

function checkFamilies(model: Model, entry: Commit, step: number): void {
  const table = model.tables.get(entry.tableId);
  const families = table?.versionAt(entry.tso).families ?? [];
  for (const [i, cell] of entry.cells.entries()) {
    const family = families.find(({ rules }) => rules.name === cell.family);
    if (family !== undefined && family.id === entry.familyIds![i]) continue;
    throw new SimFailure(
      step,
      `commit ${entry.tso} logs ${cell.family} as family ${entry.familyIds![i]}, not ${family?.id}`,
    );
  }
}

/** The manifest's last record may be taken for one that a power cut tore: no later one says that it was whole. */
export function vouchedBytes(path: string, bytes: Uint8Array): number {
  return path.includes('MANIFEST-') ? Buffer.from(bytes).lastIndexOf('MREC') : bytes.length;
}

/** Whether the manifest has made a change that was under way. */
export function isMade({ manifest }: RegionServer, { edits }: FileEvent): boolean {
  const puts = edits.flatMap((edit) => {
    if (!('record' in edit)) return [];
    if (edit.collection === 'file' || edit.collection === 'region') {
      return [manifest.get(edit.collection, edit.record.id) !== undefined];
    }
    return edit.collection === 'snapshot'
      ? [manifest.get('snapshot', edit.record.name) !== undefined]
      : [];
  });
  if (puts.length > 0) return puts.includes(true);
  const floors = floorsPut(edits);
  if (floors.length > 0) {
    return floors.every(
      ({ name, tso }) => BigInt(manifest.get('setting', name)?.value ?? 0) >= tso,
    );
  }
  return edits.some(
    (edit) =>
      'key' in edit &&
      ((edit.collection === 'file' && manifest.get('file', edit.key) === undefined) ||
        (edit.collection === 'snapshot' && manifest.get('snapshot', edit.key) === undefined)),
  );
}

export const isLogged = (entry: Entry): boolean => entry.kind === 'control' || entry.durability > 1;

function entryText(entry: Entry): string {
  if (entry.kind === 'control') return `${entry.tso} control ${entry.what}`;
  const { tso, tableId, durability, nonce, cells } = entry;
  return `${tso} table ${tableId} durability ${durability} nonce ${nonce} ${cellsText(cells)}`;
}

/** Whether the manifest has the change made at `tso`. */
export function isDone(
  server: RegionServer,
  name: string,
  before: { readonly id: number; readonly isEnabled: boolean } | null,
  facts: { readonly id: number } | null,
  tso: bigint,
): boolean {
  if (before === null || facts === null || before.id !== facts.id) return before?.id !== facts?.id;
  const schemas = server.manifest.get('table', facts.id)?.schemas ?? [];
  return schemas.at(-1)?.tso === tso || server.catalog.get(name).enabled !== before.isEnabled;
}

/**
 * The log has failed in this life: a failed sync may have taken what the page cache held of earlier writes, so that what
 * was only handed to the system may be gone although the machine stayed up.
 */
export function hasLostSync(life: Life): boolean {
  return life.server.log?.failure != null;
}
