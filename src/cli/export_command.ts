/** `cellar export`, `cellar import` and `cellar verify`, in the words of HBase's Export and Import. */
import { Option, type Command } from 'commander';
import { fromStringBinary } from '../cell/index.ts';
import { EXPORT_FORMATS } from '../backup/index.ts';
import type {
  ExportFormat,
  ExportManifest,
  ExportOptions,
  ImportedTable,
  ImportOptions,
} from '../backup/index.ts';
import type { AsOf } from '../model/index.ts';
import { addTargetOptions } from './api_target.ts';
import type { TargetOptions } from './api_target.ts';
import { parseAsOf, parseColumn, parseCount, parseVersions } from './arguments.ts';
import { UsageError } from './context.ts';
import type { CliContext } from './context.ts';
import type { Printer } from './output.ts';
import { runOrAsk } from './task.ts';

const EXPORT_HELP = `
All tables are exported as of one moment: that of the start, or --as-of. sequencefile is what HBase's Export writes and
its Import reads (one folder a table, OUT/<namespace>/<table>); hfile is a folder for a bulk load; jsonl and csv
hold a cell a line. OUT/_cellar.json has counts and checksums: cellar verify OUT checks them.
  cellar export people orders /backup/monday
  cellar export people /tmp/people --format jsonl --versions ALL --raw`;

const IMPORT_HELP = `
Reads what cellar export or HBase's Export wrote. A folder that names no tables (HBase's) needs one: --table.
An import that was stopped goes on where it was when it is run again.
  cellar import /backup/monday --create
  cellar import /tmp/from-hbase --table people --rename-family old=new`;

interface ExportFlags extends TargetOptions {
  readonly all?: boolean;
  readonly format: ExportFormat;
  readonly versions?: number;
  readonly startTime?: bigint;
  readonly endTime?: bigint;
  readonly raw?: boolean;
  readonly columns?: string;
  readonly prefix?: string;
  readonly start?: string;
  readonly stop?: string;
  readonly filter?: string;
  readonly asOf?: AsOf;
  readonly compress?: string;
  readonly bandwidth?: number;
  readonly parallel: number;
}

/** A 64-bit number that may be negative, as recipes for HBase use it. */
function parseTime(text: string): bigint {
  if (!/^[+-]?\d{1,19}$/.test(text)) throw new UsageError(`'${text}' is no time in milliseconds`);
  return BigInt(text);
}

/** Bytes a second: a number, with k, M or G. */
export function parseBandwidth(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([kKmMgG]?)(?:i?[bB])?(?:\/s)?$/.exec(text);
  if (match === null) throw new UsageError(`'${text}' is no bandwidth such as 20M`);
  const unit = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 }[match[2]!.toLowerCase()]!;
  return Number(match[1]) * unit;
}

/** Adds --bandwidth, as every command that copies takes it. */
export function addBandwidth(command: Command): Command {
  return command.option('--bandwidth <RATE>', 'bytes a second at most, e.g. 20M', parseBandwidth);
}

/** Adds `--parallel`; `what` is done side by side. */
export function addParallel(command: Command, what: string): Command {
  const parse = (text: string): number => parseCount(text, 1);
  return command.option('--parallel <N>', `${what} side by side`, parse, 2);
}

/** `a=b` words as an object. */
export function parsePairs(words: readonly string[] | undefined): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const word of (words ?? []).flatMap((part) => part.split(','))) {
    const at = word.indexOf('=');
    if (at < 1 || at === word.length - 1) throw new UsageError(`'${word}' is not OLD=NEW`);
    pairs[word.slice(0, at)] = word.slice(at + 1);
  }
  return pairs;
}

/** Adds the commands to the program. */
export function addExportCommands(program: Command, context: CliContext): void {
  addTargetOptions(
    addParallel(addBandwidth(program.command('export <TABLES_AND_OUT...>')), 'files written'),
  )
    .usage('[options] <TABLE...> <OUT>')
    .description('write tables, as of one moment, into a folder')
    .option('--all', 'all tables: only OUT is named')
    .addOption(
      new Option('--format <F>', 'of the files').choices(EXPORT_FORMATS).default('sequencefile'),
    )
    .option(
      '--versions <N>',
      'versions a column at most, or ALL; default 1, with --raw ALL',
      parseVersions,
    )
    .option(
      '--start-time <MS>',
      'only cells from this timestamp on; below 0 counts as 0',
      parseTime,
    )
    .option(
      '--end-time <MS>',
      "only cells before this timestamp, at most the export's start",
      parseTime,
    )
    .option('--raw', 'delete markers and hidden cells too')
    .option('--columns <COLUMN,...>', 'families or columns, fam or fam:qual')
    .option('--prefix <BYTES>', 'rows that begin with these bytes')
    .option('--start <ROW>', 'first row')
    .option('--stop <ROW>', 'row to stop before')
    .option('--filter <TEXT>', "a filter in HBase's filter language")
    .option('--as-of <TIME>', 'as of a TSO or a time', parseAsOf)
    .option(
      '--compress <C>',
      'none, gz, snappy, lz4, zstd; of SequenceFiles deflate, too; of text none, gz',
    )
    .addHelpText('after', EXPORT_HELP)
    .action(async (words: string[], _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ExportFlags>();
      const out = words.at(-1)!;
      const tables = words.slice(0, -1);
      if (flags.all === true && tables.length > 0) throw new UsageError('--all takes OUT only');
      if (flags.all !== true && tables.length === 0) {
        throw new UsageError('name tables and OUT, or --all and OUT');
      }
      const options = exportOptions(flags);
      const names = flags.all === true ? null : tables;
      const task = { task: 'export', tables: names, out, options } as const;
      const manifest = await runOrAsk(context, flags, task, 'exporting');
      if (manifest === null) return;
      const printer = context.printer(flags);
      printExport(manifest, out, printer);
      await printer.flush();
    });
  addImport(program, context);
}

function exportOptions(flags: ExportFlags): ExportOptions {
  const { versions, startTime, endTime, asOf, compress, bandwidth } = flags;
  const bytes = (text: string | undefined): Uint8Array | undefined =>
    text === undefined ? undefined : fromStringBinary(text);
  const prefix = bytes(flags.prefix);
  const start = bytes(flags.start);
  const stop = bytes(flags.stop);
  const filter = bytes(flags.filter);
  if (prefix !== undefined && (start !== undefined || stop !== undefined)) {
    throw new UsageError('--prefix and --start or --stop exclude each other');
  }
  return {
    format: flags.format,
    raw: flags.raw === true,
    parallel: flags.parallel,
    ...(versions === undefined ? {} : { versions }),
    ...(startTime === undefined ? {} : { startTime }),
    ...(endTime === undefined ? {} : { endTime }),
    ...(flags.columns === undefined ? {} : { columns: flags.columns.split(',').map(parseColumn) }),
    ...(prefix === undefined ? {} : { prefix }),
    ...(start === undefined ? {} : { start }),
    ...(stop === undefined ? {} : { stop }),
    ...(filter === undefined ? {} : { filter }),
    ...(asOf === undefined ? {} : { asOf }),
    ...(compress === undefined ? {} : { compress }),
    ...(bandwidth === undefined ? {} : { bytesPerSecondMax: bandwidth }),
  };
}

function printExport(manifest: ExportManifest, out: string, printer: Printer): void {
  const { tables, tso, time, notes, exportFormat } = manifest;
  const bytes = (files: ExportManifest['tables'][number]['files']): number =>
    files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  printer.either(
    {
      out,
      format: exportFormat,
      tso,
      time,
      tables: tables.map(({ name, rows, cells, puts, deletes, files }) => ({
        table: name,
        rows,
        cells,
        puts,
        deletes,
        files: files.length,
        bytes: bytes(files),
      })),
      notes,
    },
    [
      ...tables.map(
        ({ name, rows, cells, deletes, files }) =>
          `${name}: ${rows} row(s), ${cells} cell(s), ${deletes} marker(s), ${files.length} file(s), ${bytes(files)} bytes`,
      ),
      `Exported ${tables.length} table(s) as of ${tso} (${time}) to ${out}`,
      ...notes.map((note) => `note: ${note}`),
    ],
  );
}

interface ImportFlags extends TargetOptions {
  readonly table?: string;
  readonly tables?: string;
  readonly rename?: string[];
  readonly renameFamily?: string[];
  readonly filter?: string;
  readonly create?: boolean;
  readonly batch?: number;
  readonly skipVerify?: boolean;
  readonly bandwidth?: number;
  readonly parallel: number;
}

function addImport(program: Command, context: CliContext): void {
  addTargetOptions(addParallel(addBandwidth(program.command('import <DIR>')), 'tables written'))
    .description('bring an export back into tables')
    .option('--table <TABLE>', 'of a folder with one table: the table to write')
    .option('--tables <TABLE,...>', 'only these of the export')
    .option('--rename <OLD=NEW...>', 'other names for tables')
    .option('--rename-family <OLD=NEW...>', 'other names for families')
    .option('--filter <TEXT>', "rows and cells to take, in HBase's filter language")
    .option('--create', 'make tables that are not there as the export describes them')
    .option('--batch <N>', 'cells written at once', (text: string) => parseCount(text, 1))
    .option('--skip-verify', 'do not check all checksums first')
    .addHelpText('after', IMPORT_HELP)
    .action(async (dir: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ImportFlags>();
      const task = { task: 'import', dir, options: importOptions(flags) } as const;
      const access = { mustExist: flags.create !== true };
      const done = await runOrAsk(context, flags, task, 'importing', access);
      const printer = context.printer(flags);
      for (const table of done ?? []) printImport(table, printer);
      await printer.flush();
    });
}

function importOptions(flags: ImportFlags): ImportOptions {
  const { table, tables, filter, batch, bandwidth } = flags;
  return {
    rename: { ...(table === undefined ? {} : { '': table }), ...parsePairs(flags.rename) },
    renameFamilies: parsePairs(flags.renameFamily),
    create: flags.create === true,
    skipVerify: flags.skipVerify === true,
    parallel: flags.parallel,
    ...(tables === undefined ? {} : { tables: tables.split(',') }),
    ...(filter === undefined ? {} : { filter: fromStringBinary(filter) }),
    ...(batch === undefined ? {} : { batch }),
    ...(bandwidth === undefined ? {} : { bytesPerSecondMax: bandwidth }),
  };
}

function printImport(done: ImportedTable, printer: Printer): void {
  const { table, puts, deletes, filtered, resumed, tagsLost } = done;
  const extra = [
    filtered > 0 ? `${filtered} filtered out` : '',
    resumed > 0 ? `${resumed} written by an earlier run` : '',
    tagsLost > 0 ? `${tagsLost} tag(s) lost` : '',
  ].filter((text) => text !== '');
  printer.either(
    { ...done },
    `${table}: ${puts} put(s), ${deletes} marker(s)${extra.map((text) => `, ${text}`).join('')}`,
  );
}
