/** `cellar diff`: what changed in a table between two moments, or what differs between two stores or backups. */
import type { Command } from 'commander';
import { toStringBinary } from '../cell/index.ts';
import { diffMoments, diffStores, openReadOnly } from '../backup/index.ts';
import type { Difference, TableDifference } from '../backup/index.ts';
import type { AsOf } from '../model/index.ts';
import { parseAsOf, parseVersions } from './arguments.ts';
import { EXIT_FAILED, UsageError } from './context.ts';
import type { CliContext, GlobalOptions } from './context.ts';
import { cellJson, cellText, columnText, toJson, type Printer } from './output.ts';

const DIFF_HELP = `
  cellar diff people --from 2026-05-01T12:00:00Z --to now --data DIR    what changed in a table
  cellar diff DIR_A DIR_B                                              two data folders, or folders of backups
Lines begin with + for cells that came, - for those that went, ~ for those that have another value. Exit status: 0 there is
no difference, 1 there is one.`;

interface DiffFlags extends GlobalOptions {
  readonly from?: AsOf;
  readonly to?: AsOf;
  readonly raw?: boolean;
  readonly visible?: boolean;
  readonly versions?: number;
  readonly prefix?: string;
}

/** Adds the command to the program. */
export function addDiffCommand(program: Command, context: CliContext): void {
  program
    .command('diff <TABLE_OR_A> [B]')
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
  await context.withStore(flags, async (store, printer) => {
    const options = {
      raw: flags.raw === true,
      ...(versions === undefined ? {} : { versions }),
    };
    // One moment for the whole comparison.
    const until = to === 'now' ? await store.tso() : to;
    await print(diffMoments(store, table, from, until, options), printer, context);
  });
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
  const before = await openReadOnly(env, a);
  try {
    const after = await openReadOnly(env, b);
    try {
      const { versions } = flags;
      const options = {
        raw: flags.visible !== true,
        ...(versions === undefined ? {} : { versions }),
      };
      await print(diffStores(before, after, options), context.printer(flags), context);
    } finally {
      await after.close();
    }
  } finally {
    await before.close();
  }
}

async function print(
  differences: AsyncGenerator<Difference | TableDifference>,
  printer: Printer,
  context: CliContext,
): Promise<void> {
  let count = 0;
  for await (const difference of differences) {
    count++;
    printer.line(printer.json ? differenceJson(difference) : differenceText(difference));
    if (!(await printer.flushIfFull())) return;
  }
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
