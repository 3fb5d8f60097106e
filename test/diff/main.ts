/** npm run test:diff: random rounds on Apache HBase and on Cellar (README.md). */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { seeded } from '../../src/io/index.ts';
import { caseText } from './case_file.ts';
import type { CaseFile } from './case_file.ts';
import { CellarSide } from './cellar.ts';
import { comparable, isEvent } from './commands.ts';
import type { Answer, Step } from './commands.ts';
import { Coverage } from './coverage.ts';
import { Generator } from './generate.ts';
import type { HBaseSide } from './hbase.ts';
import { isSplit, runRound, splitSteps, stepsUpTo } from './round.ts';
import type { Difference, Observer, Outcome, Round } from './round.ts';
import { Shrinker } from './shrink.ts';
import type { Proof } from './shrink.ts';

export interface Options {
  readonly seed: number;
  readonly minutes: number;
  readonly casesARound: number;
  /** Differences to make small and save, at most. */
  readonly savedMax: number;
  /** Cases of a seed whose first difference to print as it is, at most. */
  readonly shown: number;
  /** Write the first cases of the first round with HBase's answers, this many. */
  readonly samples: number;
  readonly folder: string;
  /** Rounds under way at once. */
  readonly tables: number;
  /** Only these cases of each round; none: all. */
  readonly only: readonly number[];
}

export function parseOptions(
  args: readonly string[],
  folder: string,
): Options & {
  hbase: string | undefined;
  suite: string | undefined;
  /** Case files to fill with HBase's answers. */
  ask: string[];
} {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string', default: '1' },
      minutes: { type: 'string', default: '1' },
      cases: { type: 'string', default: '150' },
      save: { type: 'string', default: '3' },
      show: { type: 'string', default: '0' },
      samples: { type: 'string', default: '0' },
      hbase: { type: 'string' },
      suite: { type: 'string' },
      folder: { type: 'string', default: folder },
      tables: { type: 'string', default: '2' },
      case: { type: 'string', multiple: true, default: [] },
      ask: { type: 'string', multiple: true, default: [] },
    },
  });
  return {
    seed: Number(values.seed),
    minutes: Number(values.minutes),
    casesARound: Number(values.cases),
    savedMax: Number(values.save),
    shown: Number(values.show),
    samples: Number(values.samples),
    folder: values.folder,
    tables: Number(values.tables),
    only: values.case.map(Number),
    ask: values.ask,
    hbase: values.hbase ?? process.env['DIFF_HBASE'],
    suite: values.suite ?? process.env['HBASE_SUITE'],
  };
}

export class DiffRun {
  readonly #hbase: HBaseSide;
  readonly #options: Options;
  readonly #print: (line: string) => void;
  readonly #coverage = new Coverage();
  readonly #drops: Promise<void>[] = [];
  #tables = 0;
  #differences = 0;
  #saved = 0;

  constructor(hbase: HBaseSide, options: Options, print: (line: string) => void) {
    this.#hbase = hbase;
    this.#options = options;
    this.#print = print;
  }

  /** The exit status: 0 without differences. */
  async run(): Promise<number> {
    const { seed, minutes, casesARound } = this.#options;
    await this.#hbase.settle();
    const startMs = Date.now();
    const endMs = startMs + minutes * 60_000;
    let number = seed;
    const work = async (): Promise<void> => {
      do {
        const own = number++;
        await this.#seed(own, this.#chosen(new Generator(seeded(own)).round(casesARound)));
      } while (Date.now() < endMs);
    };
    await Promise.all(Array.from({ length: minutes === 0 ? 1 : this.#options.tables }, work));
    const seconds = (Date.now() - startMs) / 1000;
    const { comparisons } = this.#coverage;
    this.#print(this.#coverage.toString());
    this.#print(
      `seeds ${seed} to ${number - 1}: ${comparisons} comparisons in ${seconds.toFixed(0)} s, ` +
        `${this.#differences} differences`,
    );
    await Promise.all(this.#drops);
    return this.#differences === 0 ? 0 : 1;
  }

  /** The round with nothing in the cases that are not asked for. */
  #chosen(round: Round): Round {
    const { only } = this.#options;
    if (only.length === 0) return round;
    const nothing = [...round.events, null].map(() => []);
    const cases = round.cases.map((one, index) => (only.includes(index) ? one : nothing));
    return { ...round, cases };
  }

  /** Answers the steps of a case file anew, HBase's way. The exit status: 0 if Cellar answers the same. */
  async ask(file: string): Promise<number> {
    await this.#hbase.settle();
    const asked = JSON.parse(readFileSync(file, 'utf8')) as CaseFile;
    const { case: commands, events } = splitSteps(asked.steps.map(([step]) => step));
    const splits = asked.splits ?? [];
    const round = { families: asked.families, splits, splitEvery: 1, events, cases: [commands] };
    const { answers, differences, failed } = await this.#round(round);
    if (failed !== null) {
      this.#print(`${file}: HBase fails at ${JSON.stringify(failed)}`);
      await Promise.all(this.#drops);
      return 1;
    }
    const left = answers[0]!.flat();
    const steps = asked.steps.map(([step]): CaseFile['steps'][number] =>
      isEvent(step) ? [step] : [step, comparable(left.shift()!)],
    );
    writeFileSync(file, caseText({ ...asked, steps }));
    for (const difference of differences) this.#show(0, round, difference);
    await Promise.all(this.#drops);
    return differences.length === 0 ? 0 : 1;
  }

  async #seed(seed: number, round: Round): Promise<void> {
    const startMs = Date.now();
    let comparisons = 0;
    const outcome = await this.#round(round, (caseIndex, segment, command) => {
      comparisons++;
      const index = round.cases[caseIndex]![segment]!.indexOf(command);
      this.#coverage.count(round, caseIndex, segment, index);
    });
    const { answers, differences, failed } = outcome;
    if (failed !== null) {
      this.#print(`seed ${seed} ended: HBase fails at ${JSON.stringify(failed)}`);
    }
    this.#differences += differences.length;
    const ms = Date.now() - startMs;
    this.#print(
      `seed ${seed}: ${comparisons} comparisons, ${differences.length} differences, ${ms} ms`,
    );
    if (seed === this.#options.seed && failed === null) this.#saveSamples(seed, round, answers);
    // What follows a case's first difference may be its consequence.
    const firsts = differences.filter(
      ({ caseIndex }, i) => differences.findIndex((other) => other.caseIndex === caseIndex) === i,
    );
    for (const difference of firsts.slice(0, this.#options.shown)) {
      this.#show(seed, round, difference);
    }
    const [first] = firsts;
    if (first !== undefined && this.#saved < this.#options.savedMax) {
      await this.#save(seed, round, first);
    }
  }

  async #round(round: Round, observe?: Observer): Promise<Outcome> {
    const table = `diff_${process.pid}_${++this.#tables}`;
    const cellar = new CellarSide();
    const parts = { hbase: this.#hbase, cellar, table };
    try {
      return await runRound(observe === undefined ? parts : { ...parts, observe }, round);
    } finally {
      await cellar.close();
      // Meanwhile the next round may begin.
      this.#drops.push(this.#hbase.drop(table));
    }
  }

  async #save(seed: number, round: Round, difference: Difference): Promise<void> {
    this.#saved++;
    this.#show(seed, round, difference);
    const about = `seed ${seed}, case ${difference.caseIndex}`;
    const splits = isSplit(round, difference.caseIndex) ? round.splits : [];
    const { families } = round;
    const start = { families, splits, steps: stepsUpTo(round, difference) };
    const proof = await new Shrinker((candidate) => this.#round(candidate)).shrink(start);
    if (proof === null) {
      this.#print('  it does not show itself when the case runs alone');
      return;
    }
    const name = `seed-${seed}-case-${difference.caseIndex}.json`;
    this.#write(name, fileOf(`${about}; ours was ${JSON.stringify(comparable(proof.got))}`, proof));
    this.#print(`  saved as ${name}: ${proof.repro.steps.length} steps`);
  }

  #show(seed: number, round: Round, difference: Difference): void {
    const { caseIndex, segment, command, want, got } = difference;
    const after = round.events[segment - 1]?.op ?? 'nothing';
    this.#print(
      `DIFFERENT in seed ${seed}, case ${caseIndex}, after ${after}: ${JSON.stringify(command)}`,
    );
    this.#print(`  HBase: ${JSON.stringify(want)}\n  ours:  ${JSON.stringify(got)}`);
  }

  #saveSamples(seed: number, round: Round, answers: Outcome['answers']): void {
    for (let i = 0; i < Math.min(this.#options.samples, round.cases.length); i++) {
      const steps = round.cases[i]!.flatMap((commands, segment): CaseFile['steps'] => [
        ...(segment === 0 ? [] : [[round.events[segment - 1]!] as const]),
        ...commands.map(
          (command, at) => [command, comparable(answers[i]![segment]![at]!)] as const,
        ),
      ]);
      const about = `A random case (seed ${seed}, case ${i}) with HBase's answers`;
      const { families } = round;
      const splits = isSplit(round, i) && round.splits.length > 0 ? { splits: round.splits } : {};
      this.#write(`sample-${seed}-${i}.json`, { about, families, ...splits, steps });
    }
  }

  #write(name: string, file: CaseFile): void {
    mkdirSync(this.#options.folder, { recursive: true });
    writeFileSync(path.join(this.#options.folder, name), caseText(file));
  }
}

function fileOf(about: string, proof: Proof): CaseFile {
  let at = 0;
  const steps = proof.repro.steps.map((step: Step): readonly [Step, Answer?] =>
    isEvent(step) ? [step] : [step, comparable(proof.answers[at++]!)],
  );
  const { families, splits } = proof.repro;
  return { about, families, ...(splits.length > 0 ? { splits } : {}), steps };
}
