/** Runs lines of the shell: finds the command, times it, prints its error; a line may go on in the next one. */
import { errorText } from '../output.ts';
import { closest } from '../../model/index.ts';
import { IncompleteError, parseStatements, textOf, type Statement } from './literals.ts';
import { DDL_COMMANDS } from './ddl_commands.ts';
import { DML_COMMANDS } from './dml_commands.ts';
import { FILE_COMMANDS } from './file_commands.ts';
import { REGION_COMMANDS } from './region_commands.ts';
import { requireArgumentCount, type ShellCommand, type ShellSession } from './session.ts';
import { VERSION } from '../version.ts';

const GENERAL = 'general';

/** No command of this name. */
export class UnknownCommandError extends Error {
  override readonly name = 'NameError';
}

const status: ShellCommand = {
  name: 'status',
  group: GENERAL,
  usage: 'status',
  async run({ store, printer }, args) {
    requireArgumentCount(args, 0, 1);
    const now = store.status();
    printer.either({ ...now }, [
      `1 active master, 0 backup masters, 1 servers, 0 dead, ${now.regions.toFixed(4)} average load`,
      `${now.tables} tables, ${now.memstoreCells} cells in memory, durability ${now.durability}, read point ${now.readPoint}`,
      ...(now.fatal === null ? [] : [`no writes any more: ${now.fatal}`]),
    ]);
  },
};

const version: ShellCommand = {
  name: 'version',
  group: GENERAL,
  usage: 'version',
  async run({ printer }) {
    printer.either({ version: VERSION }, `Cellar ${VERSION}`);
  },
};

function ending(name: string): ShellCommand {
  return {
    name,
    group: GENERAL,
    usage: name,
    async run(session) {
      session.isDone = true;
    },
  };
}

const help: ShellCommand = {
  name: 'help',
  group: GENERAL,
  usage: "help\nhelp 'scan'",
  async run({ printer }, args) {
    const name = args[0];
    if (name === undefined) {
      for (const line of overview()) printer.line(line);
      return;
    }
    const command = findCommand(textOf(name));
    printer.either({ command: command.name, usage: command.usage.split('\n') }, [
      `${command.name}:`,
      ...command.usage.split('\n').map((line) => `  ${line}`),
    ]);
  },
};

/** Every command, in the order of `help`. */
export const SHELL_COMMANDS: readonly ShellCommand[] = [
  status,
  version,
  help,
  ending('exit'),
  ending('quit'),
  ...DDL_COMMANDS,
  ...DML_COMMANDS,
  ...FILE_COMMANDS,
  ...REGION_COMMANDS,
];

function overview(): string[] {
  const groups = [...new Set(SHELL_COMMANDS.map((command) => command.group))];
  return [
    "Commands as in HBase's shell; help 'COMMAND' shows how one is used.",
    ...groups.map((group) => {
      const names = SHELL_COMMANDS.filter((command) => command.group === group);
      return `  ${group.padEnd(11)} ${names.map((command) => command.name).join(', ')}`;
    }),
    'Strings are quoted; "\\x00" in double quotes is a byte. A hash is {KEY => value}.',
  ];
}

function findCommand(name: string): ShellCommand {
  const command = SHELL_COMMANDS.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const hint = closest(
    name,
    SHELL_COMMANDS.map((candidate) => candidate.name),
  );
  throw new UnknownCommandError(
    `no command '${name}'${hint === null ? "; try 'help'" : ` (did you mean '${hint}'?)`}`,
  );
}

export type LineOutcome = 'ok' | 'failed' | 'incomplete';

export class Interpreter {
  readonly session: ShellSession;
  #text = '';

  constructor(session: ShellSession) {
    this.session = session;
  }

  /** Some of a statement was given and waits for the rest. */
  get isWaiting(): boolean {
    return this.#text !== '';
  }

  /** Forgets what waits. */
  reset(): void {
    this.#text = '';
  }

  /** Takes a line. At the end of the input (`isLast`) nothing may wait. */
  async line(text: string, isLast: boolean = false): Promise<LineOutcome> {
    const whole = this.#text === '' ? text : `${this.#text}\n${text}`;
    let statements: Statement[];
    try {
      statements = parseStatements(whole);
    } catch (error) {
      if (error instanceof IncompleteError && !isLast) {
        this.#text = whole;
        return 'incomplete';
      }
      this.#text = '';
      await this.#failed(error);
      return 'failed';
    }
    this.#text = '';
    for (const statement of statements) {
      if (this.session.isDone) break;
      if (!(await this.#run(statement))) return 'failed';
    }
    return 'ok';
  }

  async #run(statement: Statement): Promise<boolean> {
    const { printer, io } = this.session;
    const { clock } = io.env;
    const beganMs = clock.monotonicMs();
    this.session.isStopped = false;
    try {
      await findCommand(statement.command).run(this.session, statement.arguments);
    } catch (error) {
      await this.#failed(error);
      return false;
    }
    if (!printer.json && !this.session.isDone) {
      printer.line(`Took ${((clock.monotonicMs() - beganMs) / 1000).toFixed(4)} seconds`);
    }
    await printer.flush();
    return true;
  }

  async #failed(error: unknown): Promise<void> {
    const { printer, io } = this.session;
    await printer.flush();
    const text = errorText(error, printer.json);
    await io.stderr.write(printer.json ? `${text}\n` : `ERROR: ${text}\n`);
  }
}
