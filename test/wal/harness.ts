/** Small words for the tests of the log: a simulated machine, commits with numbers for TSOs, and what recovery gives. */
import { toBytes, TYPE_PUT, writeKeyValue, keyValueSize } from '../../src/cell/index.ts';
import { simEnv, type Env, type SimEnv } from '../../src/io/index.ts';
import {
  commitSizeMax,
  FSYNC_WAL,
  KIND_COMMIT,
  LogWriter,
  recoverLog,
  type LogFailedException,
  type LogListener,
  type LogOptions,
  type LogRecord,
  type RecoveredLog,
  type RecoverOptions,
} from '../../src/wal/index.ts';

export const DIR = 'store/wal';

export function cellOf(row: string, value: string): Uint8Array {
  const parts = {
    row: toBytes(row),
    family: toBytes('f'),
    qualifier: toBytes('q'),
    timestampHigh: 0,
    timestampLow: 7,
    type: TYPE_PUT,
    value: toBytes(value),
    tags: new Uint8Array(0),
  };
  const cell = new Uint8Array(keyValueSize(parts.row.length, 1, 1, parts.value.length, 0));
  writeKeyValue(cell, 0, parts);
  return cell;
}

/** Listens to a log: the points as it reported them, and who waits for a read point. */
export class Points implements LogListener {
  read = 0;
  durable = 0;
  failure: LogFailedException | null = null;
  /** `read/durable` of each report. */
  readonly reports: string[] = [];
  #waiting: { tso: number; resolve: () => void; reject: (error: Error) => void }[] = [];

  constructor(start: number = 0) {
    this.read = this.durable = start;
  }

  advanced(readHigh: number, readLow: number, durableHigh: number, durableLow: number): void {
    this.read = readHigh * 2 ** 32 + readLow;
    this.durable = durableHigh * 2 ** 32 + durableLow;
    this.reports.push(`${this.read}/${this.durable}`);
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ tso }) => tso > this.read);
    for (const { tso, resolve } of waiting) if (tso <= this.read) resolve();
  }

  failed(error: LogFailedException): void {
    this.failure = error;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  reached(tso: number): Promise<void> {
    if (tso <= this.read) return Promise.resolve();
    if (this.failure !== null) return Promise.reject(this.failure);
    return new Promise((resolve, reject) => this.#waiting.push({ tso, resolve, reject }));
  }
}

export interface CommitOptions {
  readonly durability?: number;
  readonly nonce?: Uint8Array | null;
  readonly label?: string | null;
  readonly value?: string;
}

/** A bound of a commit's size in the log. */
export function sizeOf(options: CommitOptions = {}): number {
  const valueLength = options.value?.length ?? 30;
  return commitSizeMax({
    cellBytes: 60 + valueLength,
    cellCount: 1,
    groupCount: 1,
    labelLength: options.label?.length ?? 0,
  });
}

/** A log under test: commits carry one cell `row<tso>`. */
export class Log {
  readonly env: Env;
  readonly points: Points;
  readonly writer: LogWriter;
  readonly recovered: RecoveredLog;
  readonly records: string[];
  tso: number;

  constructor(env: Env, recovered: RecoveredLog, records: string[], options: LogOptions) {
    this.env = env;
    this.recovered = recovered;
    this.records = records;
    this.tso = recovered.lastHigh * 2 ** 32 + recovered.lastLow;
    this.points = new Points(this.tso);
    this.writer = new LogWriter(
      env,
      DIR,
      { blockingSync: false, ...options },
      recovered,
      this.points,
    );
  }

  /** Appends a commit; gives its TSO. Rejects if there is no room to be had. */
  async append(options: CommitOptions = {}): Promise<number> {
    const size = sizeOf(options);
    while (!this.writer.roomFor(size)) await this.writer.makeRoom(size);
    return this.put(options);
  }

  /** Appends now; the room was checked. */
  put(options: CommitOptions = {}): number {
    const tso = ++this.tso;
    const cell = cellOf(`row${tso}`, options.value ?? `value${tso}`);
    this.writer.begin({
      kind: KIND_COMMIT,
      tsoHigh: Math.floor(tso / 2 ** 32),
      tsoLow: tso >>> 0,
      nonce: options.nonce ?? null,
      label: options.label ?? null,
      durability: options.durability ?? FSYNC_WAL,
    });
    this.writer.group(3, 5);
    this.writer.cell(cell, 0, cell.length);
    this.writer.end();
    return tso;
  }

  /** Appends a commit and waits for what it asked for. */
  async commit(options: CommitOptions = {}): Promise<number> {
    const tso = await this.append(options);
    await this.points.reached(tso);
    return tso;
  }

  skip(): number {
    const tso = ++this.tso;
    this.writer.skipped(Math.floor(tso / 2 ** 32), tso >>> 0);
    return tso;
  }
}

/** A record in short: `tso`, its cells' row=value, and what else it carries. */
export function showRecord(record: LogRecord): string {
  const parts: string[] = [`${record.tso}`];
  if (record.hasSkipped) parts.push(`skipped ${record.skippedFirst}-${record.skippedLast}`);
  while (record.nextGroup()) {
    while (record.nextCell()) {
      const { buf, cellAt, cellLength } = record;
      const rowLength = buf[cellAt + 9]!;
      const cell = Buffer.from(buf.slice(cellAt, cellAt + cellLength));
      const row = cell.subarray(10, 10 + rowLength).toString();
      const value = cell.subarray(8 + cell.readUInt32BE(0)).toString();
      parts.push(`${record.tableId}:${record.familyId} ${row}=${value}`);
    }
  }
  if (record.label !== null) parts.push(`label ${record.label}`);
  if (record.nonce !== null) parts.push(`nonce ${Buffer.from(record.nonce).toString('hex')}`);
  return parts.join(' ');
}

export const lineOf = (tso: number, value: string = `value${tso}`): string =>
  `${tso} 3:5 row${tso}=${value}`;

export const linesTo = (last: number): string[] =>
  Array.from({ length: last }, (_, i) => lineOf(i + 1));

export async function openLog(env: Env, options: LogOptions & RecoverOptions = {}): Promise<Log> {
  const records: string[] = [];
  const recovered = await recoverLog(env, DIR, options, (record) => {
    records.push(showRecord(record));
  });
  return new Log(env, recovered, records, options);
}

/** A machine whose disk has the folder of the store. */
export function machine(seed: number = 1): SimEnv {
  const env = simEnv({ seed });
  env.fs.plant('store/NOTE', new Uint8Array(0));
  return env;
}

/** Opens a log, lets `work` use it, and closes it. */
export function withLog(
  env: SimEnv,
  work: (log: Log) => Promise<void>,
  options: LogOptions & RecoverOptions = {},
): Promise<void> {
  return env.drive(
    (async () => {
      const log = await openLog(env, options);
      await work(log);
      await log.writer.close();
    })(),
  );
}

/** The records that recovery gives. */
export async function recordsOf(env: SimEnv, options: RecoverOptions = {}): Promise<string[]> {
  return (await env.drive(openLog(env, options))).records;
}
