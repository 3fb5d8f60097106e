/** Results on the disk: JSON, a report, plots. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './peers.ts';
import { reportOf } from './report.ts';
import type { RunResult } from './report.ts';

const RESULTS: string = path.join(ROOT, 'bench', 'results');

/** Writes bench/results/NAME.json and .md. */
export async function saveEngine(run: RunResult, name: string, isLast: boolean): Promise<void> {
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(path.join(RESULTS, `${name}.json`), `${JSON.stringify(run, null, 2)}\n`);
  writeFileSync(path.join(RESULTS, `${name}.md`), reportOf(run));
  void isLast;
}
