/** HBase's own Export, run by its classes from Maven with the local job runner: what ours is measured by. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../engine/peers.ts';
import { cpuSecondsOf } from '../server/processes.ts';
import type { Timed } from './steps.ts';

interface HBase {
  readonly pid: number;
  start(): Promise<void>;
  run(...words: string[]): Promise<string[]>;
  stop(): void;
}
interface DriverModule {
  readonly HBase: new (options: { readonly work: string; readonly suite: string }) => HBase;
}

/** Null, or why the step is left out. */
export function missingForHBase(): string | null {
  for (const [program, flag] of [
    ['java', '-version'],
    ['mvn', '-version'],
  ] as const) {
    if (spawnSync(program, [flag], { stdio: 'ignore' }).status !== 0) return `no ${program} here`;
  }
  return process.platform === 'linux' ? null : 'processor time of others is read on Linux only';
}

/**
 * Puts rows of four cells of 100 bytes into HBase and exports them to `dir/hbase-1`, -2 …; the first round warms up and does not
 * count. `suite` is a folder whose `install` fetches HBase and names the place.
 */
export async function hbaseExports(
  suite: string,
  dir: string,
  { rows, rounds }: { readonly rows: number; readonly rounds: number },
): Promise<Timed[]> {
  const file = path.join(ROOT, 'scripts', 'interop', 'hbase.mjs');
  const { HBase } = (await import(pathToFileURL(file).href)) as DriverModule;
  const hbase = new HBase({ work: dir, suite });
  await hbase.start();
  try {
    await hbase.run('create', 'b', 'f');
    await hbase.run('rows', 'b', String(rows), '100');
    const times: Timed[] = [];
    for (let round = 1; round <= rounds + 1; round++) {
      const cpu = cpuSecondsOf(hbase.pid);
      const [line] = await hbase.run('export', 'b', `file://${dir}/hbase-${round}`, '1');
      const cpuMs = (cpuSecondsOf(hbase.pid) - cpu) * 1000;
      times.push({ ms: Number(line!.split('\t')[1]), cpuMs });
    }
    return times.slice(1);
  } finally {
    hbase.stop();
  }
}
