/** `cellar wal`: look into the log, check it, keep it, replay it. */
import type { Command } from 'commander';
import { replayToHFiles, withLogSource } from '../backup/index.ts';
import type { LogKeeping, ReplayOptions, ReplayReport } from '../backup/index.ts';
import { CorruptionException, FileNotFoundException } from '../io/index.ts';
import type { Env } from '../io/index.ts';
import { DataLayout } from '../manifest/index.ts';
import type { AsOf } from '../model/index.ts';
import { tsoAsOf, tsoFrom } from '../tso/index.ts';
import {
  LogReader,
  checkSegment,
  describeRecord,
  listSegments,
  summarizeRecord,
} from '../wal/index.ts';
import type { LogRecord, SegmentCheck } from '../wal/index.ts';
import { addTargetOptions } from './api_target.ts';
import type { TargetOptions } from './api_target.ts';
import { parseAsOf, parseCount } from './arguments.ts';
import { EXIT_FAILED, UsageError } from './context.ts';
import type { CliContext, GlobalOptions } from './context.ts';
import { parsePairs } from './export_command.ts';
import { toJson, type Printer } from './output.ts';
import { runOrAsk } from './task.ts';
import { guarded, workProgress } from './work_progress.ts';

const ARCHIVE_HELP = `
The log is kept beyond what recovery needs while backups or feeds need it, or from now on with --on, until --off.`;

const REPLAY_HELP = `
SRC is a data folder (its log and archive), or a folder of backups. Cells are written as puts and deletes with the timestamps
they had; tables must be there. With --hfiles they go into a folder for a bulk load instead.
  cellar wal replay old-data --tables people --rename people=people2 --data DIR
  cellar wal replay /backups --from 2026-05-01T00:00:00Z --to 2026-05-02T00:00:00Z --hfiles out`;

interface RangeFlags extends GlobalOptions {
  readonly from?: AsOf;
  readonly to?: AsOf;
}

/** Adds the group `wal` to the program. */
export function addWalCommands(program: Command, context: CliContext): void {
  const group = program
    .command('wal')
    .description('look into the write-ahead log, keep it, replay it');
  addDump(group, context);
  addVerify(group, context);
  addArchive(group, context);
  addReplay(group, context);
}

function rangeOptions(command: Command): Command {
  return command
    .option('--from <TIME>', 'from this TSO or time on', parseAsOf)
    .option('--to <TIME>', 'up to this TSO or time', parseAsOf);
}

const firstTso = (from: AsOf | undefined): bigint =>
  from === undefined || from === 'now' ? 0n : from instanceof Date ? tsoFrom(from.getTime()) : from;

const lastTso = (to: AsOf | undefined): bigint | null =>
  to === undefined || to === 'now' ? null : to instanceof Date ? tsoAsOf(to.getTime()) : to;

/** Throws FileNotFoundException unless a store is there. */
async function layoutOf(flags: GlobalOptions, context: CliContext): Promise<DataLayout> {
  const layout = new DataLayout(context.dataFolder(flags));
  if ((await context.io.env.fs.stat(layout.manifest)) === null) {
    throw new FileNotFoundException(`${layout.dir} holds no store`, layout.dir);
  }
  return layout;
}

// ---- dump -----------------------------------------------------------------------------------------------------------------

interface DumpFlags extends RangeFlags {
  readonly cells?: boolean;
  readonly limit?: number;
}

function addDump(group: Command, context: CliContext): void {
  rangeOptions(group.command('dump').description('print the records of the log, one a line'))
    .option('--cells', 'the cells of each record too')
    .option('--limit <N>', 'records at most', (text: string) => parseCount(text))
    .action(async (_: unknown, command: Command) => {
      await dump(command.optsWithGlobals<DumpFlags>(), context);
    });
}

async function dump(flags: DumpFlags, context: CliContext): Promise<void> {
  const { archivedWal, wal } = await layoutOf(flags, context);
  const printer = context.printer(flags);
  const from = firstTso(flags.from);
  const to = lastTso(flags.to);
  await using reader = new LogReader(context.io.env, [archivedWal, wal], {
    fromHigh: Number(BigInt.asUintN(64, from) >> 32n),
    fromLow: Number(BigInt.asUintN(32, from)),
  });
  let rest = flags.limit ?? Infinity;
  while (rest > 0 && (await reader.nextBatch())) {
    while (rest > 0 && reader.next()) {
      if (to !== null && reader.record.tso > to) rest = 1;
      else printer.line(recordText(reader.record, flags));
      rest -= 1;
    }
    if (!(await printer.flushIfFull())) return;
  }
  await printer.flush();
}

function recordText(record: LogRecord, flags: DumpFlags): string {
  if (flags.json !== true) return describeRecord(record, { cells: flags.cells === true });
  const summary = summarizeRecord(record);
  const cells =
    flags.cells === true
      ? describeRecord(record, { cells: true })
          .split('\n')
          .slice(1)
          .map((line) => line.trim())
      : undefined;
  return toJson({ ...summary, cells });
}

// ---- verify ---------------------------------------------------------------------------------------------------------------

function addVerify(group: Command, context: CliContext): void {
  group
    .command('verify')
    .description('check every record of the log and its archive, and that no segment is missing')
    .action(async (_: unknown, command: Command) => {
      const flags = command.optsWithGlobals<GlobalOptions>();
      const { archivedWal, wal } = await layoutOf(flags, context);
      const printer = context.printer(flags);
      const faults = await verify(context.io.env, [archivedWal, wal], printer);
      if (faults > 0) context.exitStatus = EXIT_FAILED;
      if (!printer.json) printer.line(faults === 0 ? 'The log is whole' : `${faults} fault(s)`);
      await printer.flush();
    });
}

/** Prints a line a segment; gives the count of faults. */
async function verify(env: Env, dirs: readonly string[], printer: Printer): Promise<number> {
  const segments = (await Promise.all(dirs.map((dir) => listSegments(env, dir)))).flat();
  let faults = 0;
  let before: number | null = null;
  for (const [i, segment] of segments.entries()) {
    const isLast = i === segments.length - 1;
    const isLinked = before === null || segment.previous === before;
    const { check, fault } = await checkOne(env, segment.path, isLast);
    const what = isLinked ? fault : `segment ${segment.previous} before it is missing`;
    if (what !== null) faults++;
    printer.either(
      { path: segment.path, number: segment.number, ...check, fault: what },
      `${segment.path}: ${check?.records ?? 0} record(s), ${check?.bytes ?? 0} bytes${what === null ? '' : `: ${what}`}`,
    );
    before = segment.number;
  }
  return faults;
}

async function checkOne(
  env: Env,
  path: string,
  isLast: boolean,
): Promise<{ readonly check: SegmentCheck | null; readonly fault: string | null }> {
  try {
    const check = await checkSegment(env, path);
    if (check.behindAt >= 0) {
      return { check, fault: `damaged from offset ${check.endAt} to ${check.behindAt}` };
    }
    const isCut = !isLast && !check.isEnded && check.records > 0;
    return { check, fault: isCut ? `damaged at offset ${check.endAt}` : null };
  } catch (error) {
    if (!(error instanceof CorruptionException)) throw error;
    return { check: null, fault: error.message };
  }
}

// ---- archive --------------------------------------------------------------------------------------------------------------

interface ArchiveFlags extends TargetOptions {
  readonly on?: boolean;
  readonly off?: boolean;
}

function addArchive(group: Command, context: CliContext): void {
  addTargetOptions(group.command('archive'))
    .description('who needs the log, and what of it is archived')
    .option('--on', 'keep the log from now on')
    .option('--off', 'keep it no longer than backups and feeds need it')
    .addHelpText('after', ARCHIVE_HELP)
    .action(async (_: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ArchiveFlags>();
      if (flags.on === true && flags.off === true)
        throw new UsageError('--on and --off exclude each other');
      const keep = flags.on === true ? true : flags.off === true ? false : null;
      const done = await runOrAsk(context, flags, { task: 'archive', keep }, 'looking at the log');
      if (done === null) return;
      const printer = context.printer(flags);
      printArchive(done, printer);
      await printer.flush();
    });
}

function printArchive({ live, archived, needs }: LogKeeping, printer: Printer): void {
  printer.either(
    { live, archived, needs: needs.map(({ tso, owner }) => ({ above: tso, owner })) },
    [
      `live      ${live.segments} segment(s), ${live.bytes} bytes`,
      `archived  ${archived.segments} segment(s), ${archived.bytes} bytes`,
      ...needs.map(({ tso, owner }) => `needed    above ${tso} by ${owner}`),
      ...(needs.length === 0 ? ['needed    by nobody: segments are used again'] : []),
    ],
  );
}

// ---- replay ---------------------------------------------------------------------------------------------------------------

interface ReplayFlags extends RangeFlags, TargetOptions {
  readonly tables?: string;
  readonly rename?: string[];
  readonly hfiles?: string;
}

function addReplay(group: Command, context: CliContext): void {
  rangeOptions(
    addTargetOptions(
      group.command('replay <SRC>').description("write a log's cells into tables, or HFiles"),
    ),
  )
    .option('--tables <TABLE,...>', 'only these tables of the log')
    .option('--rename <OLD=NEW...>', 'other names for tables')
    .option('--hfiles <OUT>', 'into a folder for a bulk load instead of tables')
    .addHelpText('after', REPLAY_HELP)
    .action(async (src: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ReplayFlags>();
      const { hfiles } = flags;
      const options = replayOptions(flags);
      const report =
        hfiles === undefined
          ? await runOrAsk(context, flags, { task: 'replay', src, options }, 'replaying')
          : await replayOut(src, hfiles, options, context);
      if (report === null) return;
      const printer = context.printer(flags);
      printReplay(report, printer);
      await printer.flush();
    });
}

function replayOptions(flags: ReplayFlags): ReplayOptions {
  const to = lastTso(flags.to);
  const { tables } = flags;
  return {
    from: firstTso(flags.from),
    rename: parsePairs(flags.rename),
    ...(to === null ? {} : { to }),
    ...(tables === undefined ? {} : { tables: tables.split(',') }),
  };
}

/** HFiles need no store but the log's own. */
function replayOut(
  src: string,
  out: string,
  options: ReplayOptions,
  context: CliContext,
): Promise<ReplayReport | null> {
  const { env } = context.io;
  const progress = workProgress(context, 'replaying');
  return guarded(context, progress, () =>
    withLogSource(env, src, null, (source) =>
      replayToHFiles(source, env, out, { ...options, ...progress.options }),
    ),
  );
}

function printReplay(report: ReplayReport, printer: Printer): void {
  const { commits, cells, dropped, skipped } = report;
  const notes = [
    dropped > 0 ? `, ${dropped} cell(s) of dropped families left out` : '',
    skipped > 0 ? `, ${skipped} range(s) of commits skipped the log and are not in it` : '',
  ];
  printer.either(
    { ...report },
    `Replayed ${commits} commit(s), ${cells} cell(s), of ${report.tables.join(', ')}${notes.join('')}`,
  );
}
