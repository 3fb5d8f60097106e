/** `cellar shell`: HBase's shell, at a terminal, from a pipe, or one `-e` after the other. */
import type { Command } from 'commander';
import type { CliContext, GlobalOptions } from './context.ts';
import { linesOf, runInteractive, runScript } from './shell/repl.ts';
import type { ShellSession } from './shell/session.ts';

const SHELL_HELP = `
  cellar shell --data DIR -e "create 't', 'f'" -e "put 't', 'r', 'f:q', 'v'"
  cellar shell --data DIR < script
From a script every line is run and the exit status is 1 if any failed; with -n the first failure ends it.`;

interface ShellFlags extends GlobalOptions {
  readonly execute?: readonly string[];
  readonly stopOnError?: boolean;
}

/** Adds the command to the program. */
export function addShellCommand(program: Command, context: CliContext): void {
  program
    .command('shell')
    .description("HBase's shell: create, put, get, scan, … (makes the data folder, if need be)")
    .option('-e, --execute <LINE...>', 'run these lines instead of reading any')
    .option('-n, --stop-on-error', 'end at the first line that fails')
    .addHelpText('after', SHELL_HELP)
    .action(async (_: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ShellFlags>();
      await context.withStore(
        flags,
        async (store, printer) => {
          const { io } = context;
          const session: ShellSession = { io, store, printer, isStopped: false, isDone: false };
          if (flags.execute === undefined && io.terminal !== null) {
            await runInteractive(session, io.terminal);
            return;
          }
          const lines = flags.execute === undefined ? linesOf(io.stdin) : linesGiven(flags.execute);
          context.exitStatus = await runScript(session, lines, flags.stopOnError === true);
        },
        { mustExist: false },
      );
    });
}

async function* linesGiven(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}
