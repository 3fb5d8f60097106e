/** The command line in process: a world of memory, text gathered, golden scripts. */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { CliIo } from '../../src/cli/context.ts';
import { runCli } from '../../src/cli/run.ts';
import { processHost } from '../../src/cli/serve.ts';
import { open } from '../../src/engine/index.ts';
import { memoryEnv, type Env } from '../../src/io/index.ts';

export interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly stdin?: Uint8Array | string;
  readonly variables?: Record<string, string>;
  /** Writes to standard output until its reader goes away; default: it stays. */
  readonly writesTaken?: number;
  /** Called with the handler when the command listens for Ctrl-C. */
  readonly onInterrupt?: (handler: () => void) => void;
}

/** A machine whose files last from command to command. */
export class CliHarness {
  readonly env: Env = memoryEnv();

  async run(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
    let writesLeft = options.writesTaken ?? Infinity;
    const text = { stdout: '', stderr: '' };
    const output = (name: 'stdout' | 'stderr') => ({
      write: async (more: string): Promise<boolean> => {
        if (name === 'stdout' && writesLeft-- <= 0) return false;
        text[name] += more;
        return true;
      },
    });
    const io: CliIo = {
      env: this.env,
      stdout: output('stdout'),
      stderr: output('stderr'),
      stdin: chunksOf(options.stdin ?? ''),
      terminal: null,
      progressStream: null,
      variables: options.variables ?? { CELLAR_DATA: 'store' },
      openStore: (folder, access) =>
        open(folder, { env: this.env, logSegmentBytes: 65_536, ...access }),
      serveHost: processHost(this.env, () => Promise.reject(new Error('nothing is served here'))),
      onInterrupt: (handler) => {
        options.onInterrupt?.(handler);
        return () => undefined;
      },
    };
    const status = await runCli(argv, io);
    return { status, ...text };
  }

  async writeFile(path: string, content: Uint8Array | string): Promise<void> {
    const handle = await this.env.fs.open(path, 'write');
    await handle.write(Buffer.from(content as Uint8Array), 0);
    await handle.close();
  }
}

async function* chunksOf(content: Uint8Array | string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(content as Uint8Array);
  // In small pieces, so that lines and characters are cut anywhere.
  for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
}

/** Splits a command as a POSIX shell does, single and double quotes only. */
export function words(command: string): string[] {
  return [...command.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map((match) =>
    match[0].replace(/'([^']*)'|"([^"]*)"/g, (_, a?: string, b?: string) => a ?? b ?? ''),
  );
}

/** Figures that differ from run to run. */
export function masked(text: string): string {
  return text
    .replaceAll(/"(tso|readPoint|durablePoint)":"\d+"/g, '"$1":"N"')
    .replaceAll(/"ms":\d+/g, '"ms":N')
    .replaceAll(/timestamp=\d{13}/g, 'timestamp=NOW')
    .replaceAll(/Took \d+\.\d{4} seconds/g, 'Took N seconds')
    .replaceAll(/ in \d+\.\d s\b/g, ' in N s')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replaceAll(/"createdMs":\d+/g, '"createdMs":N')
    .replaceAll(/\b\d{18}\b/g, 'TSO')
    .replaceAll(/\b[0-9a-f]{32}\b/g, 'HEX');
}

/**
 * Runs a script of blocks `cellar …` (or a file's content after `file NAME`, a shell's lines after `shell`), `----`, what
 * was printed: standard error with `! ` before each line, then `(status N)` unless 0. REWRITE=1 rewrites the script.
 */
export async function runScriptFile(path: string): Promise<void> {
  const harness = new CliHarness();
  const blocks = readFileSync(path, 'utf8').split(/\n\n(?=#|cellar|file|shell)/);
  const now: string[] = [];
  for (const block of blocks) {
    const [input = ''] = block.split(/^----$/m);
    const lines = input.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    now.push(`${input.trimEnd()}\n----\n${await runBlock(harness, lines)}`.trimEnd());
  }
  const text = `${now.join('\n\n')}\n`;
  if (process.env['REWRITE'] === '1') writeFileSync(path, text);
  expect(text).toBe(readFileSync(path, 'utf8'));
}

async function runBlock(harness: CliHarness, lines: readonly string[]): Promise<string> {
  const [first = '', ...rest] = lines;
  if (first.startsWith('file ')) {
    await harness.writeFile(first.slice(5), `${rest.join('\n')}\n`);
    return '';
  }
  const isShell = first.startsWith('shell');
  const argv = words(isShell ? first : first.slice('cellar '.length));
  const { status, stdout, stderr } = await harness.run(argv, { stdin: rest.join('\n') });
  const errors = stderr.replaceAll(/^(?=.)/gm, '! ');
  return masked(`${stdout}${errors}${status === 0 ? '' : `(status ${status})\n`}`);
}
