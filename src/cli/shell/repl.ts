/** The shell's two ways of running: at a terminal with history and completion, and from a script. */
import { createInterface } from 'node:readline';
import { StoreException } from '../../io/index.ts';
import type { CliIo, Terminal } from '../context.ts';
import { EXIT_FAILED, EXIT_OK } from '../context.ts';
import { errorText } from '../output.ts';
import { complete } from './completion.ts';
import { HISTORY_MAX, historyPath, readHistory, writeHistory } from './history.ts';
import { Interpreter } from './interpreter.ts';
import type { ShellSession } from './session.ts';

/** Runs every line; stops at the first that fails if `stopOnError`. Answers the exit status. */
export async function runScript(
  session: ShellSession,
  lines: AsyncIterable<string>,
  stopOnError: boolean,
): Promise<number> {
  const interpreter = new Interpreter(session);
  let exitStatus = EXIT_OK;
  for await (const line of lines) {
    if ((await interpreter.line(line)) === 'failed') {
      exitStatus = EXIT_FAILED;
      if (stopOnError) return exitStatus;
    }
    if (session.isDone) return exitStatus;
  }
  if (interpreter.isWaiting && (await interpreter.line('', true)) === 'failed') {
    exitStatus = EXIT_FAILED;
  }
  return exitStatus;
}

/** Lines of a byte stream; the last may lack its end. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield line.replace(/\r$/, '');
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}

/** Reads from a terminal until `exit` or Ctrl-D. */
export async function runInteractive(session: ShellSession, terminal: Terminal): Promise<void> {
  const { io, store } = session;
  const path = historyPath(io.variables);
  const history = path === null ? [] : await readOrTell(io, path);
  const interpreter = new Interpreter(session);
  const readline = createInterface({
    input: terminal.input,
    output: terminal.output,
    history,
    historySize: HISTORY_MAX,
    removeHistoryDuplicates: true,
    completer: (
      line: string,
      callback: (error: Error | null, found: [string[], string]) => void,
    ) => {
      store.admin.listTables().then(
        (tables) => callback(null, complete(line, tables)),
        () => callback(null, complete(line, [])), // A store that cannot answer offers no tables.
      );
    },
  });
  let lines: readonly string[] = history;
  readline.on('history', (now: string[]) => {
    lines = now;
  });
  let number = 1;
  const prompt = (): void => {
    const mark = interpreter.isWaiting ? '*' : '>';
    readline.setPrompt(`cellar:${String(number).padStart(3, '0')}:0${mark} `);
    readline.prompt();
  };
  readline.on('SIGINT', () => {
    session.isStopped = true;
    interpreter.reset();
    terminal.output.write('^C\n');
    prompt();
  });
  prompt();
  for await (const line of readline) {
    await interpreter.line(line);
    if (session.isDone) break;
    number += 1;
    prompt();
  }
  readline.close();
  if (path !== null) await writeOrTell(io, path, lines);
}

/** A history that cannot be read or written is worth a word, not the session. */
async function readOrTell(io: CliIo, path: string): Promise<string[]> {
  try {
    return await readHistory(io.env.fs, path);
  } catch (error) {
    if (!(error instanceof StoreException)) throw error;
    await io.stderr.write(`no history: ${errorText(error, false)}\n`);
    return [];
  }
}

async function writeOrTell(io: CliIo, path: string, lines: readonly string[]): Promise<void> {
  try {
    await writeHistory(io.env.fs, path, lines);
  } catch (error) {
    if (!(error instanceof StoreException)) throw error;
    await io.stderr.write(`history is not kept: ${errorText(error, false)}\n`);
  }
}
