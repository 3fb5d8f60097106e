/** `cellar load`: CSV and TSV into a table, in the words of HBase's ImportTsv. */
import { Option, type Command } from 'commander';
import { fromStringBinary } from '../cell/index.ts';
import {
  DoNotRetryIOException,
  IllegalArgumentException,
  NoSuchColumnFamilyException,
  TableNotFoundException,
} from '../model/index.ts';
import type { Connection } from '../model/index.ts';
import { parseCount, parseInteger } from './arguments.ts';
import {
  EXIT_FAILED,
  EXIT_INTERRUPTED,
  UsageError,
  type CliContext,
  type GlobalOptions,
} from './context.ts';
import { familiesOf, parseColumns, type FieldRole } from './load/columns.ts';
import { loadDelimited, type LoadFigures, type LoadOptions } from './load/loader.ts';
import { loadProgress } from './load/progress.ts';
import { openInput, streamInput, type Input } from './load/source.ts';
import { errorText, toJson, type Printer } from './output.ts';

const LOAD_HELP = `
COLUMNS says what each field is: HBASE_ROW_KEY (several are joined by --row-separator), HBASE_TS_KEY
(milliseconds), HBASE_CELL_TTL (milliseconds), fam:qual for a cell, - for a field to leave out:
  cellar load quakes quakes.csv.gz --header --columns HBASE_ROW_KEY,HBASE_TS_KEY,info:place,info:mag
FILE may be gzip; - is standard input. A .csv file (or .csv.gz) has commas and RFC 4180 quotes, any
other tabs, unless --separator says otherwise. Bad lines are told on standard error with their number
and left out, and how many there were at the end; what is loaded stays loaded, so a load may be repeated.
Exit status 0: the lines are loaded, but for those told; 1: there were lines but none could be loaded,
there were more bad ones than --max-errors, or the load failed; 130: Ctrl-C, after the batch under way.`;

interface LoadFlags extends GlobalOptions {
  readonly columns: string;
  readonly separator?: string;
  readonly header?: boolean;
  readonly skipHeader?: boolean;
  readonly rowSeparator: string;
  readonly skipEmpty?: boolean;
  readonly ts?: bigint;
  readonly maxErrors: number;
  readonly batch: number;
  readonly create?: boolean;
}

/** Adds the command to the program. */
export function addLoadCommand(program: Command, context: CliContext): void {
  program
    .command('load <TABLE> <FILE>')
    .description('load a CSV or TSV file')
    .requiredOption('--columns <COLUMNS>', 'what each field is, see below')
    .option('--separator <CHARACTER>', "between fields; '\\t' for a tab")
    .option('--header', 'skip the first line')
    .option('--skip-header', 'the same as --header')
    .option('--row-separator <TEXT>', 'between the parts of a composed row', '|')
    .option('--skip-empty', 'an empty field makes no cell')
    .option('--ts <MS>', 'timestamp of lines that carry none', parseInteger)
    .addOption(
      new Option('--max-errors <N>', 'stop after more bad lines than this')
        .argParser((text: string) => parseCount(text))
        .default(Infinity, 'no limit'),
    )
    .option('--batch <N>', 'lines written at once', (t: string) => parseCount(t, 1), 1000)
    .option('--create', 'create the table, with the families of COLUMNS, if it does not exist')
    .addHelpText('after', LOAD_HELP)
    .action(async (table: string, file: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<LoadFlags>();
      const roles = rolesOf(flags.columns);
      const options = loadOptionsOf(flags, roles, file);
      const input =
        file === '-' ? streamInput(context.io.stdin) : await openInput(context.io.env.fs, file);
      await context.withStore(
        flags,
        async (store, printer) => {
          await requireTable(store, table, roles, flags.create === true);
          await load({ context, store, printer, table, file }, input, options);
        },
        { mustExist: flags.create !== true },
      );
    });
}

/** The words of --columns; one that is wrong is a fault of the command line. */
function rolesOf(text: string): FieldRole[] {
  try {
    return parseColumns(text);
  } catch (error) {
    if (!(error instanceof IllegalArgumentException)) throw error;
    throw new UsageError(error.message, { cause: error });
  }
}

function loadOptionsOf(flags: LoadFlags, roles: readonly FieldRole[], file: string): LoadOptions {
  const separator = separatorOf(flags.separator, file);
  return {
    delimited: { separator, quotes: separator === COMMA },
    line: {
      roles,
      rowSeparator: fromStringBinary(flags.rowSeparator),
      skipEmpty: flags.skipEmpty === true,
      ts: flags.ts ?? null,
    },
    firstLine: flags.header === true || flags.skipHeader === true ? 2 : 1,
    batch: flags.batch,
    errorsMax: flags.maxErrors,
  };
}

const COMMA = 0x2c;
const TAB = 0x09;

function separatorOf(text: string | undefined, file: string): number {
  if (text === undefined) return /\.csv(\.gz)?$/i.test(file) ? COMMA : TAB;
  const bytes = text === '\\t' || text === 'tab' ? Uint8Array.of(TAB) : fromStringBinary(text);
  if (bytes.length !== 1 || bytes[0] === 0x0a || bytes[0] === 0x0d || bytes[0] === 0x22) {
    throw new UsageError(`--separator must be one byte, no line end and no quote: '${text}'`);
  }
  return bytes[0]!;
}

/** Finds out before the first line that the table or a family is missing. */
async function requireTable(
  store: Connection,
  table: string,
  roles: readonly FieldRole[],
  mayCreate: boolean,
): Promise<void> {
  const families = familiesOf(roles);
  if (!(await store.admin.tableExists(table))) {
    if (!mayCreate) throw new TableNotFoundException(`${table} (give --create to make it)`);
    await store.admin.createTable({ name: table, families });
    return;
  }
  const known = (await store.admin.describeTable(table)).families.map((family) => family.name);
  for (const family of families) {
    if (known.includes(family)) continue;
    throw new NoSuchColumnFamilyException(
      `Column family ${family} does not exist in table ${table}; it has ${known.join(', ')}`,
    );
  }
}

interface LoadTarget {
  readonly context: CliContext;
  readonly store: Connection;
  readonly printer: Printer;
  readonly table: string;
  readonly file: string;
}

async function load(target: LoadTarget, input: Input, options: LoadOptions): Promise<void> {
  const { context, store, printer, table, file } = target;
  const { env, stderr, progressStream } = context.io;
  const beganMs = env.clock.monotonicMs();
  const progress = loadProgress(input, env.clock, stderr, progressStream);
  let isAsked = false;
  const release = context.io.onInterrupt(() => {
    isAsked = true;
  });
  let told: Promise<unknown> = Promise.resolve();
  const tell = (text: () => Promise<unknown>): void => {
    told = told.then(text);
  };
  let figures: LoadFigures;
  try {
    figures = await loadDelimited(store.table(table), input.chunks, options, {
      badLine: (line, reason) => {
        const text = printer.json
          ? toJson({ badLine: line, file, reason })
          : `${file}:${line}: ${reason}`;
        tell(() => stderr.write(`${text}\n`));
      },
      progress: (now) => {
        const { lines, badLines } = now;
        tell(() => progress.update({ ...now, lines, badLines }));
      },
      isStopped: () => isAsked,
    });
  } finally {
    release();
    await told;
    progress.stop();
  }
  const ms = Math.round(env.clock.monotonicMs() - beganMs);
  printSummary(target, figures, ms);
  const { lines, badLines, isStopped } = figures;
  if (badLines > 0) await stderr.write(`${badLinesText(figures, printer.json)}\n`);
  if (isStopped) context.exitStatus = EXIT_INTERRUPTED;
  else if (lines === 0 && badLines > 0) context.exitStatus = EXIT_FAILED;
}

/** The last words on lines that were left out: an error if there were no others. */
function badLinesText({ lines, badLines }: LoadFigures, json: boolean): string {
  if (lines > 0) {
    return json ? toJson({ badLines }) : `${linesText(badLines, 'bad line')} left out, see above`;
  }
  const message = `no line could be loaded, ${linesText(badLines, 'line')} left out`;
  return errorText(new DoNotRetryIOException(message), json);
}

function linesText(count: number, what: string): string {
  return count === 1 ? `1 ${what} was` : `${count} ${what}s were`;
}

function printSummary({ printer, table }: LoadTarget, figures: LoadFigures, ms: number): void {
  const { lines, cells, badLines, lastLine, isStopped } = figures;
  const bad = badLines === 0 ? '' : `, ${badLines} bad lines left out`;
  printer.either(
    { table, lines, cells, badLines, lastLine, interrupted: isStopped, ms },
    isStopped
      ? `Interrupted: ${table} has ${lines} lines, up to line ${lastLine}${bad}`
      : `Loaded ${lines} lines (${cells} cells) into ${table} in ${(ms / 1000).toFixed(1)} s${bad}`,
  );
}
