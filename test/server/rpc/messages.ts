/** Requests of ClientService as tests write them down, and what its answers say. */
import { keyValueSize, putU32, u16, u32, u64, writeKeyValue } from '../../../src/cell/index.ts';
import { ProtoReader, ProtoWriter } from '../../../src/wire/index.ts';

const utf8 = (text: string): Buffer => Buffer.from(text, 'utf8');

/** A message made by `write`. */
export function message(write: (writer: ProtoWriter) => void): Uint8Array {
  const writer = new ProtoWriter();
  write(writer);
  return writer.take();
}

export function nested(writer: ProtoWriter, field: number, write: (w: ProtoWriter) => void): void {
  const mark = writer.begin(field);
  write(writer);
  writer.end(mark);
}

export function region(writer: ProtoWriter, name: Uint8Array, type = 1): void {
  nested(writer, 1, (w) => {
    w.uint32(1, type);
    w.bytes(2, name);
  });
}

export interface GetFields {
  readonly row: string;
  readonly columns?: readonly string[];
  readonly versions?: number;
  readonly existenceOnly?: boolean;
  readonly filter?: Uint8Array;
}

function columns(writer: ProtoWriter, field: number, names: readonly string[] = []): void {
  for (const name of names) {
    nested(writer, field, (w) => {
      const colon = name.indexOf(':');
      w.bytes(1, utf8(colon < 0 ? name : name.slice(0, colon)));
      if (colon >= 0) w.bytes(2, utf8(name.slice(colon + 1)));
    });
  }
}

export function writeGet(writer: ProtoWriter, get: GetFields): void {
  writer.bytes(1, utf8(get.row));
  columns(writer, 2, get.columns);
  if (get.filter !== undefined) writer.bytes(4, get.filter);
  if (get.versions !== undefined) writer.uint32(6, get.versions);
  if (get.existenceOnly === true) writer.bool(10, true);
}

export function getRequest(name: Uint8Array, get: GetFields): Uint8Array {
  return message((w) => {
    region(w, name);
    nested(w, 2, (inner) => writeGet(inner, get));
  });
}

export const APPEND = 0;
export const INCREMENT = 1;
export const PUT = 2;
export const DELETE = 3;

export interface MutationFields {
  readonly type: number;
  readonly row: string;
  /** Values by `family:qualifier`; for deletes the value is of no account. */
  readonly values?: Readonly<Record<string, string | bigint>>;
  readonly ts?: bigint;
  readonly deleteType?: number;
  /** Cells in the cell block. */
  readonly cellCount?: number;
  readonly nonce?: bigint;
  readonly attributes?: Readonly<Record<string, Uint8Array>>;
}

export function writeMutation(writer: ProtoWriter, fields: MutationFields): void {
  writer.bytes(1, utf8(fields.row));
  writer.uint32(2, fields.type);
  for (const [name, value] of Object.entries(fields.values ?? {})) {
    const [family = '', qualifier = ''] = name.split(':');
    nested(writer, 3, (w) => {
      w.bytes(1, utf8(family));
      nested(w, 2, (q) => {
        q.bytes(1, utf8(qualifier));
        q.bytes(2, valueBytes(value));
        if (fields.ts !== undefined) q.bigint(3, fields.ts);
        if (fields.deleteType !== undefined) q.uint32(4, fields.deleteType);
      });
    });
  }
  if (fields.ts !== undefined && fields.values === undefined) writer.bigint(4, fields.ts);
  for (const [name, value] of Object.entries(fields.attributes ?? {})) {
    nested(writer, 5, (w) => {
      w.string(1, name);
      w.bytes(2, value);
    });
  }
  if (fields.cellCount !== undefined) writer.uint32(8, fields.cellCount);
  if (fields.nonce !== undefined) writer.bigint(9, fields.nonce);
}

export function valueBytes(value: string | bigint): Buffer {
  if (typeof value === 'string') return utf8(value);
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}

export interface ConditionFields {
  readonly row: string;
  readonly column?: string;
  /** CompareType. */
  readonly compare?: number;
  readonly value?: string;
  readonly filter?: Uint8Array;
}

export function writeCondition(writer: ProtoWriter, field: number, c: ConditionFields): void {
  nested(writer, field, (w) => {
    w.bytes(1, utf8(c.row));
    if (c.filter !== undefined) {
      w.bytes(7, c.filter);
      return;
    }
    const [family = '', qualifier = ''] = (c.column ?? '').split(':');
    w.bytes(2, utf8(family));
    w.bytes(3, utf8(qualifier));
    w.uint32(4, c.compare ?? 2);
    w.bytes(5, binaryComparator(c.value ?? ''));
  });
}

export function binaryComparator(value: string): Uint8Array {
  return message((w) => {
    w.string(1, 'org.apache.hadoop.hbase.filter.BinaryComparator');
    nested(w, 2, (body) => nested(body, 1, (comparable) => comparable.bytes(1, utf8(value))));
  });
}

export function filter(name: string, body: Uint8Array): Uint8Array {
  return message((w) => {
    w.string(1, `org.apache.hadoop.hbase.filter.${name}`);
    w.bytes(2, body);
  });
}

export function mutateRequest(
  name: Uint8Array,
  mutation: MutationFields,
  more: { readonly condition?: ConditionFields; readonly nonceGroup?: bigint } = {},
): Uint8Array {
  return message((w) => {
    region(w, name);
    nested(w, 2, (inner) => writeMutation(inner, mutation));
    if (more.condition !== undefined) writeCondition(w, 3, more.condition);
    if (more.nonceGroup !== undefined) w.bigint(4, more.nonceGroup);
  });
}

export interface ScanFields {
  readonly versions?: number;
  readonly columns?: readonly string[];
  readonly start?: string;
  readonly stop?: string;
  readonly includeStart?: boolean;
  readonly includeStop?: boolean;
  readonly reversed?: boolean;
  readonly batch?: number;
  readonly maxResultSize?: number;
  readonly allowPartial?: boolean;
  readonly filter?: Uint8Array;
  readonly readPoint?: bigint;
  readonly needCursor?: boolean;
  readonly attributes?: Readonly<Record<string, Uint8Array>>;
}

export interface ScanCallFields {
  readonly rows?: number;
  readonly close?: boolean;
  readonly nextCallSeq?: number;
  readonly partials?: boolean;
  readonly heartbeats?: boolean;
  readonly metrics?: boolean;
  readonly renew?: boolean;
  readonly limit?: number;
}

function writeScanCall(w: ProtoWriter, call: ScanCallFields): void {
  if (call.rows !== undefined) w.uint32(4, call.rows);
  if (call.close !== undefined) w.bool(5, call.close);
  if (call.nextCallSeq !== undefined) w.uint32(6, call.nextCallSeq);
  if (call.partials !== undefined) w.bool(7, call.partials);
  if (call.heartbeats !== undefined) w.bool(8, call.heartbeats);
  if (call.metrics !== undefined) w.bool(9, call.metrics);
  if (call.renew !== undefined) w.bool(10, call.renew);
  if (call.limit !== undefined) w.uint32(11, call.limit);
}

export function openScan(name: Uint8Array, scan: ScanFields, call: ScanCallFields): Uint8Array {
  return message((w) => {
    region(w, name);
    nested(w, 2, (inner) => writeScan(inner, scan));
    writeScanCall(w, call);
  });
}

function writeScan(w: ProtoWriter, scan: ScanFields): void {
  columns(w, 1, scan.columns);
  for (const [name, value] of Object.entries(scan.attributes ?? {})) {
    nested(w, 2, (attribute) => {
      attribute.string(1, name);
      attribute.bytes(2, value);
    });
  }
  if (scan.start !== undefined) w.bytes(3, utf8(scan.start));
  if (scan.stop !== undefined) w.bytes(4, utf8(scan.stop));
  if (scan.filter !== undefined) w.bytes(5, scan.filter);
  if (scan.versions !== undefined) w.uint32(7, scan.versions);
  if (scan.batch !== undefined) w.uint32(9, scan.batch);
  if (scan.maxResultSize !== undefined) w.count(10, scan.maxResultSize);
  if (scan.reversed !== undefined) w.bool(15, scan.reversed);
  if (scan.allowPartial !== undefined) w.bool(18, scan.allowPartial);
  if (scan.readPoint !== undefined) w.bigint(20, scan.readPoint);
  if (scan.includeStart !== undefined) w.bool(21, scan.includeStart);
  if (scan.includeStop !== undefined) w.bool(22, scan.includeStop);
  if (scan.needCursor !== undefined) w.bool(24, scan.needCursor);
}

export function nextScan(scannerId: bigint, call: ScanCallFields): Uint8Array {
  return message((w) => {
    w.bigint(3, scannerId);
    writeScanCall(w, call);
  });
}

/** A cell block of cells `row/family:qualifier@ts=value`. */
export function cellBlock(...cells: readonly string[]): Uint8Array {
  const parts = cells.map((text) => {
    const [, row = '', family = '', qualifier = '', ts = '', value = ''] =
      /^([^/]*)\/([^:]*):([^@]*)@(\d+)=(.*)$/.exec(text) ?? [];
    const timestamp = BigInt(ts);
    const fields = {
      row: utf8(row),
      family: utf8(family),
      qualifier: utf8(qualifier),
      timestampHigh: Number(timestamp >> 32n),
      timestampLow: Number(timestamp & 0xffffffffn),
      type: 4,
      value: utf8(value),
      tags: new Uint8Array(0),
    };
    const size = keyValueSize(row.length, family.length, qualifier.length, value.length, 0);
    const buf = Buffer.alloc(4 + size);
    putU32(buf, 0, size);
    writeKeyValue(buf, 4, fields);
    return buf;
  });
  return Buffer.concat(parts);
}

/** The cells of a block as `row/family:qualifier@ts=value`; of type Put unless it says otherwise. */
export function cellTexts(block: Uint8Array): string[] {
  const buf = Buffer.from(block);
  const texts: string[] = [];
  for (let at = 0; at < buf.length; at += 4 + u32(buf, at)) {
    const cell = at + 4;
    const keyEnd = cell + 8 + u32(buf, cell);
    const rowEnd = cell + 10 + u16(buf, cell + 8);
    const familyEnd = rowEnd + 1 + buf[rowEnd]!;
    const type = buf[keyEnd - 1]!;
    texts.push(
      `${buf.toString('latin1', cell + 10, rowEnd)}/${buf.toString('latin1', rowEnd + 1, familyEnd)}:` +
        `${buf.toString('latin1', familyEnd, keyEnd - 9)}@${u64(buf, keyEnd - 9)}=` +
        `${buf.toString('latin1', keyEnd, keyEnd + u32(buf, cell + 4))}${type === 4 ? '' : ` type ${type}`}`,
    );
  }
  return texts;
}

/** A message's fields as plain values: numbers as bigint, bytes as they are; repeated ones in a list. */
export function fieldsOf(bytes: Uint8Array): Map<number, (bigint | Uint8Array)[]> {
  const fields = new Map<number, (bigint | Uint8Array)[]>();
  const reader = new ProtoReader(bytes);
  while (reader.next()) {
    const value = reader.wireType === 2 ? reader.bytes() : reader.bigUint64();
    fields.set(reader.field, [...(fields.get(reader.field) ?? []), value]);
  }
  return fields;
}

/** What a ScanResponse says. */
export interface ScanAnswer {
  readonly id: bigint;
  readonly cellsPerResult: number[];
  readonly partials: boolean[];
  readonly moreResults: boolean;
  readonly moreInRegion: boolean;
  readonly ttl: number | null;
  readonly heartbeat: boolean;
  readonly readPoint: bigint | null;
  readonly cursor: string | null;
}

export function scanAnswer(bytes: Uint8Array): ScanAnswer {
  const fields = fieldsOf(bytes);
  const numbers = (field: number): bigint[] =>
    (fields.get(field) ?? []).map((value) => BigInt(value as bigint));
  const [id] = numbers(2);
  const [more] = numbers(3);
  const [ttl] = numbers(4);
  const [moreInRegion] = numbers(8);
  const [heartbeat] = numbers(9);
  const [readPoint] = numbers(11);
  const cursor = fields.get(12)?.[0] as Uint8Array | undefined;
  return {
    id: id ?? 0n,
    cellsPerResult: numbers(1).map(Number),
    partials: numbers(7).map((flag) => flag === 1n),
    moreResults: more === 1n,
    moreInRegion: moreInRegion === 1n,
    ttl: ttl === undefined ? null : Number(ttl),
    heartbeat: heartbeat === 1n,
    readPoint: readPoint ?? null,
    cursor:
      cursor === undefined
        ? null
        : Buffer.from(fieldsOf(cursor).get(1)![0] as Uint8Array).toString('latin1'),
  };
}
