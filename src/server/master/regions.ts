/**
 * MasterService on regions (protocol/admin.md section 5). There is one server, so that moves and assignments find every
 * region where it is.
 */
import { encodedRegionName } from '../../manifest/index.ts';
import {
  ConstraintException,
  DoNotRetryIOException,
  UnknownRegionException,
} from '../../model/index.ts';
import type { Region } from '../../region/index.ts';
import {
  EMPTY_MESSAGE,
  MessageWriter,
  decodeRegionInfo,
  decodeRegionSpecifier,
} from '../../wire/index.ts';
import type { Fields, RegionInfo } from '../../wire/index.ts';
import type { TableState } from '../../engine/index.ts';
import type { Handler, Handlers } from '../meta/handlers.ts';
import { META_ENCODED_NAME, META_REGION_NAME } from '../meta/index.ts';
import { RemoteException } from '../rpc/exceptions.ts';
import { isSystemTable } from './master.ts';
import type { Master } from './master.ts';

const MERGE_MIN = 2;

export function regionHandlers(master: Master): Handlers {
  const { splitter, regionChanges, catalog } = master.engine;
  /** The region is there, and stays where it is. */
  const stay: Handler = (request) => {
    const name = decodeRegionSpecifier(request.message(1));
    if (!isMeta(name)) regionOf(master, name);
    return EMPTY_MESSAGE;
  };
  return {
    SplitRegion: (request, call) =>
      master.procedure(
        { request, call, nonceAt: 3, kind: 'SplitTableRegionProcedure' },
        async () => {
          const { table, region } = regionNamed(master, decodeRegionInfo(request.message(1)));
          const row = request.bytes(2);
          await splitter.split(
            table,
            region,
            row === null || row.length === 0 ? null : row.slice(),
          );
        },
      ),
    MergeTableRegions: (request, call) => {
      const kind = 'MergeTableRegionsProcedure';
      return master.procedure({ request, call, nonceAt: 4, kind }, () => merge(master, request));
    },
    TruncateRegion: (request, call) => {
      const kind = 'TruncateRegionProcedure';
      return master.procedure({ request, call, nonceAt: 2, kind, failsLater: true }, async () => {
        const info = decodeRegionInfo(request.message(1));
        if (isSystemTable(info.table)) {
          throw new RemoteException('HBaseIOException', "Can't truncate region in catalog tables");
        }
        const { table, region } = regionNamed(master, info);
        await regionChanges.truncate(catalog.enabled(table.name), region);
      });
    },
    MoveRegion: stay,
    AssignRegion: stay,
    UnassignRegion: stay,
    OfflineRegion: stay,
    getLastMajorCompactionTimestampForRegion: (request) => {
      const name = decodeRegionSpecifier(request.message(1));
      const stamp = isMeta(name) ? 0 : master.majorCompactionMs(regionOf(master, name).region);
      return new MessageWriter().int(1, stamp).finish();
    },
  };
}

/** Two neighbours or more become one, step by step. */
async function merge(master: Master, request: Fields): Promise<void> {
  const { splitter } = master.engine;
  const places = request
    .messages(1)
    .map((message) => regionOf(master, decodeRegionSpecifier(message)));
  const [first, ...others] = places.sort((a, b) =>
    Buffer.compare(a.region.startKey, b.region.startKey),
  );
  if (first === undefined || places.length < MERGE_MIN) {
    throw new DoNotRetryIOException('Specify at least two regions to merge');
  }
  const { table } = first;
  if (others.some((other) => other.table !== table)) {
    throw new DoNotRetryIOException('Cannot merge regions from different tables');
  }
  let mergedKey = first.region.startKey;
  for (const { region } of others) {
    await splitter.merge(table, table.regionOf(mergedKey), region);
    mergedKey = table.regionOf(mergedKey).startKey;
  }
}

export interface PlaceOfRegion {
  readonly table: TableState;
  readonly region: Region;
}

/** Of a user's table, by full or encoded name. Throws UnknownRegionException. */
export function regionOf({ engine }: Master, name: Uint8Array): PlaceOfRegion {
  const text = Buffer.from(name).toString('latin1');
  const table = engine.splitter.tableOfRegion(text);
  if (table === null) throw new UnknownRegionException(text);
  return { table, region: engine.splitter.region(table, text) };
}

function regionNamed(master: Master, info: RegionInfo): PlaceOfRegion {
  if (isSystemTable(info.table)) {
    throw new ConstraintException(`Regions of ${info.table} cannot be changed`);
  }
  return regionOf(master, Buffer.from(encodedRegionName(info), 'latin1'));
}

/** Whether the name, full or encoded, is that of hbase:meta's region. */
export function isMeta(name: Uint8Array): boolean {
  const text = Buffer.from(name).toString('latin1');
  return text === META_REGION_NAME || text === META_ENCODED_NAME;
}
