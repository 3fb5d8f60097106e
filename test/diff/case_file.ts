/**
 * A case as a file under test/cases: what was done and what Apache HBase answered, step by step. It runs without HBase.
 *
 *     { "about": …, "families": […], "splits": […], "steps": [[command or event, answer], …] }
 *
 * An event has no answer; a wanted error is given by its class.
 */
import { CellarSide } from './cellar.ts';
import { isEvent, prefixOf, sameAnswer, toActual, toActualEvent, toCanonical } from './commands.ts';
import type { Answer, Family, Step } from './commands.ts';

export interface CaseFile {
  /** What the case shows, and where HBase's answer is a surprise, why. */
  readonly about: string;
  readonly families: readonly Family[];
  /** Rows at which regions begin but the first. */
  readonly splits?: readonly string[];
  readonly steps: readonly (readonly [step: Step, want?: Answer])[];
}

export interface Mismatch {
  readonly step: Step;
  readonly want: Answer;
  readonly got: Answer;
}

/** Runs the case on Cellar alone; answers that are not HBase's. */
export async function replay(file: CaseFile): Promise<Mismatch[]> {
  const cellar = new CellarSide();
  const mismatches: Mismatch[] = [];
  const place = { prefix: prefixOf(0), baseMs: Date.now() };
  const splits = (file.splits ?? []).map((row) => place.prefix + row);
  await cellar.create('t', file.families, splits);
  let table = 't';
  for (const [step, want] of file.steps) {
    if (isEvent(step)) {
      table = await cellar.event(table, toActualEvent(step, 1, place.baseMs));
      continue;
    }
    const answer = (await cellar.run(table, [[toActual(step, place)]]))[0]![0]!;
    const got = toCanonical(answer, place);
    if (!sameAnswer(want ?? null, got)) mismatches.push({ step, want: want ?? null, got });
  }
  await cellar.close();
  return mismatches;
}

/** The file's text: a step a line. */
export function caseText(file: CaseFile): string {
  const steps = file.steps.map((step) => `    ${json(step)}`).join(',\n');
  const families = file.families.map((family) => `    ${json(family)}`).join(',\n');
  const splits = file.splits === undefined ? '' : `  "splits": ${json(file.splits)},\n`;
  return `{\n  "about": ${json(file.about)},\n  "families": [\n${families}\n  ],\n${splits}  "steps": [\n${steps}\n  ]\n}\n`;
}

/** ASCII only, so that bytes above 127 and below 32 are seen. */
const json = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
