/** How far the store's stamps go: what the oracle must not give again. */
import type { Manifest } from '../manifest/index.ts';

/** The greatest TSO in log and manifest. */
export function lastStamp(manifest: Manifest, logged: bigint): bigint {
  let last = logged;
  const raise = (tso: bigint | null): void => {
    if (tso !== null && tso > last) last = tso;
  };
  for (const table of manifest.all('table')) {
    raise(table.droppedTso);
    for (const version of table.schemas) raise(version.tso);
  }
  for (const region of manifest.all('region')) raise(region.removedTso);
  for (const file of manifest.all('file')) {
    raise(file.addedTso);
    raise(file.removedTso);
    raise(file.maxWriteNumber);
  }
  for (const namespace of manifest.all('namespace')) raise(namespace.createdTso);
  for (const dropped of manifest.all('droppedId')) raise(dropped.tso);
  for (const snapshot of manifest.all('snapshot')) raise(snapshot.tso);
  return last;
}
