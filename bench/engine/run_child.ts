/** Runs one store on one workload in a process of its own and in a folder of its own. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { ChildAnswer, ChildRequest } from './child.ts';
import { ROOT } from './peers.ts';
import type { RunSettings } from './workload.ts';

const CHILD = path.join(import.meta.dirname, 'child.js');
/** On the repository's disk: a temporary folder may be a RAM disk. */
const SCRATCH = path.join(ROOT, 'bench', 'peers', 'dist', 'scratch');
const TIME_MAX_MS = 600_000;

export interface ChildRun {
  readonly subject: string;
  readonly workload: string;
  readonly reopens: boolean;
  readonly settings: Omit<RunSettings, 'dir'>;
}

export async function runChild(run: ChildRun): Promise<ChildAnswer> {
  const dir = path.join(SCRATCH, `${run.workload}-${run.subject}`);
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const base = {
    subject: run.subject,
    workload: run.workload,
    settings: { ...run.settings, dir },
  };
  try {
    if (run.reopens) {
      const filled = await ask({ ...base, phase: 'fill' });
      if (!filled.ok) return filled;
    }
    return await ask({ ...base, phase: 'run' });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** In phase `fill` the child is killed as soon as it has answered. */
async function ask(request: ChildRequest): Promise<ChildAnswer> {
  const child = spawn(process.execPath, [CHILD, JSON.stringify(request)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), TIME_MAX_MS);
  const closed = once(child, 'close');
  try {
    return await firstLine(child);
  } finally {
    clearTimeout(timer);
    if (request.phase === 'fill') child.kill('SIGKILL');
    await closed;
  }
}

function firstLine(child: ChildProcess): Promise<ChildAnswer> {
  return new Promise((resolve) => {
    let text = '';
    child.stdout!.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
      const lineEnd = text.indexOf('\n');
      if (lineEnd >= 0) resolve(JSON.parse(text.slice(0, lineEnd)) as ChildAnswer);
    });
    child.on('close', (code, signal) => {
      const reason = `the process ended without an answer (${signal ?? code})`;
      resolve({ ok: false, unsupported: false, reason });
    });
  });
}
