/**
 * AggregateService: figures over the cells of a scan in one region, with HBase's column interpreters
 * (protocol/client-service.md section 7).
 *
 *     AggregateRequest   1 interpreter_class_name · 2 scan · 3 interpreter_specific_bytes
 *     AggregateResponse  1 first_part, repeated · 2 second_part
 */
import { END, WAIT } from '../../../cell/index.ts';
import type { RegionServer } from '../../../engine/index.ts';
import type { ScanSpec } from '../../../model/index.ts';
import { CellBatch } from '../../../region/index.ts';
import type { RegionScanner } from '../../../region/index.ts';
import { ProtoReader, ProtoWriter, readScan } from '../../../wire/index.ts';
import { RemoteException } from '../exceptions.ts';
import { withInterpreter } from './interpreters.ts';
import type { Interpreter } from './interpreters.ts';
import type { FoundRegion } from './regions.ts';

const EMPTY: Uint8Array = new Uint8Array(0);
const STEP = { resultsMax: 1000, bytesMax: 1024 * 1024, examinedMax: 20_000 };

/** A row's values, of the first and the second qualifier where two are named. */
type Visit<T> = (values: (T | null)[], second: (T | null)[]) => void;

export class Aggregates {
  readonly #engine: RegionServer;

  constructor(engine: RegionServer) {
    this.#engine = engine;
  }

  /** Runs the AggregateRequest that the reader has begun and gives the AggregateResponse. */
  async run(found: FoundRegion, method: string, reader: ProtoReader): Promise<Uint8Array> {
    let className = '';
    let spec: ScanSpec | null = null;
    while (reader.next()) {
      if (reader.field === 1) className = reader.string();
      else if (reader.field === 2) {
        spec = readScan(new ProtoReader(Uint8Array.from(reader.bytes()))).spec;
      } else reader.skip();
    }
    if (spec === null || spec.families?.length !== 1) {
      throw new RemoteException('DoNotRetryIOException', 'An aggregate needs a scan of one family');
    }
    const scan = spec;
    const answer = withInterpreter(className, (interpreter) =>
      this.#aggregate(found, method, scan, interpreter),
    );
    if (answer !== null) return answer;
    throw new RemoteException(
      'DoNotRetryIOException',
      `java.lang.ClassNotFoundException: ${className}`,
    );
  }

  async #aggregate<T>(
    found: FoundRegion,
    method: string,
    spec: ScanSpec,
    interpreter: Interpreter<T>,
  ): Promise<Uint8Array> {
    const figures = new Figures(interpreter);
    switch (method) {
      case 'GetMax':
      case 'GetMin': {
        const sign = method === 'GetMax' ? 1 : -1;
        await this.#scan(found, spec, interpreter, (values) => figures.best(values, sign));
        return response(figures.chosen === null ? [] : [interpreter.cell(figures.chosen)]);
      }
      case 'GetSum':
        await this.#scan(found, spec, interpreter, (values) => figures.add(values));
        return response(figures.sum === null ? [] : [interpreter.promoted(figures.sum)]);
      case 'GetRowNum':
        await this.#scan(found, spec, interpreter, () => figures.rows++);
        return response([int64(figures.rows)]);
      case 'GetAvg':
        await this.#scan(found, spec, interpreter, (values) => figures.add(values));
        return response(
          figures.sum === null ? [] : [interpreter.promoted(figures.sum)],
          int64(figures.rows),
        );
      case 'GetStd':
        await this.#scan(found, spec, interpreter, (values) => figures.addSquares(values));
        return response(figures.squares(), int64(figures.rows));
      case 'GetMedian':
        await this.#scan(found, spec, interpreter, (values, weights) => {
          figures.add(values);
          figures.addWeights(weights);
        });
        return response(figures.median());
      default:
        throw new RemoteException('UnknownProtocolException', `Unknown method ${method}`);
    }
  }

  async #scan<T>(
    found: FoundRegion,
    spec: ScanSpec,
    interpreter: Interpreter<T>,
    visit: Visit<T>,
  ): Promise<void> {
    const { reads, readPoint, env } = this.#engine;
    const moment = { high: readPoint.high, low: readPoint.low, nowMs: reads.clock.followedMs() };
    for (const { family } of spec.families ?? []) found.table.familyIndex(family);
    const scanner: RegionScanner | null = reads.openRegion(found.table, found.region, spec, moment);
    if (scanner === null) return;
    const hold = reads.hold(moment);
    const batch = new CellBatch();
    try {
      for (;;) {
        const state = scanner.next(batch, STEP);
        for (let i = 0; i < batch.size; i++) visitRow(batch, i, spec, interpreter, visit);
        batch.clear();
        if (state === END) return;
        if (state === WAIT) await scanner.load();
        else await new Promise<void>((resolve) => env.timers.soon(resolve));
      }
    } finally {
      scanner.close();
      hold.release();
    }
  }
}

function visitRow<T>(
  batch: CellBatch,
  index: number,
  spec: ScanSpec,
  interpreter: Interpreter<T>,
  visit: Visit<T>,
): void {
  const qualifiers = spec.families?.[0]?.qualifiers ?? null;
  // With two columns the second one has the weights, whichever order their names have.
  const second = qualifiers !== null && qualifiers.length > 1 ? qualifiers[1] : undefined;
  const values: (T | null)[] = [];
  const weights: (T | null)[] = [];
  for (const { qualifier, value } of batch.result(index).cells) {
    const isSecond = second !== undefined && Buffer.compare(qualifier, second) === 0;
    (isSecond ? weights : values).push(interpreter.value(value));
  }
  visit(values, weights);
}

/** What the methods gather. */
class Figures<T> {
  chosen: T | null = null;
  sum: T | null = null;
  rows = 0;
  #sumOfSquares: T | null = null;
  #weights: T | null = null;
  readonly #interpreter: Interpreter<T>;

  constructor(interpreter: Interpreter<T>) {
    this.#interpreter = interpreter;
  }

  best(values: readonly (T | null)[], sign: number): void {
    for (const value of values) {
      if (value === null) continue;
      const order = this.chosen === null ? 1 : this.#interpreter.compare(value, this.chosen);
      if (this.chosen === null || order * sign > 0) this.chosen = value;
    }
  }

  add(values: readonly (T | null)[]): void {
    for (const value of values) this.sum = this.#plus(this.sum, value);
    this.rows++;
  }

  addWeights(weights: readonly (T | null)[]): void {
    for (const weight of weights) this.#weights = this.#plus(this.#weights, weight);
  }

  /** The sum of the rows' sums, and that of their squares. */
  addSquares(values: readonly (T | null)[]): void {
    let row: T | null = null;
    for (const value of values) row = this.#plus(row, value);
    this.rows++;
    if (row === null) return;
    this.sum = this.#plus(this.sum, row);
    this.#sumOfSquares = this.#plus(this.#sumOfSquares, this.#interpreter.times(row, row));
  }

  #plus(sum: T | null, value: T | null): T | null {
    if (value === null) return sum;
    return sum === null ? value : this.#interpreter.plus(sum, value);
  }

  squares(): Uint8Array[] {
    if (this.sum === null || this.#sumOfSquares === null) return [];
    return [this.#interpreter.promoted(this.sum), this.#interpreter.promoted(this.#sumOfSquares)];
  }

  median(): Uint8Array[] {
    if (this.sum === null) return [];
    const weights = this.#weights ?? this.#interpreter.zero;
    return [this.#interpreter.promoted(this.sum), this.#interpreter.promoted(weights)];
  }
}

function response(first: readonly Uint8Array[], second: Uint8Array = EMPTY): Uint8Array {
  const writer = new ProtoWriter(64);
  for (const part of first) writer.bytes(1, part);
  if (second.length > 0) writer.bytes(2, second);
  return writer.take();
}

function int64(value: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}
