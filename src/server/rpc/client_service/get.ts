/** Gets: alone and in batches. */
import { END, WAIT } from '../../../cell/index.ts';
import { oneRowOf } from '../../../engine/index.ts';
import type { RegionServer } from '../../../engine/index.ts';
import type { ReadSpec, Result } from '../../../model/index.ts';
import { CellBatch } from '../../../region/index.ts';
import { ProtoReader, ProtoWriter, ResultWriter, readGet } from '../../../wire/index.ts';
import type { CellsOut, GetMessage } from '../../../wire/index.ts';
import { RemoteException } from '../exceptions.ts';
import type { RpcAnswer, RpcCall, RpcPeer, SystemRegion } from '../service.ts';
import { checkRowInRegion, isStoreRegion } from './regions.ts';
import type { FoundRegion, RegionFinder } from './regions.ts';

/** Cells of a made-up row, at most. */
const ONE_ROW = { resultsMax: 1, bytesMax: Infinity };

export class Gets {
  readonly #engine: RegionServer;
  readonly #regions: RegionFinder;

  constructor(engine: RegionServer, regions: RegionFinder) {
    this.#engine = engine;
    this.#regions = regions;
  }

  /** GetRequest { 1 region · 2 get } → GetResponse { 1 result }. */
  get(call: RpcCall): RpcAnswer | Promise<RpcAnswer> {
    const reader = new ProtoReader(call.param);
    let found: FoundRegion | SystemRegion | null = null;
    let get: GetMessage | null = null;
    while (reader.next()) {
      if (reader.field === 1) found = this.#regions.find(reader.message());
      else if (reader.field === 2) get = readGet(reader.message());
      else reader.skip();
    }
    if (found === null || get === null) {
      throw new RemoteException('DoNotRetryIOException', 'A get needs a region and what to get');
    }
    const { existenceOnly } = get;
    const out = { cellBlocks: call.peer.cellBlocksForGets, cellTags: call.peer.cellTags };
    const result = this.read(found, get, call.peer);
    return result instanceof Promise
      ? result.then((value) => getAnswer(value, existenceOnly, out))
      : getAnswer(result, existenceOnly, out);
  }

  /** The row's cells; null for none. At once if they are in memory. */
  read(
    found: FoundRegion | SystemRegion,
    get: GetMessage,
    peer: RpcPeer,
  ): Result | null | Promise<Result | null> {
    if (get.closestRowBefore) {
      throw new RemoteException(
        'UnknownProtocolException',
        'Is this a pre-hbase-1.0.0 or asynchbase client? Client is invoking getClosestRowBefore removed in hbase-2.0.0 replaced by reverse Scan.',
      );
    }
    if (!isStoreRegion(found)) return readSystemRow(found, get, peer);
    checkRowInRegion(get.row, found, 'Get');
    this.#engine.checkOpen();
    return this.#engine.reads.getIn(found.table, found.region, get.row, specOf(get));
  }
}

/** Whether a row is there is seen by its first cell. */
function specOf({ spec, existenceOnly }: GetMessage): ReadSpec {
  const { filter, storeOffset, storeLimit } = spec;
  const isEnough = existenceOnly && filter === null && storeOffset === 0 && storeLimit > 1;
  return isEnough ? { ...spec, storeLimit: 1 } : spec;
}

/** Writes the fields of a get's Result. */
export function writeGetResult(
  results: ResultWriter,
  result: Result | null,
  existenceOnly: boolean,
): void {
  if (!existenceOnly) {
    results.fields(result);
    return;
  }
  results.fields(null);
  results.writer.bool(3, result !== null);
}

function getAnswer(result: Result | null, existenceOnly: boolean, out: CellsOut): RpcAnswer {
  const size = out.cellBlocks || result === null ? 16 : 64 + result.packed.length * 2;
  const writer = new ProtoWriter(size);
  const results = new ResultWriter(writer, out);
  const mark = writer.begin(1);
  writeGetResult(results, result, existenceOnly);
  writer.end(mark);
  return { message: writer.take(), cells: results.cells };
}

async function readSystemRow(
  region: SystemRegion,
  get: GetMessage,
  peer: RpcPeer,
): Promise<Result | null> {
  const scanner = region.open(oneRowOf(get.spec, get.row), peer);
  const batch = new CellBatch();
  try {
    for (;;) {
      const state = scanner.next(batch, ONE_ROW);
      if (batch.size > 0) return batch.result(0);
      if (state === END) return null;
      if (state === WAIT) await scanner.load();
    }
  } finally {
    scanner.close();
  }
}
