/** ScanRequest and ScanResponse (Client.proto). */
import type { CellBatch } from '../../../region/index.ts';
import { ProtoReader, ProtoWriter, writeCells } from '../../../wire/index.ts';

export interface ScanRequest {
  /** Null where the request has none. */
  readonly region: ProtoReader | null;
  readonly scan: ProtoReader | null;
  readonly scannerId: number | null;
  readonly numberOfRows: number | null;
  readonly closeScanner: boolean;
  readonly nextCallSeq: number | null;
  readonly handlesPartials: boolean;
  readonly handlesHeartbeats: boolean;
  readonly tracksMetrics: boolean;
  readonly renew: boolean;
  /** 0: no limit. */
  readonly limitOfRows: number;
}

/** Reads a ScanRequest. Throws MalformedMessageException. */
export function readScanRequest(buf: Uint8Array): ScanRequest {
  const request: { -readonly [field in keyof ScanRequest]: ScanRequest[field] } = {
    region: null,
    scan: null,
    scannerId: null,
    numberOfRows: null,
    closeScanner: false,
    nextCallSeq: null,
    handlesPartials: false,
    handlesHeartbeats: false,
    tracksMetrics: false,
    renew: false,
    limitOfRows: 0,
  };
  const reader = new ProtoReader(buf);
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        request.region = reader.message();
        break;
      case 2:
        request.scan = reader.message();
        break;
      case 3:
        request.scannerId = reader.count();
        break;
      case 4:
        request.numberOfRows = reader.uint32();
        break;
      case 5:
        request.closeScanner = reader.bool();
        break;
      case 6:
        request.nextCallSeq = reader.count();
        break;
      case 7:
        request.handlesPartials = reader.bool();
        break;
      case 8:
        request.handlesHeartbeats = reader.bool();
        break;
      case 9:
        request.tracksMetrics = reader.bool();
        break;
      case 10:
        request.renew = reader.bool();
        break;
      case 11:
        request.limitOfRows = reader.uint32();
        break;
      default:
        reader.skip();
    }
  }
  return request;
}

export interface ScanFigures {
  readonly rowsScanned: number;
  readonly rowsFiltered: number;
}

export interface ScanResponse {
  readonly scannerId: number;
  readonly moreResults: boolean;
  readonly moreResultsInRegion: boolean;
  /** Milliseconds; null but for the answer to an opening. */
  readonly ttlMs: number | null;
  readonly isHeartbeat: boolean;
  readonly figures: ScanFigures | null;
  /** In halves; null but for the answer to an opening. */
  readonly readPoint: { readonly high: number; readonly low: number } | null;
  /** The row that a heartbeat has come to. */
  readonly cursor: Uint8Array | null;
}

/**
 * Writes a ScanResponse with the results of the batch: counts and flags where cells go into the cell block (the batch's
 * pieces), the whole results otherwise. Null: without results.
 */
export function writeScanResponse(
  response: ScanResponse,
  batch: CellBatch | null,
  cellBlocks: boolean,
): Uint8Array {
  const size = batch?.size ?? 0;
  const writer = new ProtoWriter(128 + size * 6);
  if (batch !== null && cellBlocks) {
    for (let i = 0; i < size; i++) writer.uint32(1, batch.cellsAt(i));
  }
  writer.count(2, response.scannerId);
  writer.bool(3, response.moreResults);
  if (response.ttlMs !== null) writer.uint32(4, response.ttlMs);
  if (batch !== null && !cellBlocks) writeResults(writer, batch);
  writer.bool(6, false);
  if (batch !== null && cellBlocks) {
    for (let i = 0; i < size; i++) writer.bool(7, batch.isPartialAt(i));
  }
  writer.bool(8, response.moreResultsInRegion);
  if (response.isHeartbeat) writer.bool(9, true);
  if (response.figures !== null) writeFigures(writer, response.figures);
  if (response.readPoint !== null) {
    writer.uint64(11, response.readPoint.high, response.readPoint.low);
  }
  if (response.cursor !== null) {
    const mark = writer.begin(12);
    writer.bytes(1, response.cursor);
    writer.end(mark);
  }
  return writer.take();
}

/** The answer to a call on a scanner that is closed. */
export function writeScannerId(scannerId: number): Uint8Array {
  const writer = new ProtoWriter(16);
  writer.count(2, scannerId);
  return writer.take();
}

function writeResults(writer: ProtoWriter, batch: CellBatch): void {
  for (let i = 0; i < batch.size; i++) {
    const { packed, partial } = batch.result(i);
    const mark = writer.begin(5);
    writeCells(writer, packed);
    writer.bool(5, partial);
    writer.end(mark);
  }
}

/** ScanMetrics { 1 metrics: NameInt64Pair { 1 name · 2 value } }. */
function writeFigures(writer: ProtoWriter, figures: ScanFigures): void {
  const metrics = writer.begin(10);
  const pairs: [string, number][] = [
    ['FS_READ_TIME', 0],
    ['BLOCK_BYTES_SCANNED', 0],
    ['ROWS_SCANNED', figures.rowsScanned],
    ['ROWS_FILTERED', figures.rowsFiltered],
  ];
  for (const [name, value] of pairs) {
    const pair = writer.begin(1);
    writer.string(1, name);
    writer.count(2, value);
    writer.end(pair);
  }
  writer.end(metrics);
}
