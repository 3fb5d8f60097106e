/** Where the time of a process goes, from what `--cpu-prof` writes. Pure but for reading the folder. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** As the V8 inspector has it, as far as it is used here. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  /** The node that was running at each sample. */
  readonly samples?: readonly number[];
  /** Microseconds from each sample to the one before it. */
  readonly timeDeltas?: readonly number[];
}

export interface ProfileLine {
  readonly name: string;
  /** Of all time but that in which nothing was to do. */
  readonly share: number;
}

const IDLE = ['(idle)', '(program)', '(root)'];

/** The functions with the most time of their own. */
export function topOf(profile: CpuProfile, count: number): ProfileLine[] {
  const names = new Map(
    profile.nodes.map(({ id, callFrame: { functionName, url } }) => [
      id,
      `${functionName === '' ? '(anonymous)' : functionName} ${fileOf(url)}`.trim(),
    ]),
  );
  const micros = new Map<string, number>();
  let total = 0;
  const { samples = [], timeDeltas = [] } = profile;
  samples.forEach((id, i) => {
    const name = names.get(id) ?? '(unknown)';
    if (IDLE.includes(name)) return;
    const delta = Math.max(0, timeDeltas[i] ?? 0);
    micros.set(name, (micros.get(name) ?? 0) + delta);
    total += delta;
  });
  return [...micros]
    .sort((a, b) => b[1] - a[1])
    .slice(0, count)
    .map(([name, own]) => ({ name, share: own / total }));
}

/** From the source folder on, so that no machine's path is told. */
function fileOf(url: string): string {
  const at = Math.max(url.lastIndexOf('/dist/'), url.lastIndexOf('/node_modules/'));
  return at < 0 ? url.replace(/^file:.*\//, '') : url.slice(at + 1);
}

export const profileText = (lines: readonly ProfileLine[]): string =>
  lines.map(({ name, share }) => `  ${(100 * share).toFixed(1).padStart(5)} %  ${name}`).join('\n');

/** The profile of the process's main thread in a folder: the largest, since workers write theirs beside it. */
export function readProfile(folder: string): CpuProfile | null {
  const texts = readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => readFileSync(path.join(folder, name), 'utf8'))
    .sort((a, b) => b.length - a.length);
  return texts[0] === undefined ? null : (JSON.parse(texts[0]) as CpuProfile);
}
