/**
 * Gets and scans from the wire (Client.proto: Get, Scan, Column, TimeRange, ColumnFamilyTimeRange) as the engine reads
 * them. What the message says of rows, columns and filters may stay a view of its bytes: who keeps the spec keeps them.
 */
import {
  LATEST_HIGH,
  LATEST_LOW,
  ROW_LENGTH_MAX,
  compareBytes,
  equalBytes,
} from '../cell/index.ts';
import { filterMaker } from '../filter/index.ts';
import { ALL_TIME, DoNotRetryIOException, STORE_LIMIT_NONE } from '../model/index.ts';
import type {
  FamilyReadSpec,
  FilterMaker,
  FilterSpec,
  ReadSpec,
  ScanSpec,
  TimeRangeSpec,
} from '../model/index.ts';
import { readFilter } from './filter_message.ts';
import type { ProtoReader } from './proto_reader.ts';

const EMPTY: Uint8Array = new Uint8Array(0);
const NO_RANGES: ReadonlyMap<string, TimeRangeSpec> = new Map();

export interface GetMessage {
  readonly row: Uint8Array;
  readonly spec: ReadSpec;
  readonly existenceOnly: boolean;
  readonly closestRowBefore: boolean;
}

export interface ScanMessage {
  readonly spec: ScanSpec;
  /** As the client gave them, in the direction of the scan. */
  readonly startRow: Uint8Array;
  readonly includeStartRow: boolean;
  readonly needCursor: boolean;
  /** What `spec.filter` makes. */
  readonly filter: FilterSpec | null;
  /** Families that the filter does not decide by may be read later; null: nothing is said of it. */
  readonly loadFamiliesOnDemand: boolean | null;
  /** A TSO that the client was given when it opened the scan before; 0n for none. */
  readonly readPoint: bigint;
}

/** What gets and scans have in common, while the message is read. */
class ReadFields {
  timeRange: TimeRangeSpec = ALL_TIME;
  versions = 1;
  cacheBlocks = true;
  storeLimit: number = STORE_LIMIT_NONE;
  storeOffset = 0;
  filter: FilterMaker | null = null;
  filterSpec: FilterSpec | null = null;
  readUncommitted = false;
  raw = false;
  #columns: Map<string, Uint8Array[] | null> | null = null;
  #ranges: Map<string, TimeRangeSpec> | null = null;

  column(reader: ProtoReader): void {
    let family = '';
    let qualifiers: Uint8Array[] | null = null;
    while (reader.next()) {
      switch (reader.field) {
        case 1:
          family = latin1(reader.bytes());
          break;
        case 2:
          (qualifiers ??= []).push(reader.bytes());
          break;
        default:
          reader.skip();
      }
    }
    this.#columns ??= new Map();
    const known = this.#columns.get(family);
    if (qualifiers === null || known === null) this.#columns.set(family, null);
    else this.#columns.set(family, known === undefined ? qualifiers : [...known, ...qualifiers]);
  }

  familyTimeRange(reader: ProtoReader): void {
    let family = '';
    let range = ALL_TIME;
    while (reader.next()) {
      switch (reader.field) {
        case 1:
          family = latin1(reader.bytes());
          break;
        case 2:
          range = readTimeRange(reader.message());
          break;
        default:
          reader.skip();
      }
    }
    this.#ranges ??= new Map();
    this.#ranges.set(family, range);
  }

  attribute(reader: ProtoReader): void {
    let name = '';
    let value = EMPTY;
    while (reader.next()) {
      switch (reader.field) {
        case 1:
          name = reader.string();
          break;
        case 2:
          value = reader.bytes();
          break;
        default:
          reader.skip();
      }
    }
    if (name === '_isolationlevel_') this.readUncommitted = value[0] === 1;
    else if (name === '_raw_') this.raw = value.length > 0 && value[0] !== 0;
  }

  setFilter(reader: ProtoReader): void {
    this.filterSpec = readFilter(reader, 0);
    this.filter = filterMaker(this.filterSpec);
  }

  spec(): ReadSpec {
    return {
      families: this.#families(),
      timeRange: this.timeRange,
      familyTimeRanges: this.#ranges ?? NO_RANGES,
      versions: Math.min(this.versions, 0x7fffffff),
      storeLimit: this.storeLimit > 0x7fffffff ? STORE_LIMIT_NONE : this.storeLimit,
      storeOffset: this.storeOffset > 0x7fffffff ? 0 : this.storeOffset,
      readUncommitted: this.readUncommitted,
      asOf: null,
      cacheBlocks: this.cacheBlocks,
      loadColumnFamiliesOnDemand: true,
      filter: this.filter,
    };
  }

  #families(): readonly FamilyReadSpec[] | null {
    if (this.#columns === null) return null;
    const families: FamilyReadSpec[] = [];
    for (const [family, qualifiers] of this.#columns) {
      const timeRange = this.#ranges?.get(family) ?? this.timeRange;
      families.push({ family, qualifiers: sortedOnce(qualifiers), timeRange });
    }
    // Names are ASCII, so the order of code units is that of bytes.
    return families.length === 1
      ? families
      : families.sort((a, b) => (a.family < b.family ? -1 : 1));
  }
}

function sortedOnce(qualifiers: Uint8Array[] | null): readonly Uint8Array[] | null {
  if (qualifiers === null || qualifiers.length < 2) return qualifiers;
  qualifiers.sort(compareBytes);
  return qualifiers.filter((q, index) => index === 0 || !equalBytes(q, qualifiers[index - 1]!));
}

/** A family's name. Names are ASCII: any other is unknown. */
export function latin1(bytes: Uint8Array): string {
  if (bytes.length === 1) return String.fromCharCode(bytes[0]!);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

/** Reads a TimeRange, [from, to). Throws DoNotRetryIOException for one that HBase refuses. */
export function readTimeRange(reader: ProtoReader): TimeRangeSpec {
  let minHigh = 0;
  let minLow = 0;
  let maxHigh = LATEST_HIGH;
  let maxLow = LATEST_LOW;
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        reader.uint64();
        minHigh = reader.high;
        minLow = reader.low;
        break;
      case 2:
        reader.uint64();
        maxHigh = reader.high;
        maxLow = reader.low;
        break;
      default:
        reader.skip();
    }
  }
  if (minHigh > LATEST_HIGH || maxHigh > LATEST_HIGH) {
    throw new DoNotRetryIOException('Timestamp cannot be negative.');
  }
  if (maxHigh < minHigh || (maxHigh === minHigh && maxLow < minLow)) {
    throw new DoNotRetryIOException('maxStamp is smaller than minStamp');
  }
  const isAllTime =
    minHigh === 0 && minLow === 0 && maxHigh === LATEST_HIGH && maxLow === LATEST_LOW;
  return isAllTime ? ALL_TIME : { minHigh, minLow, maxHigh, maxLow, isAllTime };
}

/** Reads the Get that the reader has begun. Throws DoNotRetryIOException and what filters throw. */
export function readGet(reader: ProtoReader): GetMessage {
  const fields = new ReadFields();
  let row = EMPTY;
  let existenceOnly = false;
  let closestRowBefore = false;
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        row = reader.bytes();
        break;
      case 2:
        fields.column(reader.message());
        break;
      case 3:
        fields.attribute(reader.message());
        break;
      case 4:
        fields.setFilter(reader.message());
        break;
      case 5:
        fields.timeRange = readTimeRange(reader.message());
        break;
      case 6:
        // A scan may ask for none: of columns that it names it gets one. HBase: Get#readVersions, Scan#readVersions.
        fields.versions = reader.uint32();
        if (fields.versions < 1) throw new DoNotRetryIOException('versions must be positive');
        break;
      case 7:
        fields.cacheBlocks = reader.bool();
        break;
      case 8:
        fields.storeLimit = reader.uint32();
        break;
      case 9:
        fields.storeOffset = reader.uint32();
        break;
      case 10:
        existenceOnly = reader.bool();
        break;
      case 11:
        closestRowBefore = reader.bool();
        break;
      case 13:
        fields.familyTimeRange(reader.message());
        break;
      default:
        reader.skip();
    }
  }
  checkRow(row);
  return { row, spec: fields.spec(), existenceOnly, closestRowBefore };
}

function checkRow(row: Uint8Array): void {
  if (row.length === 0) throw new DoNotRetryIOException('Row buffer is null or empty');
  if (row.length > ROW_LENGTH_MAX) {
    throw new DoNotRetryIOException(`Row length ${row.length} is > ${ROW_LENGTH_MAX}`);
  }
}

/** Fields that only scans have. */
class ScanFields {
  readonly read: ReadFields = new ReadFields();
  startRow = EMPTY;
  stopRow = EMPTY;
  includeStartRow = true;
  includeStopRow = false;
  reversed = false;
  batch = 0;
  maxResultSize = 0;
  needCursor = false;
  loadFamiliesOnDemand: boolean | null = null;
  readPoint = 0n;
}

/** Reads the Scan that the reader has begun. Throws DoNotRetryIOException and what filters throw. */
export function readScan(reader: ProtoReader): ScanMessage {
  const fields = new ScanFields();
  while (reader.next()) readScanField(fields, reader);
  const { read, startRow, stopRow, includeStartRow, includeStopRow, reversed } = fields;
  if (startRow.length > ROW_LENGTH_MAX + 1 || stopRow.length > ROW_LENGTH_MAX + 1) {
    throw new DoNotRetryIOException(`A row of the scan is longer than ${ROW_LENGTH_MAX}`);
  }
  const spec = read.spec();
  if (read.raw && spec.families?.some(({ qualifiers }) => qualifiers !== null) === true) {
    throw new DoNotRetryIOException('Cannot specify any column for a raw scan');
  }
  const first = includeStartRow === reversed ? justAfter(startRow) : startRow;
  const last = includeStopRow !== reversed ? justAfter(stopRow) : stopRow;
  return {
    spec: {
      ...spec,
      from: reversed ? last : first,
      to: reversed ? first : last,
      reversed,
      limit: Infinity,
      batch: fields.batch === 0 || fields.batch > 0x7fffffff ? STORE_LIMIT_NONE : fields.batch,
      maxResultSizeBytes: fields.maxResultSize > 0 ? fields.maxResultSize : Infinity,
      raw: read.raw,
      loadColumnFamiliesOnDemand: fields.loadFamiliesOnDemand ?? true,
    },
    startRow,
    includeStartRow,
    needCursor: fields.needCursor,
    filter: read.filterSpec,
    loadFamiliesOnDemand: fields.loadFamiliesOnDemand,
    readPoint: fields.readPoint,
  };
}

function readScanField(fields: ScanFields, reader: ProtoReader): void {
  const { read } = fields;
  switch (reader.field) {
    case 1:
      read.column(reader.message());
      break;
    case 2:
      read.attribute(reader.message());
      break;
    case 3:
      fields.startRow = reader.bytes();
      break;
    case 4:
      fields.stopRow = reader.bytes();
      break;
    case 5:
      read.setFilter(reader.message());
      break;
    case 6:
      read.timeRange = readTimeRange(reader.message());
      break;
    case 7:
      read.versions = reader.uint32();
      break;
    case 8:
      read.cacheBlocks = reader.bool();
      break;
    case 9:
      fields.batch = reader.uint32();
      break;
    case 10:
      reader.uint64();
      fields.maxResultSize = reader.high > LATEST_HIGH ? 0 : reader.high * 0x100000000 + reader.low;
      break;
    case 11:
      read.storeLimit = reader.uint32();
      break;
    case 12:
      read.storeOffset = reader.uint32();
      break;
    case 13:
      fields.loadFamiliesOnDemand = reader.bool();
      break;
    case 15:
      fields.reversed = reader.bool();
      break;
    case 19:
      read.familyTimeRange(reader.message());
      break;
    case 20:
      fields.readPoint = reader.bigUint64();
      break;
    case 21:
      fields.includeStartRow = reader.bool();
      break;
    case 22:
      fields.includeStopRow = reader.bool();
      break;
    case 24:
      fields.needCursor = reader.bool();
      break;
    default:
      reader.skip();
  }
}

/** The least row after `row`; an empty one is an open end and stays. */
function justAfter(row: Uint8Array): Uint8Array {
  if (row.length === 0) return row;
  const after = new Uint8Array(row.length + 1);
  after.set(row);
  return after;
}
