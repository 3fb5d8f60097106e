/**
 * Scans: one call opens, fetches, renews and closes (protocol/client-service.md section 5).
 *
 * What a region gives goes as it lies in the batch's chunks into the answer's cell block. A call that finds everything in
 * memory is answered in the turn of the event loop in which it came; a long search gives way to others in between, and tells
 * a client that can hear it after half of its patience that it goes on.
 */
import { END, WAIT } from '../../../cell/index.ts';
import type { PastHold, ReadMoment, RegionServer } from '../../../engine/index.ts';
import { highOf, lowOf } from '../../../engine/index.ts';
import type { Env } from '../../../io/index.ts';
import { SnapshotTooOld } from '../../../model/index.ts';
import { CellBatch } from '../../../region/index.ts';
import { readScan } from '../../../wire/index.ts';
import type { ScanMessage } from '../../../wire/index.ts';
import { ProtoReader } from '../../../wire/index.ts';
import { RemoteException } from '../exceptions.ts';
import type { RpcLimits } from '../limits.ts';
import type { RowScanner, RpcAnswer, RpcCall, SystemRegion } from '../service.ts';
import { isFamilyEssential } from './essential.ts';
import { isServed, isStoreRegion, notServing } from './regions.ts';
import type { FoundRegion, RegionFinder } from './regions.ts';
import { readScanRequest, writeScanResponse, writeScannerId } from './scan_message.ts';
import type { ScanFigures, ScanRequest } from './scan_message.ts';
import type { ClientScanner, Scanners } from './scanners.ts';

/** Cells looked at in one step: a search that finds nothing does not hold up others for longer. */
const EXAMINED_MAX = 20_000;
const CHUNK_SIZE: number = 64 * 1024;
/** All ones: sees every applied cell. */
const NEWEST = 0xffffffff;
const HEARTBEAT_MS_MIN = 10;

/** What a fetch may take. */
interface Fetch {
  readonly resultsMax: number;
  readonly rowsMax: number;
  readonly bytesMax: number;
  readonly partsAllowed: boolean;
  readonly cutsEarly: true;
  readonly examinedMax: number;
  /** On the steady clock; Infinity for a client that hears no heartbeats. */
  readonly untilMs: number;
}

/** How a fetch ended. */
interface Fetched {
  readonly isEnd: boolean;
  readonly isHeartbeat: boolean;
}

export class Scans {
  readonly #engine: RegionServer;
  readonly #env: Env;
  readonly #regions: RegionFinder;
  readonly #scanners: Scanners;
  readonly #limits: RpcLimits;

  constructor(parts: {
    readonly engine: RegionServer;
    readonly env: Env;
    readonly regions: RegionFinder;
    readonly scanners: Scanners;
    readonly limits: RpcLimits;
  }) {
    this.#engine = parts.engine;
    this.#env = parts.env;
    this.#regions = parts.regions;
    this.#scanners = parts.scanners;
    this.#limits = parts.limits;
  }

  scan(call: RpcCall): RpcAnswer | Promise<RpcAnswer> {
    this.#engine.checkOpen();
    const request = readScanRequest(call.param);
    if (request.scannerId !== null) return this.#next(call, request, request.scannerId);
    if (request.region === null || request.scan === null) {
      throw new RemoteException(
        'DoNotRetryIOException',
        'Missing required input: scannerId or scan',
      );
    }
    this.#scanners.checkRoom();
    const found = this.#regions.find(request.region);
    const { buf, at, end } = request.scan;
    // The scanner keeps what the message says: rows, columns, the filter.
    const message = readScan(new ProtoReader(new Uint8Array(buf.subarray(at, end))));
    const { client, moment } = this.#open(call, found, message);
    const rows = request.numberOfRows ?? (request.closeScanner ? 0 : 1);
    return this.#fetch(call, request, client, rows, moment);
  }

  #open(
    call: RpcCall,
    found: FoundRegion | SystemRegion,
    message: ScanMessage,
  ): { client: ClientScanner; moment: ReadMoment } {
    const { spec } = message;
    const moment = this.#moment(found, message);
    let hold: PastHold | null = null;
    let scanner: RowScanner;
    if (isStoreRegion(found)) {
      const { reads } = this.#engine;
      for (const { family } of spec.families ?? []) found.table.familyIndex(family);
      checkEssential(found, message);
      scanner = reads.openRegion(found.table, found.region, spec, moment) ?? NO_ROWS;
      hold = reads.hold(moment);
    } else scanner = found.open(spec, call.peer);
    const { cellBlocks, cellTags } = call.peer;
    const layout = cellBlocks ? (cellTags ? 'taggedBlock' : 'block') : 'packed';
    const client: ClientScanner = {
      id: this.#scanners.takeId(),
      found,
      scanner,
      batch: new CellBatch(CHUNK_SIZE, layout),
      hold,
      maxResultSizeBytes: Math.min(spec.maxResultSizeBytes, this.#limits.scanBytesMax),
      needCursor: message.needCursor,
      nextCallSeq: 0,
      isBusy: false,
      rowsScannedTold: 0,
      rowsFilteredTold: 0,
      untilMs: 0,
    };
    this.#scanners.add(client);
    return { client, moment };
  }

  /** What the scan sees: now, everything applied, or what it saw when the client opened it before. */
  #moment(found: FoundRegion | SystemRegion, { spec, readPoint }: ScanMessage): ReadMoment {
    const { reads, past, readPoint: now } = this.#engine;
    const nowMs = reads.clock.followedMs();
    if (spec.readUncommitted) return { high: NEWEST, low: NEWEST, nowMs };
    const current = { high: now.high, low: now.low, nowMs };
    if (readPoint === 0n || !isStoreRegion(found)) return current;
    if (now.hasPassed(highOf(readPoint), lowOf(readPoint))) {
      try {
        past.floors.check(found.table.id, readPoint, found.table.name);
      } catch (error) {
        if (!(error instanceof SnapshotTooOld)) throw error;
        throw new RemoteException('ScannerResetException', error.message, { cause: error });
      }
      return { high: highOf(readPoint), low: lowOf(readPoint), nowMs };
    }
    return current;
  }

  #next(call: RpcCall, request: ScanRequest, id: number): RpcAnswer | Promise<RpcAnswer> {
    if (this.#scanners.wasClosed(id, request.nextCallSeq)) {
      return { message: writeScannerId(id) };
    }
    const client = this.#scanners.get(id);
    if (request.nextCallSeq !== null) {
      if (request.nextCallSeq !== client.nextCallSeq) {
        throw new RemoteException(
          'OutOfOrderScannerNextException',
          `Expected nextCallSeq: ${client.nextCallSeq} But the nextCallSeq got from client: ${request.nextCallSeq}; request=scanner_id: ${id}`,
        );
      }
      client.nextCallSeq++;
    }
    if (client.isBusy) {
      throw new RemoteException(
        'LeaseException',
        `lease '${id}' does not exist: the scanner is in use`,
      );
    }
    this.#scanners.renew(client);
    const { found } = client;
    if (isStoreRegion(found) && !isServed(found)) {
      this.#scanners.close(client);
      throw notServing(Buffer.from(found.region.encodedName));
    }
    if (request.renew) return this.#answer(call, request, client, EMPTY_FETCH, null);
    const rows = request.numberOfRows ?? (request.closeScanner ? 0 : 1);
    if (request.closeScanner && rows === 0) {
      this.#scanners.close(client);
      return { message: writeScannerId(id) };
    }
    return this.#fetch(call, request, client, rows, null);
  }

  #fetch(
    call: RpcCall,
    request: ScanRequest,
    client: ClientScanner,
    rows: number,
    opened: ReadMoment | null,
  ): RpcAnswer | Promise<RpcAnswer> {
    try {
      if (rows === 0) return this.#answer(call, request, client, EMPTY_FETCH, opened);
      if (isStoreRegion(client.found) && client.hold !== null) {
        this.#goOn(client.found, client.hold);
      }
      const { handlesPartials, handlesHeartbeats, limitOfRows } = request;
      const fetch: Fetch = {
        resultsMax: rows,
        rowsMax: limitOfRows > 0 ? limitOfRows : Infinity,
        bytesMax: client.maxResultSizeBytes,
        partsAllowed: handlesPartials,
        cutsEarly: true,
        examinedMax: EXAMINED_MAX,
        untilMs: handlesPartials && handlesHeartbeats ? this.#patience(call) : Infinity,
      };
      const fetched = this.#step(client, fetch);
      if (typeof fetched === 'object') return this.#answer(call, request, client, fetched, opened);
      return this.#fetchSlowly(call, request, client, fetch, fetched, opened);
    } catch (error) {
      this.#scanners.close(client);
      throw error;
    }
  }

  #goOn(found: FoundRegion, hold: PastHold): void {
    try {
      this.#engine.reads.goOn(found.table, hold);
    } catch (error) {
      if (!(error instanceof SnapshotTooOld)) throw error;
      throw new RemoteException('ScannerResetException', error.message, { cause: error });
    }
  }

  /** Half of the time that the client still waits, or that its lease lasts. */
  #patience({ deadlineMs }: RpcCall): number {
    const nowMs = this.#env.clock.monotonicMs();
    const waitMs = Math.min(deadlineMs - nowMs, this.#limits.scannerLeaseMs);
    return nowMs + Math.max(waitMs / 2, HEARTBEAT_MS_MIN);
  }

  /** One step: the end of the fetch, or why there must be more of them. */
  #step(client: ClientScanner, fetch: Fetch): Fetched | 'bytes' | 'turn' {
    const { scanner, batch } = client;
    const state = scanner.next(batch, fetch);
    if (state === END) return { isEnd: true, isHeartbeat: false };
    if (state === WAIT) return 'bytes';
    const isFull =
      batch.size >= fetch.resultsMax ||
      batch.bytes >= fetch.bytesMax ||
      batch.rows >= fetch.rowsMax;
    if (!isFull) return 'turn';
    // Where the size ends an answer HBase does not look whether anything comes behind; clients count the calls.
    const looksOn = batch.bytes < fetch.bytesMax;
    return { isEnd: looksOn && scanner.hasMore?.() === false, isHeartbeat: false };
  }

  /** Goes on with a fetch that wants bytes from the disk, or a turn for others in between. */
  async #fetchSlowly(
    call: RpcCall,
    request: ScanRequest,
    client: ClientScanner,
    fetch: Fetch,
    why: 'bytes' | 'turn',
    opened: ReadMoment | null,
  ): Promise<RpcAnswer> {
    const { timers, clock } = this.#env;
    client.isBusy = true;
    try {
      for (let wants = why; ;) {
        if (wants === 'bytes') await client.scanner.load();
        else await new Promise<void>((resolve) => timers.soon(resolve));
        if (call.signal.aborted) {
          throw new RemoteException('CallDroppedException', 'the client has left');
        }
        const fetched = this.#step(client, fetch);
        if (typeof fetched === 'object') {
          return this.#answer(call, request, client, fetched, opened);
        }
        if (clock.monotonicMs() >= fetch.untilMs) {
          return this.#answer(call, request, client, HEARTBEAT, opened);
        }
        wants = fetched;
      }
    } catch (error) {
      this.#scanners.close(client);
      throw error;
    } finally {
      client.isBusy = false;
      this.#scanners.renew(client);
    }
  }

  #answer(
    call: RpcCall,
    request: ScanRequest,
    client: ClientScanner,
    fetched: Fetched,
    opened: ReadMoment | null,
  ): RpcAnswer {
    const { batch, scanner } = client;
    const { cellBlocks } = call.peer;
    const isLimited = request.limitOfRows > 0 && batch.rows >= request.limitOfRows;
    // Old clients end a scan by it, and HBase's tests rely on that: a filter that was done before it let anything through.
    const isFilteredOut = batch.size === 0 && fetched.isEnd && scanner.isFilterDone?.() === true;
    const moreResults = fetched === EMPTY_FETCH || (!isLimited && !isFilteredOut);
    const moreResultsInRegion = !fetched.isEnd;
    const message = writeScanResponse(
      {
        scannerId: client.id,
        moreResults,
        moreResultsInRegion,
        ttlMs: opened === null ? null : this.#limits.scannerLeaseMs,
        isHeartbeat: fetched.isHeartbeat,
        figures: request.tracksMetrics ? figuresOf(client) : null,
        readPoint: opened,
        cursor: fetched.isHeartbeat && client.needCursor ? (scanner.currentRow?.() ?? null) : null,
      },
      fetched === EMPTY_FETCH ? null : batch,
      cellBlocks,
    );
    const cells = fetched === EMPTY_FETCH || !cellBlocks ? [] : batch.pieces();
    batch.clear();
    if (!moreResults || !moreResultsInRegion || request.closeScanner) this.#scanners.close(client);
    return { message, cells };
  }
}

/** Nothing was looked for. */
const EMPTY_FETCH: Fetched = { isEnd: false, isHeartbeat: false };
const HEARTBEAT: Fetched = { isEnd: false, isHeartbeat: true };

/** A scanner of a range without rows. */
const NO_ROWS: RowScanner = {
  next: () => END,
  load: () => Promise.resolve(),
  close: () => undefined,
};

/** Refuses a reversed scan that HBase would read in two steps; it does so unless it is told not to. */
function checkEssential({ table }: FoundRegion, message: ScanMessage): void {
  const { filter, spec, loadFamiliesOnDemand } = message;
  if (!spec.reversed || filter === null || loadFamiliesOnDemand === false) return;
  const families =
    spec.families?.map(({ family }) => family) ??
    table.families.map(({ settings }) => settings.name);
  if (families.every((family) => isFamilyEssential(filter, family))) return;
  throw new RemoteException(
    'DoNotRetryIOException',
    'Reverse scan with loading CFs on demand is not supported',
  );
}

/** What the scanner has done since the client was told last. */
function figuresOf(client: ClientScanner): ScanFigures {
  const { rowsScanned = 0, rowsFiltered = 0 } = client.scanner;
  const figures = {
    rowsScanned: rowsScanned - client.rowsScannedTold,
    rowsFiltered: rowsFiltered - client.rowsFilteredTold,
  };
  client.rowsScannedTold = rowsScanned;
  client.rowsFilteredTold = rowsFiltered;
  return figures;
}
