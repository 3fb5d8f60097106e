/**
 * What regions and the server hold and do, as cluster metrics tell it (messages/ClusterStatus.md).
 *
 *     RegionLoad   1 region_specifier, 2 stores, 3 storefiles, 4 store_uncompressed_size_MB, 5 storefile_size_MB,
 *                  6 mem_store_size_MB, 8 read_requests_count, 9 write_requests_count, 17 last_major_compaction_ts,
 *                  21 store_ref_count
 *     ServerLoad   1 number_of_requests, 2 total_number_of_requests, 3 used_heap_MB, 4 max_heap_MB, 5 region_loads,
 *                  7 report_start_time, 8 report_end_time, 9 info_server_port
 */
import type { RegionDescription } from '../../model/index.ts';
import { MessageWriter, encodeRegionSpecifier } from '../../wire/index.ts';
import type { Cluster } from './cluster.ts';
import { fullName } from './system_tables.ts';

const MIB = 1024 * 1024;

/** RegionLoad of every region of a table, or of all, those of system tables included. */
export function regionLoads(cluster: Cluster, table: string | null): Uint8Array[] {
  const { engine, system } = cluster;
  const described =
    table === null || engine.catalog.find(table) !== undefined
      ? engine.describeRegions(table ?? undefined)
      : [];
  const own = system
    .regionInfos()
    .filter((region) => table === null || region.table === table)
    .map((region) => {
      return new MessageWriter()
        .bytes(1, encodeRegionSpecifier(fullName(region)))
        .int(2, 1)
        .finish();
    });
  return [...described.map((region) => regionLoad(cluster, region)), ...own];
}

function regionLoad({ engine }: Cluster, region: RegionDescription): Uint8Array {
  const stores = engine.catalog.find(region.table)?.families.length ?? 0;
  const fileMb = Math.floor(region.storeFileBytes / MIB);
  return new MessageWriter()
    .bytes(1, encodeRegionSpecifier(region.name))
    .int(2, stores)
    .int(3, region.storeFiles)
    .int(4, fileMb)
    .int(5, fileMb)
    .int(6, Math.floor(region.memstoreHeapBytes / MIB))
    .int(8, region.readRequests)
    .int(9, region.writeRequests)
    .int(21, region.references)
    .finish();
}

export function serverLoad(cluster: Cluster): Uint8Array {
  const regions = cluster.engine.describeRegions(undefined);
  let requests = 0;
  for (const { readRequests, writeRequests } of regions) requests += readRequests + writeRequests;
  const { memstoreHeapBytes, memstoreLimitBytes } = cluster.engine.status();
  return new MessageWriter()
    .int(1, 0)
    .int(2, requests)
    .int(3, Math.ceil(memstoreHeapBytes / MIB))
    .int(4, Math.ceil(memstoreLimitBytes / MIB))
    .allBytes(5, regionLoads(cluster, null))
    .int(7, cluster.place.startCode)
    .int(8, cluster.engine.env.clock.nowMs())
    .int(9, cluster.place.httpPort)
    .finish();
}
