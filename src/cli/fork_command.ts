/** `cellar fork`: a writable copy of a store; `cellar at`: a command on a folder or backup that is only read. */
import type { Command } from 'commander';
import { openReadOnly } from '../backup/index.ts';
import type { ForkOptions } from '../backup/index.ts';
import type { AsOf } from '../model/index.ts';
import { addTargetOptions } from './api_target.ts';
import type { TargetOptions } from './api_target.ts';
import { parseAsOf } from './arguments.ts';
import { UsageError } from './context.ts';
import type { CliContext, CliIo, GlobalOptions } from './context.ts';
import { runOrAsk } from './task.ts';
import { guarded, workProgress } from './work_progress.ts';

const FORK_HELP = `
Store files are linked where the file system can, so a fork takes no longer and hardly more space for a large store than for
a small one. Each is a store of its own from then on. It has the tables as they are now, and no past.`;

const AT_HELP = `
DIR is a data folder that nobody has open, a folder of backups, or one backup of it. COMMAND is any command that reads:
  cellar at data --as-of 2026-05-01T12:00:00Z scan people --limit 10
  cellar at /backups get people alice
  cellar at /backups --as-of 470819243442110465 export --all /tmp/then
Of a folder of backups any moment that they cover; of a data folder any within its retention.`;

/** Commands that take --as-of themselves. */
const WITH_AS_OF: ReadonlySet<string> = new Set(['get', 'scan', 'count', 'export']);

interface ForkFlags extends TargetOptions {
  readonly tables?: string;
  readonly withoutTransactions?: boolean;
}

type Runner = (argv: readonly string[], io: CliIo) => Promise<number>;

/** Adds the commands to the program. `run` runs another command line. */
export function addForkCommands(program: Command, context: CliContext, run: Runner): void {
  addTargetOptions(program.command('fork <NEWDIR>'))
    .description('make a writable copy of the store, in a time that does not depend on its size')
    .option('--tables <TABLE,...>', 'only these tables')
    .option('--without-transactions', 'leave out what was prepared and not decided')
    .addHelpText('after', FORK_HELP)
    .action(async (dir: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ForkFlags>();
      const { tables, withoutTransactions } = flags;
      const options: ForkOptions = {
        transactions: withoutTransactions === true ? 'leave' : 'restore',
        ...(tables === undefined ? {} : { tables: tables.split(',') }),
      };
      const done = await runOrAsk(context, flags, { task: 'fork', dir, options }, 'forking');
      if (done === null) return;
      const printer = context.printer(flags);
      printer.either(
        { forked: true, dir, ...done },
        `Forked ${done.tables.length} table(s) as of ${done.tso} into ${dir}: ${done.files} file(s)${done.prepared === 0 ? '' : `, ${done.prepared} prepared transaction(s)`}`,
      );
      await printer.flush();
    });
  program
    .command('at <DIR> [COMMAND...]')
    .description('run a command that reads on a data folder or backup, which is not changed')
    .option('--as-of <TIME>', 'the moment: a TSO or a time', parseAsOf)
    .option('--id <ID>', 'of a folder of backups: whose chain')
    .allowUnknownOption()
    .addHelpText('after', AT_HELP)
    .action(async (dir: string, _words: string[], _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<GlobalOptions & { asOf?: AsOf; id?: string }>();
      await at(dir, command.args.slice(1), flags, context, run);
    });
}

async function at(
  dir: string,
  words: readonly string[],
  flags: GlobalOptions & { asOf?: AsOf; id?: string },
  context: CliContext,
  run: Runner,
): Promise<void> {
  const [name] = words;
  if (name === undefined) throw new UsageError('at needs a command, such as: at DIR scan TABLE');
  const { asOf, id, json } = flags;
  const progress = workProgress(context, 'opening');
  const store = await guarded(context, progress, () =>
    openReadOnly(context.io.env, dir, {
      ...progress.options,
      ...(asOf === undefined || asOf === 'now' ? {} : { asOf }),
      ...(id === undefined ? {} : { id }),
    }),
  );
  if (store === null) return;
  const isBackup = store.server.layout.dir !== dir && (await isRestored(context, dir));
  const argv = [...words, '--data', dir, ...(json === true ? ['--json'] : [])];
  if (asOf !== undefined && !isBackup) {
    if (!WITH_AS_OF.has(name)) throw new UsageError(`${name} does not read as of a moment`);
    argv.push('--as-of', asOf instanceof Date ? asOf.toISOString() : String(asOf));
  }
  // The commands close what they open: here it is ours.
  const io: CliIo = { ...context.io, openStore: () => Promise.resolve(store) };
  context.exitStatus = await run(argv, io);
}

/** Of backups the moment is in the view already. */
async function isRestored(context: CliContext, dir: string): Promise<boolean> {
  return (await context.io.env.fs.stat(`${dir}/manifest`)) === null;
}
