/** The processes of the server bench: servers of several kinds and the one Java client, with what they cost. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';

const TICKS_PER_SECOND = 100;

/** Seconds of processor time that a process has used so far. Linux. */
export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

export interface ThreadFigures {
  readonly name: string;
  /** Microseconds of processor time so far. */
  readonly cpuUs: number;
  /** How often it waited for something. */
  readonly sleeps: number;
}

/** The threads of a process that live now, by their numbers. Linux. */
export function threadsOf(pid: number): Map<string, ThreadFigures> {
  const threads = new Map<string, ThreadFigures>();
  for (const id of readdirSync(`/proc/${pid}/task`)) {
    const read = (file: string): string =>
      readFileSync(`/proc/${pid}/task/${id}/${file}`, 'latin1');
    try {
      const sleeps = /^voluntary_ctxt_switches:\s+(\d+)/m.exec(read('status'));
      const cpuUs = Number(read('schedstat').split(' ')[0]) / 1000;
      threads.set(id, { name: read('comm').trim(), cpuUs, sleeps: Number(sleeps?.[1]) });
    } catch {
      continue; // It has ended meanwhile.
    }
  }
  return threads;
}

/** Bytes of memory that a process holds now. */
export function rssBytesOf(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  return Number(found?.[1] ?? 0) * 1024;
}

/** The process itself or the youngest below it that runs this program. */
export function findProgram(pid: number, program: string): number {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    } catch {
      continue; // It has ended meanwhile.
    }
  }
  const visit = (at: number): number | null => {
    for (const child of children.get(at) ?? []) {
      const found = visit(child);
      if (found !== null) return found;
    }
    return readFileSync(`/proc/${at}/comm`, 'latin1').trim() === program ? at : null;
  };
  const found = visit(pid);
  if (found === null) throw new Error(`no process ${program} below ${pid}`);
  return found;
}

export interface RunningServer {
  readonly address: string;
  readonly pid: number;
  /** A line to its standard input. */
  tell(line: string): void;
  stop(): Promise<void>;
}

/** Starts a server and waits for the line that names its address. */
export async function startServer(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly program: string; readonly ready: RegExp },
): Promise<RunningServer> {
  const child = spawn(command, args, { cwd: options.cwd, stdio: ['pipe', 'pipe', 'inherit'] });
  const address = await new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`${command} ended before it was ready`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const found = options.ready.exec(line);
      if (found !== null) resolve(found[1]!);
    });
  });
  return {
    address,
    pid: findProgram(child.pid!, options.program),
    tell: (line) => void child.stdin.write(`${line}\n`),
    stop: () => stopped(child),
  };
}

async function stopped(child: ChildProcess): Promise<void> {
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
  await ended;
  clearTimeout(timer);
}

/** The Java client: one line a command, one answer a line. */
export class BenchClient {
  readonly #child: ChildProcess;
  readonly #waiting: ((answer: Record<string, number>) => void)[] = [];
  readonly #failing: ((error: Error) => void)[] = [];

  constructor(classPath: string) {
    const child = spawn(
      'java',
      ['-Xmx1g', '-Dorg.slf4j.simpleLogger.defaultLogLevel=error', '-cp', classPath, 'BenchClient'],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    );
    this.#child = child;
    createInterface({ input: child.stdout }).on('line', (line) => {
      const answer = JSON.parse(line) as Record<string, number> & { error?: string; ready?: true };
      if (answer.ready === true) return;
      const resolve = this.#waiting.shift();
      const reject = this.#failing.shift();
      if (answer.error === undefined) resolve?.(answer);
      else reject?.(new Error(answer.error));
    });
  }

  send(command: string): Promise<Record<string, number>> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(resolve);
      this.#failing.push(reject);
      this.#child.stdin!.write(`${command}\n`);
    });
  }

  close(): Promise<void> {
    return stopped(this.#child);
  }
}
