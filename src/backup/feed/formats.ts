/**
 * The feed as lines of JSON (transactions.md section 6). Bytes are base64, or text where asked for; 64-bit numbers are decimal
 * text, but `ts` and `ts_ms`, which are milliseconds as JSON integers.
 *
 *     cell         one cell a line: tso, seq, table, row, family, qualifier, type, ts, value, label, ttl; old cells as `before`
 *     debezium     one row a line: op c, u (always with before) or d; before, after, source, transaction, ts_ms
 *     doris        the row's columns, and __DORIS_BINLOG_OP__ (0 insert, 1 delete, 2 before an update, 3 after it), _TSO__, _LSN__
 *     cloudevents  any of them as `data` of a CloudEvent; its id is `tso-seq`
 */
import { isUtf8 } from 'node:buffer';
import type { Change, ChangeCell, CommitChange } from './change.ts';
import { rowEventsOf } from './row_events.ts';
import type { ColumnName, RowEvent } from './row_events.ts';

export const FEED_FORMATS = ['cell', 'debezium', 'doris', 'cloudevents'] as const;
export type FeedFormat = (typeof FEED_FORMATS)[number];
/** DETAIL: everything. MIN_DELTA: of a row what remains of a window. APPEND_ONLY: puts and created rows alone. */
export const FEED_MODES = ['DETAIL', 'MIN_DELTA', 'APPEND_ONLY'] as const;
export type FeedMode = (typeof FEED_MODES)[number];
export type FeedEncoding = 'base64' | 'utf8';

export interface FormatOptions {
  readonly format: FeedFormat;
  readonly encoding: FeedEncoding;
  readonly mode: FeedMode;
  /** What a cloud event carries. Default `cell`. */
  readonly wrapped?: Exclude<FeedFormat, 'cloudevents'>;
  /** Watermarks in formats other than `cell`. */
  readonly heartbeats: boolean;
  readonly serverId: string;
}

const NAME = 'cellar';

/** The lines of one change, without line feeds. */
export class FeedFormatter {
  readonly #options: FormatOptions;
  /** MIN_DELTA: the last event of each row, and the first `before`. */
  readonly #rows = new Map<string, RowEvent>();

  constructor(options: FormatOptions) {
    this.#options = options;
  }

  /** Lines that are no changes, such as watermarks, may stand among them. */
  get tellsProgress(): boolean {
    return this.#options.format === 'cell' || this.#options.heartbeats;
  }

  lines(change: Change): string[] {
    const { format, heartbeats, mode } = this.#options;
    switch (change.kind) {
      case 'gap':
        return [`{"gap":["${change.first}","${change.last}"]}`];
      case 'watermark': {
        const rest = mode === 'MIN_DELTA' ? this.#flush() : [];
        const isTold = format === 'cell' || heartbeats;
        return isTold ? [...rest, `{"watermark":"${change.tso}"}`] : rest;
      }
      case 'commit':
        if (mode !== 'MIN_DELTA') return this.#commitLines(change);
        for (const event of rowEventsOf(change)) this.#fold(event);
        return [];
    }
  }

  #commitLines(commit: CommitChange): string[] {
    const { format, wrapped = 'cell' } = this.#options;
    if (format !== 'cloudevents') return this.#plainLines(commit, format).map(({ text }) => text);
    return this.#plainLines(commit, wrapped).map((line) => this.#cloudEvent(line, wrapped));
  }

  #plainLines(commit: CommitChange, format: Exclude<FeedFormat, 'cloudevents'>): Line[] {
    const isAppendOnly = this.#options.mode === 'APPEND_ONLY';
    if (format === 'cell') {
      const lines = commit.cells.flatMap((cell, i) =>
        isAppendOnly && cell.type !== 'Put' ? [] : [this.#cellLine(commit, cell, commit.seq + i)],
      );
      if (commit.before === null || isAppendOnly) return lines;
      return [...commit.before.map((cell) => this.#beforeLine(commit, cell)), ...lines];
    }
    const events = rowEventsOf(commit).filter(({ op }) => !isAppendOnly || op === 'c');
    return events.flatMap((event, i) => this.#eventLines(event, format, i, events.length));
  }

  #eventLines(
    event: RowEvent,
    format: Exclude<FeedFormat, 'cloudevents' | 'cell'>,
    index: number,
    count: number,
  ): Line[] {
    const { tso, seq, table } = event;
    const texts =
      format === 'debezium' ? [this.#debezium(event, index, count)] : this.#doris(event);
    return texts.map((text) => ({ tso, seq, table, text }));
  }

  #cellLine(commit: CommitChange, cell: ChangeCell, seq: number): Line {
    const { tso } = commit;
    const { table } = cell;
    return { tso, seq, table, text: this.#cellText(commit, cell, seq, false) };
  }

  #beforeLine(commit: CommitChange, cell: ChangeCell): Line {
    const { tso, seq } = commit;
    return { tso, seq, table: cell.table, text: this.#cellText(commit, cell, seq, true) };
  }

  #cellText(commit: CommitChange, cell: ChangeCell, seq: number, isBefore: boolean): string {
    const { table, row, family, qualifier, type, ts, value, ttl } = cell;
    const members = [
      `"tso":"${commit.tso}"`,
      `"seq":${seq}`,
      `"table":${JSON.stringify(table)}`,
      `"row":${this.#bytes(row)}`,
      `"family":${JSON.stringify(family)}`,
      `"qualifier":${this.#bytes(qualifier)}`,
      `"type":"${type}"`,
      `"ts":${ts}`,
      `"value":${this.#bytes(value)}`,
      ...(ttl === null ? [] : [`"ttl":${ttl}`]),
      `"label":${JSON.stringify(commit.label)}`,
      ...(isBefore ? ['"before":true'] : []),
    ];
    return `{${members.join(',')}}`;
  }

  /** Base64, or text; bytes that are no UTF-8 stay base64 behind a mark. */
  #bytes(bytes: Uint8Array): string {
    const buf = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    if (this.#options.encoding === 'base64') return `"${buf.toString('base64')}"`;
    return JSON.stringify(isUtf8(buf) ? buf.toString('utf8') : `base64:${buf.toString('base64')}`);
  }

  #columns(row: Uint8Array, columns: ReadonlyMap<ColumnName, Uint8Array> | null): string {
    const members = [`"row":${this.#bytes(row)}`];
    for (const [column, value] of columns ?? []) {
      members.push(`${JSON.stringify(this.#columnText(column))}:${this.#bytes(value)}`);
    }
    return `{${members.join(',')}}`;
  }

  /** Qualifiers that are UTF-8 are text in every encoding. */
  #columnText(column: ColumnName): string {
    const bytes = Buffer.from(column, 'latin1');
    return isUtf8(bytes) ? bytes.toString('utf8') : column;
  }

  #debezium(event: RowEvent, index: number, count: number): string {
    const { tso, seq, label, table, row, op, before, after } = event;
    const ms = tso >> 18n;
    const [namespace, name] = table.includes(':') ? table.split(':') : ['default', table];
    // A deletion always names its row, as readers of the format ask for.
    const old = before !== null || op === 'd' ? this.#columns(row, before) : 'null';
    const source = [
      `"connector":"${NAME}"`,
      `"name":"${NAME}"`,
      `"version":"1"`,
      `"db":${JSON.stringify(namespace)}`,
      `"namespace":${JSON.stringify(namespace)}`,
      `"table":${JSON.stringify(name)}`,
      `"tso":"${tso}"`,
      `"seq":${seq}`,
      `"label":${JSON.stringify(label)}`,
      `"ts_ms":${ms}`,
    ].join(',');
    const order = `"id":"${tso}","total_order":${index + 1},"data_collection_order":${index + 1},"event_count":${count}`;
    return (
      `{"before":${old},"after":${after === null ? 'null' : this.#columns(row, after)},` +
      `"source":{${source}},"op":"${op}","ts_ms":${ms},"transaction":{${order}}}`
    );
  }

  #doris({ tso, seq, row, op, before, after }: RowEvent): string[] {
    const line = (columns: ReadonlyMap<ColumnName, Uint8Array> | null, code: number): string =>
      `${this.#columns(row, columns).slice(0, -1)},"__DORIS_BINLOG_OP__":${code},"_TSO__":"${tso}","_LSN__":"${tso}-${seq}"}`;
    switch (op) {
      case 'c':
        return [line(after, 0)];
      case 'd':
        return [line(before, 1)];
      case 'u':
        return [line(before, 2), line(after, 3)];
    }
  }

  #cloudEvent({ tso, seq, table, text }: Line, format: string): string {
    const time = new Date(Number(tso >> 18n)).toISOString();
    return (
      `{"specversion":"1.0","id":"${tso}-${seq}","source":${JSON.stringify(`/cellar/${this.#options.serverId}/${table}`)},` +
      `"type":"cellar.change.${format}","time":"${time}","datacontenttype":"application/json","data":${text}}`
    );
  }

  /** MIN_DELTA: what is known of the row so far, and this. */
  #fold(event: RowEvent): void {
    const key = `${event.table}\0${Buffer.from(event.row).toString('latin1')}`;
    const earlier = this.#rows.get(key);
    if (earlier === undefined) {
      this.#rows.set(key, event);
      return;
    }
    const before = earlier.op === 'c' ? null : earlier.before;
    const after = mergedAfter(earlier, event);
    this.#rows.delete(key);
    if (earlier.op === 'c' && event.op === 'd') {
      // Only where it is known that there was nothing before does it leave nothing.
      this.#rows.set(key, { ...event, before: null });
      return;
    }
    const op = after === null ? 'd' : before === null ? 'c' : 'u';
    this.#rows.set(key, { ...event, op, before, after });
  }

  #flush(): string[] {
    const events = [...this.#rows.values()].sort((a, b) =>
      a.tso === b.tso ? a.seq - b.seq : a.tso < b.tso ? -1 : 1,
    );
    this.#rows.clear();
    const { format, wrapped = 'debezium' } = this.#options;
    const plain = format === 'cloudevents' ? wrapped : format;
    const lines = events.flatMap((event, i) =>
      this.#eventLines(event, plain === 'doris' ? 'doris' : 'debezium', i, events.length),
    );
    return format === 'cloudevents'
      ? lines.map((line) => this.#cloudEvent(line, plain))
      : lines.map(({ text }) => text);
  }
}

interface Line {
  readonly tso: bigint;
  readonly seq: number;
  readonly table: string;
  readonly text: string;
}

/** Without old values a later event tells of its own columns only: the earlier ones stay. */
function mergedAfter(
  earlier: RowEvent,
  later: RowEvent,
): ReadonlyMap<ColumnName, Uint8Array> | null {
  if (later.after === null) return null;
  if (later.op === 'u' || earlier.after === null) return later.after;
  return new Map([...earlier.after, ...later.after]);
}
