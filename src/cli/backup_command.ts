/** `cellar backup`: create, list, describe, verify, merge, delete and prune backups; and `cellar restore`. */
import type { Command } from 'commander';
import {
  deleteBackups,
  findBackup,
  listBackups,
  mergeBackups,
  pruneBackups,
  restoreBackup,
  summaryOf,
  verifyBackups,
} from '../backup/index.ts';
import type { BackupSummary, PruneRule, RestoreOptions, RestoreReport } from '../backup/index.ts';
import { EmbeddedConnection } from '../engine/index.ts';
import type { RegionServer } from '../engine/index.ts';
import type { AsOf, Connection } from '../model/index.ts';
import { physicalMsOf } from '../tso/index.ts';
import { addTargetOptions } from './api_target.ts';
import type { TargetOptions } from './api_target.ts';
import { parseAsOf } from './arguments.ts';
import { EXIT_FAILED, UsageError } from './context.ts';
import type { CliContext, GlobalOptions } from './context.ts';
import { addBandwidth, addParallel, parsePairs } from './export_command.ts';
import type { Printer } from './output.ts';
import { runOrAsk } from './task.ts';
import { printFaults } from './verify_command.ts';
import { guarded, workProgress } from './work_progress.ts';

const CREATE_HELP = `
A full backup copies the store files as they are at one moment; an incremental one takes the commits since the newest
backup in DEST from the log, which the store keeps for it. Writers go on meanwhile.
  cellar backup create /backups
  cellar backup create /backups --incremental
--standalone takes a full backup on which no incremental one can follow: the store need not keep its log.
--link makes links to the store's files instead of copies: quick, but what damages one damages both.`;

const RESTORE_HELP = `
DIR is a new folder, or a store into which (without DIR: that of --data or --server) the tables are brought (none of them may be there, unless --overwrite).
  cellar restore /backups restored
  cellar restore /backups restored --as-of 2026-05-01T12:00:00Z --tables orders --rename orders=orders_of_may
An interrupted restore leaves DIR as it was.`;

/** The engine of an opened store. Throws UsageError for one that is not embedded. */
export function serverOf(store: Connection): RegionServer {
  if (store instanceof EmbeddedConnection) return store.server;
  throw new UsageError('this command works on a data folder');
}

/** Adds the commands to the program. */
export function addBackupCommands(program: Command, context: CliContext): void {
  const backup = program.command('backup').description('take, check, merge and delete backups');
  addCreate(backup, context);
  addList(backup, context);
  addVerify(backup, context);
  addMerge(backup, context);
  addDelete(backup, context);
  addRestore(program, context);
}

interface CreateFlags extends TargetOptions {
  readonly tables?: string;
  readonly incremental?: boolean;
  readonly link?: boolean;
  readonly standalone?: boolean;
  readonly bandwidth?: number;
  readonly parallel: number;
}

function addCreate(group: Command, context: CliContext): void {
  addTargetOptions(addParallel(addBandwidth(group.command('create <DEST>')), 'files copied'))
    .description('take a backup into the folder DEST')
    .option('--tables <TABLE,...>', 'only these tables; default: all, those made later, too')
    .option('--incremental', 'only the commits since the newest backup in DEST')
    .option('--link', 'full only: link store files instead of copying them')
    .option('--standalone', 'full only: keep no log for incremental backups')
    .addHelpText('after', CREATE_HELP)
    .action(async (dest: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<CreateFlags>();
      const { tables, bandwidth } = flags;
      const options = {
        incremental: flags.incremental === true,
        link: flags.link === true,
        standalone: flags.standalone === true,
        parallel: flags.parallel,
        ...(tables === undefined ? {} : { tables: tables.split(',') }),
        ...(bandwidth === undefined ? {} : { bytesPerSecondMax: bandwidth }),
      };
      const summary = await runOrAsk(
        context,
        flags,
        { task: 'backup', dest, options },
        'backing up',
      );
      if (summary === null) return;
      const printer = context.printer(flags);
      printer.either({ created: true, ...summary }, `Created ${summaryText(summary)}`);
      await printer.flush();
    });
}

const timeText = (tso: bigint): string => new Date(physicalMsOf(tso)).toISOString();

function summaryText(summary: BackupSummary): string {
  const { id, kind, fromTso, toTso, all, tables, files, bytes, linked } = summary;
  const waiting = summary.prepared?.length ?? 0;
  const prepared = waiting === 0 ? '' : `, ${waiting} prepared transaction(s)`;
  const covers =
    fromTso === toTso ? `at ${timeText(toTso)}` : `${timeText(fromTso)} to ${timeText(toTso)}`;
  const whose = all ? 'all tables' : tables.join(', ');
  return `${id}: ${kind}, ${covers}, ${whose}, ${files} file(s), ${bytes} bytes${linked ? ', linked' : ''}${prepared}`;
}

function addList(group: Command, context: CliContext): void {
  group
    .command('list <DEST>')
    .description('list the backups in a folder, the oldest first')
    .action(async (dest: string, _: unknown, command: Command) => {
      const printer = context.printer(command.optsWithGlobals<GlobalOptions>());
      const { backups, broken } = await listBackups(context.io.env, dest);
      for (const summary of backups.map(summaryOf)) {
        printer.either({ ...summary }, summaryText(summary));
      }
      for (const { id, what } of broken) {
        printer.either({ id, damaged: what }, `${id}: damaged: ${what}`);
      }
      await printer.flush();
    });
  group
    .command('describe <DEST> <ID>')
    .description('print what a backup holds')
    .action(async (dest: string, id: string, _: unknown, command: Command) => {
      const printer = context.printer(command.optsWithGlobals<GlobalOptions>());
      const backup = findBackup(await listBackups(context.io.env, dest), id);
      const summary = summaryOf(backup);
      printer.either({ ...summary }, describeLines(summary));
      await printer.flush();
    });
}

function describeLines(summary: BackupSummary): string[] {
  const { id, kind, parentId, fromTso, toTso, createdMs, tables, all, files, bytes } = summary;
  return [
    `backup      ${id}`,
    `kind        ${kind}${summary.linked ? ', its files are links to those of the store' : ''}`,
    `hangs on    ${parentId ?? '-'}`,
    `from        ${fromTso} (${timeText(fromTso)})`,
    `to          ${toTso} (${timeText(toTso)})`,
    `created     ${new Date(createdMs).toISOString()}`,
    `tables      ${all ? 'all: ' : ''}${tables.join(', ')}`,
    `files       ${files}, ${bytes} bytes, of them ${summary.logBytes} of log`,
    `prepared    ${preparedText(summary)}`,
    `merged from ${summary.replaces.length === 0 ? '-' : summary.replaces.join(', ')}`,
    ...(summary.skipped === 0
      ? []
      : [`note        commits of ${summary.skipped} range(s) skipped the log: taken from files`]),
  ];
}

/** Transactions that a restore as of the backup's end has PREPARED again. */
function preparedText({ prepared }: BackupSummary): string {
  if (prepared === null) return 'not known: an older program took it';
  if (prepared.length === 0) return '-';
  const shown = prepared.slice(0, 20).map(({ label, txnId }) => `${label} (${txnId})`);
  return `${prepared.length}: ${shown.join(', ')}${prepared.length > 20 ? ', …' : ''}`;
}

function addVerify(group: Command, context: CliContext): void {
  group
    .command('verify <DEST> [ID...]')
    .description('check the files of backups, and how they hang together')
    .option('--quick', 'lengths and checksums only, cells are not read')
    .action(async (dest: string, ids: string[], _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<GlobalOptions & { quick?: boolean }>();
      const progress = workProgress(context, 'verifying');
      const options = { quick: flags.quick === true, ...progress.options };
      const report = await guarded(context, progress, () =>
        verifyBackups(context.io.env, dest, ids.length === 0 ? null : ids, options),
      );
      if (report === null) return;
      const printer = context.printer(flags);
      printFaults(report, dest, printer);
      if (report.faults.length > 0) context.exitStatus = EXIT_FAILED;
      await printer.flush();
    });
}

function addMerge(group: Command, context: CliContext): void {
  group
    .command('merge <DEST> <ID...>')
    .description('make one backup of several that follow each other; every moment stays covered')
    .action(async (dest: string, ids: string[], _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<GlobalOptions>();
      const progress = workProgress(context, 'merging');
      const merged = await guarded(context, progress, () =>
        mergeBackups(context.io.env, dest, ids, progress.options),
      );
      if (merged === null) return;
      const printer = context.printer(flags);
      const summary = summaryOf(merged);
      printer.either({ merged: true, ...summary }, `Merged into ${summaryText(summary)}`);
      await printer.flush();
    });
}

interface PruneFlags extends TargetOptions {
  readonly keep: PruneRule;
}

/** `3`: so many chains; `30d`, `12h`: those that reach into that time. */
function parseKeep(text: string): PruneRule {
  const match = /^(\d{1,6})([dhm]?)$/.exec(text);
  if (match === null)
    throw new UsageError(`'${text}' is neither a count of chains nor an age such as 30d`);
  const count = Number(match[1]);
  const unit = { '': 0, d: 86_400_000, h: 3_600_000, m: 60_000 }[match[2]!]!;
  return unit === 0 ? { chains: count } : { ageMs: count * unit };
}

function addDelete(group: Command, context: CliContext): void {
  const tellStore = async (flags: TargetOptions, dest: string): Promise<void> => {
    // The store, where one is named, gives free the log that only they needed.
    const isNamed = flags.server ?? flags.data ?? context.io.variables['CELLAR_DATA'];
    if (isNamed === undefined) return;
    await runOrAsk(context, flags, { task: 'reconcile', dest }, 'giving the log free');
  };
  const print = async (flags: GlobalOptions, gone: readonly string[]): Promise<void> => {
    const printer = context.printer(flags);
    for (const id of gone) printer.either({ deleted: true, id }, `Deleted ${id}`);
    if (gone.length === 0 && !printer.json) printer.line('Nothing to delete');
    await printer.flush();
  };
  addTargetOptions(group.command('delete <DEST> <ID...>'))
    .description('delete backups; with --data the store gives the log free that it kept for them')
    .option('--cascade', 'those that hang on them, too')
    .action(async (dest: string, ids: string[], _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<TargetOptions & { cascade?: boolean }>();
      const gone = await deleteBackups(context.io.env, dest, ids, flags.cascade === true);
      await tellStore(flags, dest);
      await print(flags, gone);
    });
  addTargetOptions(group.command('prune <DEST>'))
    .description('delete old chains: a full backup and those that hang on it')
    .requiredOption('--keep <N>', 'chains to keep, or an age: 3, 30d, 12h', parseKeep)
    .action(async (dest: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<PruneFlags>();
      const gone = await pruneBackups(context.io.env, dest, flags.keep);
      await tellStore(flags, dest);
      await print(flags, gone);
    });
}

interface RestoreFlags extends TargetOptions {
  readonly asOf?: AsOf;
  readonly id?: string;
  readonly tables?: string;
  readonly rename?: string[];
  readonly overwrite?: boolean;
  readonly restamp?: boolean;
  readonly withoutTransactions?: boolean;
  readonly bandwidth?: number;
  readonly parallel: number;
}

function addRestore(program: Command, context: CliContext): void {
  addTargetOptions(
    addParallel(addBandwidth(program.command('restore <DEST> [DIR]')), 'files copied'),
  )
    .description('bring the state of any moment that backups cover into a folder or store')
    .option('--as-of <TIME>', 'a TSO or a time; default: the newest there is', parseAsOf)
    .option('--id <ID>', 'the backup whose chain is used')
    .option('--tables <TABLE,...>', 'only these tables')
    .option('--rename <OLD=NEW...>', 'other names for tables')
    .option('--overwrite', 'tables of the same name in DIR make room')
    .option('--restamp', 'give cells the write number of the restore')
    .option('--without-transactions', 'leave out what was prepared and not decided')
    .addHelpText('after', RESTORE_HELP)
    .action(async (dest: string, dir: string | undefined, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<RestoreFlags>();
      const { asOf, id, tables, bandwidth } = flags;
      const options: RestoreOptions = {
        rename: parsePairs(flags.rename),
        overwrite: flags.overwrite === true,
        restamp: flags.restamp === true,
        parallel: flags.parallel,
        transactions: flags.withoutTransactions === true ? 'leave' : 'restore',
        ...(asOf === undefined || asOf === 'now' ? {} : { asOf }),
        ...(id === undefined ? {} : { id }),
        ...(tables === undefined ? {} : { tables: tables.split(',') }),
        ...(bandwidth === undefined ? {} : { bytesPerSecondMax: bandwidth }),
      };
      const report = await restore(context, flags, dest, dir, options);
      if (report === null) return;
      const printer = context.printer(flags);
      printRestore(report, dir ?? flags.server ?? context.dataFolder(flags), printer);
      await printer.flush();
    });
}

/** Into a folder of its own, or the store or server that is named. */
async function restore(
  context: CliContext,
  flags: RestoreFlags,
  dest: string,
  dir: string | undefined,
  options: RestoreOptions,
): Promise<RestoreReport | null> {
  if (dir === undefined) {
    return runOrAsk(context, flags, { task: 'restore', dest, options }, 'restoring');
  }
  const progress = workProgress(context, 'restoring');
  return guarded(context, progress, () =>
    restoreBackup(context.io.env, dest, dir, { ...options, ...progress.options }),
  );
}

function printRestore(report: RestoreReport, dir: string, printer: Printer): void {
  const { tables, tso, files, commits, backups, prepared } = report;
  const waiting = prepared === 0 ? '' : `, ${prepared} prepared transaction(s)`;
  printer.either(
    { dir, ...report },
    `Restored ${tables.join(', ')} as of ${tso} (${timeText(tso)}) into ${dir}: ${files} file(s) of ${backups.length} backup(s), ${commits} commit(s) of the log${waiting}`,
  );
}
