/** The command line in the world of this process. */
import { realEnv } from '../io/index.ts';
import type { Env } from '../io/index.ts';
import { EXIT_INTERRUPTED, type CliIo } from './context.ts';
import type { Output } from './output.ts';
import { runCli } from './run.ts';
import { processHost } from './serve.ts';
import { cliLogger, openFolder, openForServe } from './store.ts';

function outputTo(stream: NodeJS.WriteStream): Output {
  // A reader that has gone (`cellar scan … | head`) is told to the writer by `write`'s callback.
  stream.on('error', () => undefined);
  return {
    write: (text) =>
      new Promise((resolve) => {
        stream.write(text, (error) => resolve(error === null || error === undefined));
      }),
  };
}

/** The first Ctrl-C asks the command to stop, the second ends the process. */
function onInterrupt(handler: () => void): () => void {
  let isAsked = false;
  const task = (): void => {
    if (isAsked) process.exit(EXIT_INTERRUPTED);
    isAsked = true;
    handler();
  };
  process.on('SIGINT', task).on('SIGTERM', task);
  return () => {
    process.off('SIGINT', task).off('SIGTERM', task);
  };
}

function processIo(env: Env): CliIo {
  const logger = cliLogger(process.env, (line) => void process.stderr.write(line));
  return {
    env,
    stdout: outputTo(process.stdout),
    stderr: outputTo(process.stderr),
    // Node opens it when it is asked for; a server does not.
    get stdin() {
      return process.stdin as AsyncIterable<Uint8Array>;
    },
    get terminal() {
      const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
      return isTerminal ? { input: process.stdin, output: process.stdout } : null;
    },
    progressStream: process.stderr.isTTY ? process.stderr : null,
    variables: process.env,
    openStore: (folder, access) => openFolder(env, folder, access, logger, process.env),
    serveHost: processHost(env, openForServe(env)),
    onInterrupt,
  };
}

/** Runs the command line that the process was started with; sets its exit status. */
export async function main(): Promise<void> {
  const env = realEnv();
  try {
    process.exitCode = await runCli(process.argv.slice(2), processIo(env));
  } finally {
    await env.executor.close();
  }
}
