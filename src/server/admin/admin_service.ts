/**
 * AdminService: what is asked of a region server (protocol/admin.md section 5; the fields are those of messages/Admin.md).
 */
import type { RegionServer, TableState } from '../../engine/index.ts';
import { DoNotRetryIOException } from '../../model/index.ts';
import { middleRow } from '../../engine/index.ts';
import type { Region } from '../../region/index.ts';
import {
  EMPTY_MESSAGE,
  MessageWriter,
  decodeRegionSpecifier,
  decodeTableName,
  encodeRegionInfo,
  encodeServerName,
} from '../../wire/index.ts';
import type { Fields, RegionInfo } from '../../wire/index.ts';
import { boolMessage, noLogEntries, nothing, serviceOf } from '../meta/handlers.ts';
import type { Handlers } from '../meta/handlers.ts';
import { regionInfosOf } from '../meta/index.ts';
import type { Cluster } from '../meta/index.ts';
import { regionLoads } from '../meta/loads.ts';
import { RemoteException } from '../rpc/exceptions.ts';
import type { RpcService } from '../rpc/service.ts';
import { CompactionStates } from './compaction_states.ts';

export function adminService(cluster: Cluster): RpcService {
  return serviceOf('AdminService', { ...regionHandlers(cluster), ...serverHandlers(cluster) });
}

const COMPACTION_SHOWN_MS = 1_500;

/** A region as it was asked for: one of a user's table, or one of a system table, of which little can be asked. */
interface Asked {
  readonly info: RegionInfo;
  readonly place: { readonly table: TableState; readonly region: Region } | null;
  /** It stands for the large values of this table. */
  readonly mobTable?: TableState;
}

function askedRegion(cluster: Cluster, request: Fields): Asked {
  const { engine, system } = cluster;
  const name = Buffer.from(decodeRegionSpecifier(request.message(1))).toString('latin1');
  const own = system.regions.findIndex((region) =>
    [region.name, region.encodedName].includes(name),
  );
  if (own >= 0) return { info: system.regionInfos()[own]!, place: null };
  const mob = mobTableOf(cluster, name);
  if (mob !== null) return mob;
  const table = engine.splitter.tableOfRegion(name);
  if (table === null || !table.enabled) {
    throw new RemoteException('NotServingRegionException', `${name} is not online`);
  }
  const region = engine.splitter.region(table, name);
  const info = regionInfosOf(engine.manifest, table)[table.regions.indexOf(region)]!;
  return { info, place: { table, region } };
}

/** HBase asks for the large values of a table by the name of a region that there is not: key `.mob`, id 0. */
function mobTableOf({ engine }: Cluster, name: string): Asked | null {
  const tableName = /^(.*?),\.mob,0\./.exec(name)?.[1];
  const table = tableName === undefined ? undefined : engine.catalog.find(tableName);
  if (table === undefined) return null;
  const startKey = Buffer.from('.mob');
  const info = { table: table.name, regionIdMs: 0, startKey, endKey: new Uint8Array(0) };
  return { info, place: null, mobTable: table };
}

function regionHandlers(cluster: Cluster): Handlers {
  const { engine } = cluster;
  const states = new CompactionStates();
  return {
    GetRegionInfo: async (request) => {
      const { info, place, mobTable } = askedRegion(cluster, request);
      const region = place?.region ?? null;
      const message = new MessageWriter().bytes(1, encodeRegionInfo(info));
      const compacted = mobTable ?? region;
      if (request.bool(2, false)) message.int(2, compacted === null ? 0 : states.of(compacted));
      message.bool(4, region !== null).bool(5, region !== null);
      if (request.bool(3, false) && region !== null) message.bytes(6, await middleRow(region));
      return message.finish();
    },
    GetStoreFile: (request) => {
      const { place } = askedRegion(cluster, request);
      if (place === null) return EMPTY_MESSAGE;
      return new MessageWriter().texts(1, storeFiles(place.table, place.region, request)).finish();
    },
    FlushRegion: async (request) => {
      const { place } = askedRegion(cluster, request);
      const nowMs = engine.env.clock.nowMs();
      if (place === null) return new MessageWriter().int(1, nowMs).bool(2, false).finish();
      const { table, region } = place;
      const flushed = region.memstoreCells > 0;
      await engine.track(() => engine.background.flusher.flush(table, region));
      return new MessageWriter().int(1, nowMs).bool(2, flushed).bool(3, false).finish();
    },
    CompactRegion: (request) => {
      const { place, mobTable } = askedRegion(cluster, request);
      const table = mobTable ?? place?.table;
      if (table === undefined) return EMPTY_MESSAGE;
      const family = Buffer.from(request.bytes(3) ?? '').toString('utf8');
      if (family !== '') table.familyIndex(family);
      const isMajor = request.bool(2, false);
      const { background } = engine;
      const compaction = engine.track(() =>
        place === null
          ? background.compactTable(table, isMajor)
          : background.compactor.compact(table, place.region, isMajor),
      );
      const work = shown(engine, compaction);
      states.begin(place?.region ?? table, isMajor, work, (error) =>
        engine.logger.warn({ err: error, table: table.name }, 'a compaction asked for failed'),
      );
      return EMPTY_MESSAGE;
    },
    CompactionSwitch: (request) => {
      const was = cluster.switches.turn('compaction', request.bool(1, true));
      return boolMessage(1, was);
    },
    ClearRegionBlockCache: () => {
      const stats = new MessageWriter().int(1, 0).int(2, 0);
      stats.int(3, engine.settings.blockCacheBytes);
      return new MessageWriter().bytes(1, stats.finish()).finish();
    },
  };
}

/** Clients ask right away whether what they have asked for is under way; in HBase it takes its time: so long it is seen. */
async function shown({ env }: RegionServer, compaction: Promise<void>): Promise<void> {
  await Promise.all([compaction, env.timers.sleep(COMPACTION_SHOWN_MS)]);
}

/** Paths below the data folder of the families named, or of all. */
function storeFiles(table: TableState, region: Region, request: Fields): string[] {
  const wanted = request.allBytes(2).map((name) => Buffer.from(name).toString('utf8'));
  const stores =
    wanted.length === 0
      ? region.stores
      : wanted.map((name) => region.stores[table.familyIndex(name)]!);
  return stores.flatMap((store) => store.files.map(({ info }) => info.path));
}

function serverHandlers(cluster: Cluster): Handlers {
  const { engine, system } = cluster;
  return {
    GetOnlineRegion: () => {
      const regions = engine.catalog
        .userTables()
        .filter((table) => table.enabled)
        .flatMap((table) => regionInfosOf(engine.manifest, table));
      const infos = [...system.regionInfos(), ...regions].map(encodeRegionInfo);
      return new MessageWriter().allBytes(1, infos).finish();
    },
    GetServerInfo: (_request, { peer }) => {
      const info = new MessageWriter()
        .bytes(1, encodeServerName(cluster.serverName(peer)))
        .int(2, cluster.place.httpPort);
      return new MessageWriter().bytes(1, info.finish()).finish();
    },
    GetRegionLoad: (request) => {
      const table = request.has(1) ? decodeTableName(request.message(1)) : null;
      return new MessageWriter().allBytes(1, regionLoads(cluster, table)).finish();
    },
    RollWALWriter: nothing,
    UpdateConfiguration: nothing,
    ClearCompactionQueues: nothing,
    UpdateFavoredNodes: nothing,
    WarmupRegion: nothing,
    GetSpaceQuotaSnapshots: nothing,
    GetSlowLogResponses: nothing,
    GetLargeLogResponses: nothing,
    ClearSlowLogsResponses: () => boolMessage(1, true),
    GetCachedFilesList: nothing,
    GetLogEntries: noLogEntries,
    StopServer: () => {
      throw new DoNotRetryIOException('the server is stopped where it was started');
    },
  };
}
