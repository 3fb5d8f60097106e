/** The command line as a function of its arguments and its world: parses, runs one command, answers the exit status. */
import { Command, CommanderError } from 'commander';
import { IllegalArgumentException } from '../model/index.ts';
import { addBackupCommands } from './backup_command.ts';
import { CliContext, EXIT_FAILED, EXIT_OK, EXIT_USAGE, UsageError, type CliIo } from './context.ts';
import { addChangesCommand } from './changes_command.ts';
import { addConfigCommands } from './config_command.ts';
import { addDataCommands } from './data_commands.ts';
import { addDiffCommand } from './diff_command.ts';
import { addExplainCommand } from './explain_command.ts';
import { addExportCommands } from './export_command.ts';
import { addFilesCommands } from './files_commands.ts';
import { addForkCommands } from './fork_command.ts';
import { addLoadCommand } from './load_command.ts';
import { addNamespaceCommands } from './namespace_commands.ts';
import { errorText, toJson } from './output.ts';
import { addRegionCommands } from './region_commands.ts';
import { addAdvertiseCommand } from './advertise_command.ts';
import { serveCommand } from './serve.ts';
import { ShellSyntaxError } from './shell/literals.ts';
import { addShellCommand } from './shell_command.ts';
import { addSnapshotCommands } from './snapshot_commands.ts';
import { addStatsCommand } from './stats_command.ts';
import { addTableCommands } from './table_commands.ts';
import { addTsoCommand } from './tso_command.ts';
import { addTxnCommands } from './txn_command.ts';
import { addVerifyCommand } from './verify_command.ts';
import { VERSION } from './version.ts';
import { addWalCommands } from './wal_command.ts';

const PROGRAM_HELP = `
Exit status: 0 done; 1 the operation failed (standard error says 'Class: message'), or \`exists\` found nothing;
2 the command line is wrong and nothing was done; 130 ended by Ctrl-C. \`load\` then finishes the lines under way
and says how far it came, \`serve\` closes the store and ends with 0; a second Ctrl-C ends either at once. What
was acknowledged stays, however a command ends.
With --json: one object a line on standard output; errors and progress on standard error. TSOs and other 64-bit
numbers are strings of digits; only \`ts\` of a cell is a number, which may be above 2^53.

  cellar create people info --data DIR
  cellar put people alice info:name Alice --data DIR
  cellar scan people --data DIR`;

/** Runs `argv` (without the program's own name). Never throws for a failure of the command. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  const context = new CliContext(io);
  const json = isJson(argv);
  const told: Promise<unknown>[] = [];
  const program = programOf(context, argv, {
    writeOut: (text) => void told.push(io.stdout.write(text)),
    writeErr: (text) => void told.push(io.stderr.write(text)),
    outputError: (text, write) => write(json ? `${usageJson(text)}\n` : text),
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return context.exitStatus;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE;
    await io.stderr.write(`${errorText(error, json)}\n`);
    return isUsage(error) ? EXIT_USAGE : EXIT_FAILED;
  } finally {
    await Promise.all(told);
  }
}

/** Whether the words of the command line are to blame. An argument that is refused further down is one of them. */
function isUsage(error: unknown): boolean {
  return (
    error instanceof UsageError ||
    error instanceof IllegalArgumentException ||
    error instanceof ShellSyntaxError
  );
}

/** Whether --json is among the options, for errors in the parsing of the others. */
function isJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end < 0 ? argv : argv.slice(0, end)).includes('--json');
}

function usageJson(text: string): string {
  const message = text.trim().replace(/^error: /, '');
  return toJson({ error: 'UsageError', message, retryable: false });
}

interface ProgramOutput {
  writeOut(text: string): void;
  writeErr(text: string): void;
  outputError(text: string, write: (text: string) => void): void;
}

/** All commands; of `serve`, which is to start quickly, that one alone. */
function programOf(context: CliContext, argv: readonly string[], output: ProgramOutput): Command {
  const program = new Command('cellar')
    .description('an HBase you can embed: tables in a folder, from the command line')
    .version(VERSION)
    .option('--data <DIR>', 'data folder (or CELLAR_DATA)')
    .option('--json', 'print one JSON object a line')
    .addHelpText('after', PROGRAM_HELP)
    .showSuggestionAfterError(true)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput(output)
    .exitOverride();
  if (argv[0] === 'serve') addServe(program, context);
  else addCommands(program, context);
  return program;
}

function addCommands(program: Command, context: CliContext): void {
  addTableCommands(program, context);
  addNamespaceCommands(program, context);
  addDataCommands(program, context);
  addExplainCommand(program, context);
  addLoadCommand(program, context);
  addExportCommands(program, context);
  addVerifyCommand(program, context);
  addBackupCommands(program, context);
  addForkCommands(program, context, runCli);
  addDiffCommand(program, context);
  addFilesCommands(program, context);
  addRegionCommands(program, context);
  addSnapshotCommands(program, context);
  addStatsCommand(program, context);
  addWalCommands(program, context);
  addTsoCommand(program, context);
  addTxnCommands(program, context);
  addChangesCommand(program, context);
  addConfigCommands(program, context);
  addShellCommand(program, context);
  addAdvertiseCommand(program, context);
  addServe(program, context);
}

function addServe(program: Command, context: CliContext): void {
  if (context.io.serveHost === null) return;
  const serve = serveCommand(context.io.serveHost, (status) => {
    context.exitStatus = status;
  });
  program.addCommand(serve.copyInheritedSettings(program));
}
