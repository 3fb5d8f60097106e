/** `cellar diff`: what changed in a table between two moments, or what differs between two stores or backups. */
import type { Command } from 'commander';
import { toStringBinary } from '../cell/index.ts';
import { Work, diffStores, openReadOnly, scanBytes } from '../backup/index.ts';
import type { Difference, TableDifference } from '../backup/index.ts';
import type { EmbeddedConnection } from '../engine/index.ts';
import type { AsOf } from '../model/index.ts';
import { addTargetOptions } from './api_target.ts';
import type { TargetOptions } from './api_target.ts';
import { parseAsOf, parseVersions } from './arguments.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './context.ts';
import type { CliContext } from './context.ts';
import { cellJson, cellText, columnText, toJson, type Printer } from './output.ts';
import { runOrAsk } from './task.ts';
import { guarded, workProgress } from './work_progress.ts';
import type { WorkProgress } from './work_progress.ts';

const DIFF_HELP = `
  cellar diff people --from 2026-05-01T12:00:00Z --to now --data DIR    what changed in a table
  cellar diff DIR_A DIR_B                                              two data folders, or folders of backups
Lines begin with + for cells that came, - for those that went, ~ for those that have another value. Exit status: 0 there is
no difference, 1 there is one.`;

interface DiffFlags extends TargetOptions {
  readonly from?: AsOf;
  readonly to?: AsOf;
  readonly raw?: boolean;
  readonly visible?: boolean;
  readonly versions?: number;
  readonly prefix?: string;
}

/** Adds the command to the program. */
export function addDiffCommand(program: Command, context: CliContext): void {
  addTargetOptions(program.command('diff <TABLE_OR_A> [B]'))
    .description('list the cells that differ between two moments of a table, or two stores')
    .option('--from <TIME>', 'the earlier moment: a TSO or a time', parseAsOf)
    .option('--to <TIME>', 'the later moment; default now', parseAsOf)
    .option('--raw', 'of two moments: delete markers and hidden cells too')
    .option('--visible', 'of two stores: only what reads show, no markers and hidden cells')
    .option('--versions <N>', 'versions a column at most; default all', parseVersions)
    .addHelpText('after', DIFF_HELP)
    .action(async (first: string, second: string | undefined, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<DiffFlags>();
      if (second === undefined) await diffTable(first, flags, context);
      else await diffFolders(first, second, flags, context);
    });
}

async function diffTable(table: string, flags: DiffFlags, context: CliContext): Promise<void> {
  const { from, to = 'now', versions } = flags;
  if (from === undefined) throw new UsageError('diff TABLE needs --from; or name two folders');
  const options = {
    raw: flags.raw === true,
    ...(versions === undefined ? {} : { versions }),
  };
  const task = { task: 'diff', table, from, to, options } as const;
  const printer = context.printer(flags);
  const shown = { isRead: true };
  const done = await runOrAsk(
    context,
    flags,
    task,
    'comparing',
    { mustExist: true },
    async (item, progress) => {
      if ('results' in item) return true; // Of reads.
      shown.isRead = await show(item, printer, context, progress);
      return shown.isRead;
    },
  );
  if (done !== null) await finish(done.count, printer, context);
  // Who reads the lines went away: that is no interruption.
  else if (!shown.isRead) context.exitStatus = EXIT_OK;
}

async function diffFolders(
  a: string,
  b: string,
  flags: DiffFlags,
  context: CliContext,
): Promise<void> {
  if (flags.from !== undefined || flags.to !== undefined) {
    throw new UsageError('--from and --to are for the moments of one table');
  }
  const { env } = context.io;
  const progress = workProgress(context, 'comparing');
  const printer = context.printer(flags);
  const count = await guarded(context, progress, async () => {
    const before = await openReadOnly(env, a, progress.options);
    try {
      const after = await openReadOnly(env, b, progress.options);
      try {
        return await compare([before, after], flags, context, progress, printer);
      } finally {
        await after.close();
      }
    } finally {
      await before.close();
    }
  });
  if (count !== null) await finish(count, printer, context);
}

/** Gives the count of differences. */
async function compare(
  [before, after]: readonly [EmbeddedConnection, EmbeddedConnection],
  { visible, versions }: DiffFlags,
  context: CliContext,
  progress: WorkProgress,
  printer: Printer,
): Promise<number> {
  const work = new Work(context.io.env, progress.options);
  for (const side of [before, after]) {
    work.bytesTotal += scanBytes(side, await side.admin.listTables());
  }
  const options = {
    work,
    raw: visible !== true,
    ...(versions === undefined ? {} : { versions }),
  };
  let count = 0;
  for await (const difference of diffStores(before, after, options)) {
    count++;
    if (!(await show(difference, printer, context, progress))) break;
  }
  return count;
}

/** False: nobody reads any more. */
async function show(
  difference: Difference | TableDifference,
  printer: Printer,
  context: CliContext,
  progress: WorkProgress,
): Promise<boolean> {
  printer.line(printer.json ? differenceJson(difference) : differenceText(difference));
  if (context.io.progressStream === null) return printer.flushIfFull();
  // Both may be on one terminal.
  progress.clear();
  return printer.flush();
}

async function finish(count: number, printer: Printer, context: CliContext): Promise<void> {
  if (count > 0) context.exitStatus = EXIT_FAILED;
  if (!printer.json) printer.line(`${count} difference(s)`);
  await printer.flush();
}

const SIGNS = { added: '+', removed: '-', changed: '~' } as const;

function differenceText(difference: Difference | TableDifference): string {
  const { kind, table } = difference;
  if (!('before' in difference)) return `${SIGNS[kind]} table ${table}`;
  const { before, after } = difference;
  const cell = after ?? before!;
  const was = kind === 'changed' ? ` was ${cellText(before!)}` : '';
  return `${SIGNS[kind]} ${table} ${toStringBinary(cell.row)} ${columnText(cell)} ${cellText(cell)}${was}`;
}

function differenceJson(difference: Difference | TableDifference): string {
  const { kind, table } = difference;
  if (!('before' in difference)) return toJson({ kind, table });
  const { before, after } = difference;
  const members = [
    `"kind":"${kind}"`,
    `"table":${JSON.stringify(table)}`,
    ...(before === null ? [] : [`"before":${cellJson(before)}`]),
    ...(after === null ? [] : [`"after":${cellJson(after)}`]),
  ];
  return `{${members.join(',')}}`;
}
