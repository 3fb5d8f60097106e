/** What `connection.regions` tells of regions. */
import { regionName } from '../manifest/index.ts';
import type { Manifest } from '../manifest/index.ts';
import type { RegionDescription } from '../model/index.ts';
import type { Region } from '../region/index.ts';
import type { TableState } from './table_state.ts';

/** The regions of a table in the order of their rows. */
export function describeRegions(manifest: Manifest, table: TableState): RegionDescription[] {
  return table.regions.map((region) => describeRegion(manifest, table, region));
}

function describeRegion(manifest: Manifest, table: TableState, region: Region): RegionDescription {
  const { startKey, endKey, encodedName } = region;
  const record = manifest.get('region', region.id);
  const regionIdMs = record?.regionIdMs ?? 0;
  const files = region.stores.flatMap((store) => store.files);
  const history = region.stores.flatMap((store) => store.history);
  const bytes = (sizes: readonly number[]): number => sizes.reduce((sum, size) => sum + size, 0);
  return {
    table: table.name,
    encodedName,
    name: Buffer.from(regionName({ table: table.name, startKey, regionIdMs })),
    startKey: Uint8Array.from(startKey),
    endKey: Uint8Array.from(endKey),
    storeFiles: files.length,
    storeFileBytes: bytes(files.map(({ info }) => info.sizeBytes)),
    storeFileCells: bytes(files.map(({ info }) => info.cellCount)),
    references: files.filter(({ info }) => info.isReference).length,
    historyFiles: history.length,
    historyBytes: bytes(history.map(({ file }) => file.info.sizeBytes)),
    memstoreCells: region.memstoreCells,
    memstoreHeapBytes: region.memstoreHeapBytes,
    readRequests: region.readRequests,
    writeRequests: region.writeRequests,
  };
}
