/** Puts the lines of a stream into a table, in batches; bad lines are told by their number and left out. */
import { DoNotRetryIOException, IllegalArgumentException } from '../../model/index.ts';
import type { Operation, Table } from '../../model/index.ts';
import { lineToPut, type LineFormat } from './columns.ts';
import { DelimitedParser, type DelimitedFormat, type DelimitedLine } from './delimited.ts';

export interface LoadOptions {
  readonly delimited: DelimitedFormat;
  readonly line: LineFormat;
  /** First line to take; those before it are skipped. 2 skips a header. */
  readonly firstLine: number;
  /** Lines a batch. */
  readonly batch: number;
  /** Bad lines that are borne; one more throws TooManyBadLinesException. */
  readonly errorsMax: number;
}

export interface LoadReport {
  /** A bad line, in order within its batch. */
  badLine(line: number, reason: string): void;
  /** After each batch. */
  progress(figures: LoadFigures): void;
  /** True to stop after the batch under way (Ctrl-C). */
  isStopped(): boolean;
}

export interface LoadFigures {
  /** Lines put. */
  lines: number;
  cells: number;
  badLines: number;
  /** Every good line up to this number is in the table. */
  lastLine: number;
  /** Stopped before the end. */
  isStopped: boolean;
}

/** More bad lines than the caller bears. What was loaded before stays. */
export class TooManyBadLinesException extends DoNotRetryIOException {
  override readonly code: string = 'TooManyBadLinesException';
}

interface PendingLine {
  readonly line: number;
  readonly operation: Operation;
  readonly cells: number;
}

/** Loads until the end, `isStopped`, or an error that is not one line's own. */
export async function loadDelimited(
  table: Table,
  source: AsyncIterable<Uint8Array>,
  options: LoadOptions,
  report: LoadReport,
): Promise<LoadFigures> {
  const loader = new Loader(table, options, report);
  const parser = new DelimitedParser(options.delimited);
  for await (const chunk of source) {
    await loader.take(parser.push(chunk));
    if (loader.figures.isStopped) return loader.figures;
  }
  await loader.take(parser.end());
  if (!loader.figures.isStopped) await loader.flush();
  return loader.figures;
}

class Loader {
  readonly figures: LoadFigures = {
    lines: 0,
    cells: 0,
    badLines: 0,
    lastLine: 0,
    isStopped: false,
  };
  readonly #table: Table;
  readonly #options: LoadOptions;
  readonly #report: LoadReport;
  #pending: PendingLine[] = [];

  constructor(table: Table, options: LoadOptions, report: LoadReport) {
    this.#table = table;
    this.#options = options;
    this.#report = report;
  }

  async take(lines: readonly DelimitedLine[]): Promise<void> {
    for (const line of lines) {
      if (line.line < this.#options.firstLine) continue;
      this.#add(line);
      if (this.#pending.length < this.#options.batch) continue;
      await this.flush();
      if (this.figures.isStopped) return;
    }
  }

  #add({ line, fields, fault }: DelimitedLine): void {
    if (fault !== null) {
      this.#bad(line, fault);
      return;
    }
    try {
      const operation = lineToPut(fields, this.#options.line);
      const cells =
        'put' in operation && Array.isArray(operation.values) ? operation.values.length : 0;
      this.#pending.push({ line, operation, cells });
    } catch (error) {
      if (!(error instanceof IllegalArgumentException)) throw error;
      this.#bad(line, error.message);
    }
  }

  /** Writes what is pending. An error that no other line would escape is thrown. */
  async flush(): Promise<void> {
    const pending = this.#pending;
    this.#pending = [];
    if (pending.length > 0) {
      const outcomes = await this.#table.batch(pending.map((item) => item.operation));
      for (const [index, outcome] of outcomes.entries()) {
        const { line, cells } = pending[index]!;
        if (outcome.ok) {
          this.figures.lines += 1;
          this.figures.cells += cells;
        } else if (isOfOneLine(outcome.error)) {
          this.#bad(line, outcome.error.message);
        } else {
          throw outcome.error;
        }
        this.figures.lastLine = line;
      }
    }
    this.figures.isStopped = this.#report.isStopped();
    this.#report.progress(this.figures);
  }

  #bad(line: number, reason: string): void {
    this.figures.badLines += 1;
    this.#report.badLine(line, reason);
    if (this.figures.badLines > this.#options.errorsMax) {
      throw new TooManyBadLinesException(
        `${this.figures.badLines} bad lines, the last is line ${line}: ${reason}`,
      );
    }
  }
}

/** A cell over its limit and the like; not a missing table, a full disk or a closed store. */
function isOfOneLine(error: Error): boolean {
  return (
    error instanceof IllegalArgumentException ||
    (error instanceof DoNotRetryIOException && error.code === 'DoNotRetryIOException')
  );
}
