/** Commands on data: put, incr, append, get, scan, count, delete. */
import { Option, type Command } from 'commander';
import { fromStringBinary } from '../cell/index.ts';
import type { CellInput, DeleteSpec, Durability, MutationOptions, Result } from '../model/index.ts';
import { splitColumn } from '../model/index.ts';
import { parseColumn, parseCount, parseInteger } from './arguments.ts';
import { EXIT_OK, UsageError, type CliContext, type GlobalOptions } from './context.ts';
import { cellJson, cellText, columnText, twoColumns, type Printer } from './output.ts';
import {
  addReadOptions,
  addScanOptions,
  readOptionsOf,
  scanOptionsOf,
  type ReadFlags,
  type ScanFlags,
} from './read_options.ts';
import { toStringBinary } from '../cell/index.ts';
import { addTargetOptions, type TargetOptions } from './api_target.ts';
import { runOrAsk } from './task.ts';
import { resultsOf, type Task } from '../backup/index.ts';

export const DURABILITIES: readonly string[] = [
  'USE_DEFAULT',
  'SKIP_WAL',
  'ASYNC_WAL',
  'SYNC_WAL',
  'FSYNC_WAL',
];

const BYTES_HELP = `
Bytes that are not printable are written as \\xNN, as they are shown.`;

const COUNTER_HELP = `
An absent cell counts as 0. To subtract:
  cellar incr people alice n:visits -- -1`;

interface WriteFlags extends GlobalOptions {
  readonly ts?: bigint;
  readonly ttl?: number;
  readonly durability?: Durability;
}

/** Adds the commands to the program. */
export function addDataCommands(program: Command, context: CliContext): void {
  addPut(program, context);
  addIncrement(program, context);
  addAppend(program, context);
  addGet(program, context);
  addScan(program, context);
  addCount(program, context);
  addDelete(program, context);
}

function writeOptionsOf(flags: WriteFlags): MutationOptions {
  return {
    ...(flags.ts === undefined ? {} : { ts: flags.ts }),
    ...(flags.ttl === undefined ? {} : { ttl: flags.ttl }),
    ...(flags.durability === undefined ? {} : { durability: flags.durability }),
  };
}

/** `--durability`, as every writing command takes it. */
export function durabilityOption(): Option {
  return new Option('--durability <D>', "instead of the table's").choices(DURABILITIES);
}

function addPut(program: Command, context: CliContext): void {
  program
    .command('put <TABLE> <ROW> <COLUMN> <VALUE> [MORE...]')
    .description('write cells of one row; MORE are further columns and values')
    .option('--ts <MS>', "timestamp of the cells, by default the server's", parseInteger)
    .option('--ttl <MS>', 'milliseconds that the cells live', (text: string) => parseCount(text, 1))
    .addOption(durabilityOption())
    .addHelpText('after', BYTES_HELP)
    .action(
      async (
        table: string,
        row: string,
        column: string,
        value: string,
        more: string[],
        _: unknown,
        command: Command,
      ) => {
        const flags = command.optsWithGlobals<WriteFlags>();
        const cells = cellsOf([column, value, ...more]);
        await context.withStore(flags, async (store, printer) => {
          const options = writeOptionsOf(flags);
          const tso = await store.table(table).put(fromStringBinary(row), cells, options);
          const what = cells.length === 1 ? '1 cell' : `${cells.length} cells`;
          printer.either({ table, row, cells: cells.length, tso }, `Put ${what} of row ${row}`);
        });
      },
    );
}

function cellsOf(words: readonly string[]): CellInput[] {
  if (words.length % 2 !== 0) throw new UsageError(`no value for column ${words.at(-1)}`);
  const cells: CellInput[] = [];
  for (let i = 0; i < words.length; i += 2) {
    const { family, qualifier } = splitColumn(parseColumn(words[i]!));
    cells.push({ family, qualifier, value: fromStringBinary(words[i + 1]!) });
  }
  return cells;
}

function addIncrement(program: Command, context: CliContext): void {
  program
    .command('incr <TABLE> <ROW> <COLUMN> [AMOUNT]')
    .description('add to a counter of 8 bytes, by default 1, and print its new value')
    .addOption(durabilityOption())
    .addHelpText('after', COUNTER_HELP)
    .action(
      async (
        table: string,
        row: string,
        column: string,
        amount: string | undefined,
        _: unknown,
        command: Command,
      ) => {
        const flags = command.optsWithGlobals<WriteFlags>();
        const amounts = { [textColumn(column)]: parseInteger(amount ?? '1') };
        await context.withStore(flags, async (store, printer) => {
          const { result, tso } = await store
            .table(table)
            .increment(fromStringBinary(row), amounts, writeOptionsOf(flags));
          const value = result?.int64(column) ?? null;
          printer.either({ table, row, value, tso }, `${value}`);
        });
      },
    );
}

function addAppend(program: Command, context: CliContext): void {
  program
    .command('append <TABLE> <ROW> <COLUMN> <VALUE>')
    .description('add bytes to the end of a value, and print the new value')
    .addOption(durabilityOption())
    .addHelpText('after', BYTES_HELP)
    .action(
      async (
        table: string,
        row: string,
        column: string,
        text: string,
        _: unknown,
        command: Command,
      ) => {
        const flags = command.optsWithGlobals<WriteFlags>();
        const values = { [textColumn(column)]: fromStringBinary(text) };
        await context.withStore(flags, async (store, printer) => {
          const { result, tso } = await store
            .table(table)
            .append(fromStringBinary(row), values, writeOptionsOf(flags));
          const value = result?.value(column) ?? new Uint8Array(0);
          printer.either({ table, row, value, tso }, toStringBinary(value));
        });
      },
    );
}

/** A column as increments and appends take them: by name, so its qualifier is text. */
function textColumn(word: string): string {
  if (word.includes('\\x')) throw new UsageError(`the qualifier of ${word} must be text here`);
  return word;
}

function addGet(program: Command, context: CliContext): void {
  addTargetOptions(
    addReadOptions(
      program
        .command('get <TABLE> <ROW> [COLUMN...]')
        .description('print a row, or some of its families (fam) or columns (fam:qual)'),
    ),
  )
    .addHelpText('after', BYTES_HELP)
    .action(async (table: string, row: string, columns: string[], _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ReadFlags & TargetOptions>();
      const options = readOptionsOf(flags, columns);
      const task = { task: 'read', table, get: fromStringBinary(row), options } as const;
      await printRead(context, flags, task, {
        heading: twoColumns('COLUMN', 'CELL'),
        print: (result, printer) => {
          for (const cell of result.cells) {
            if (printer.json) printer.line(cellJson(cell));
            else printer.line(twoColumns(` ${columnText(cell)}`, cellText(cell)));
          }
        },
      });
    });
}

interface Shown {
  readonly heading: string;
  readonly print: (result: Result, printer: Printer) => void;
}

/** Reads from a folder, or from the server that has it open, and prints results as they come. */
async function printRead(
  context: CliContext,
  flags: TargetOptions,
  task: Extract<Task, { readonly task: 'read' }>,
  { heading, print }: Shown,
): Promise<void> {
  const printer = context.printer(flags);
  if (!printer.json) printer.line(heading);
  const shown = { isRead: true };
  const done = await runOrAsk(
    context,
    flags,
    task,
    'reading',
    { mustExist: true },
    async (item) => {
      if (!('results' in item)) return true;
      for (const result of resultsOf(item)) print(result, printer);
      shown.isRead = await printer.flushIfFull();
      return shown.isRead;
    },
  );
  // Who reads the lines went away: that is no interruption.
  if (done === null && !shown.isRead) context.exitStatus = EXIT_OK;
  if (done !== null && !printer.json) printer.line(`${done.rows} row(s)`);
  await printer.flush();
}

/** Prints the cells of a scan's result, one a line. */
export function printResult(result: Result, printer: Printer): void {
  for (const cell of result.cells) {
    if (printer.json) {
      printer.line(cellJson(cell));
    } else {
      const row = ` ${toStringBinary(cell.row)}`;
      printer.line(twoColumns(row, `column=${columnText(cell)}, ${cellText(cell)}`));
    }
  }
}

function addScan(program: Command, context: CliContext): void {
  addTargetOptions(
    addScanOptions(program.command('scan <TABLE>').description('print rows in order')),
  )
    .option('--batch <N>', 'cells at most that are fetched of a row at once', (text: string) =>
      parseCount(text, 1),
    )
    .addHelpText('after', BYTES_HELP)
    .action(async (table: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ScanFlags & TargetOptions & { batch?: number }>();
      const scan = {
        ...scanOptionsOf(flags),
        ...(flags.batch === undefined ? {} : { batch: flags.batch }),
      };
      const heading = twoColumns('ROW', 'COLUMN+CELL');
      await printRead(
        context,
        flags,
        { task: 'read', table, scan },
        { heading, print: printResult },
      );
    });
}

function addCount(program: Command, context: CliContext): void {
  addTargetOptions(
    addScanOptions(program.command('count <TABLE>').description('count rows')),
  ).action(async (table: string, _: unknown, command: Command) => {
    const flags = command.optsWithGlobals<ScanFlags & TargetOptions>();
    const task = { task: 'read', table, count: scanOptionsOf(flags) } as const;
    const done = await runOrAsk(context, flags, task, 'counting');
    if (done === null) return;
    const printer = context.printer(flags);
    printer.either({ count: done.rows, table }, `${done.rows} row(s)`);
    await printer.flush();
  });
}

function addDelete(program: Command, context: CliContext): void {
  program
    .command('delete <TABLE> <ROW> [COLUMN...]')
    .description('delete a row, or some of its families (fam) or columns (fam:qual)')
    .option(
      '--ts <MS>',
      'only cells up to this timestamp (with --one-version: of it)',
      parseInteger,
    )
    .option('--one-version', 'of columns the newest version, or that at --ts, instead of all')
    .addOption(durabilityOption())
    .addHelpText('after', BYTES_HELP)
    .action(async (table: string, row: string, columns: string[], _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<WriteFlags & { oneVersion?: boolean }>();
      const spec = deleteSpecOf(flags, columns);
      await context.withStore(flags, async (store, printer) => {
        const tso = await store.table(table).delete(fromStringBinary(row), spec);
        const what = columns.length === 0 ? '' : `${columns.join(', ')} of `;
        printer.either({ table, row, tso }, `Deleted ${what}row ${row}`);
      });
    });
}

function deleteSpecOf(
  flags: WriteFlags & { oneVersion?: boolean },
  words: readonly string[],
): DeleteSpec {
  const families = words.filter((word) => !word.includes(':'));
  const columns = words.filter((word) => word.includes(':')).map((word) => parseColumn(word));
  if (flags.oneVersion === true && columns.length === 0) {
    throw new UsageError('--one-version needs a column fam:qual');
  }
  return {
    ...(families.length === 0 ? {} : { families }),
    ...(columns.length === 0
      ? {}
      : flags.oneVersion === true
        ? { versions: columns }
        : { columns }),
    ...writeOptionsOf(flags),
  };
}
