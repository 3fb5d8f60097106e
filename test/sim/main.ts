/**
 * `npm run sim -- --seed N --minutes M`: runs seeds N, N+1, … and prints what they did, each minute and at the end.
 * `--steps K` ends each seed after K operations; `--seeds C` runs C seeds; `--verbose` prints every operation and answer.
 */
import { SimFailure } from './history.ts';
import { Simulation, type SimulationReport } from './simulation.ts';

export const STEPS_DEFAULT = 1500;

interface Arguments {
  seed: number;
  minutes: number;
  steps: number;
  seeds: number;
  verbose: boolean;
}

function argumentsOf(words: readonly string[]): Arguments {
  const given: Arguments = {
    seed: 1,
    minutes: Infinity,
    steps: STEPS_DEFAULT,
    seeds: Infinity,
    verbose: false,
  };
  let isReplay = false;
  for (let i = 0; i < words.length; i++) {
    const name = words[i]!;
    if (name === '--verbose') {
      given.verbose = true;
      continue;
    }
    const value = Number(words[++i]);
    if (!Number.isFinite(value)) throw new Error(`${name} needs a number`);
    if (name === '--seed') given.seed = value;
    else if (name === '--minutes') given.minutes = value;
    else if (name === '--steps') {
      given.steps = value;
      isReplay = true;
    } else if (name === '--seeds') given.seeds = value;
    else throw new Error(`unknown option ${name}`);
  }
  // Without a duration: the given seed alone when its steps are given (a replay), else a minute.
  if (given.minutes === Infinity && given.seeds === Infinity) {
    if (isReplay) given.seeds = 1;
    else given.minutes = 1;
  }
  return given;
}

class Totals {
  readonly #startMs: number = performance.now();
  #shownMs = performance.now();
  #seeds = 0;
  readonly #sums = new Map<string, number>();

  add(report: SimulationReport): void {
    this.#seeds++;
    const { faults, done, ...counts } = report;
    for (const [kind, count] of Object.entries(done)) this.#add(kind, count);
    for (const [name, count] of Object.entries(counts)) {
      if (typeof count === 'number') this.#add(name, count);
    }
    for (const [kind, count] of Object.entries(faults)) this.#add(`fault ${kind}`, count);
  }

  #add(name: string, count: number): void {
    this.#sums.set(name, (this.#sums.get(name) ?? 0) + count);
  }

  get minutes(): number {
    return (performance.now() - this.#startMs) / 60_000;
  }

  /** Prints the sums if a minute has gone since the last time. */
  tell(print: (line: string) => void, always: boolean): void {
    if (!always && performance.now() - this.#shownMs < 60_000) return;
    this.#shownMs = performance.now();
    const seconds = this.minutes * 60;
    const steps = this.#sums.get('steps') ?? 0;
    const sums = [...this.#sums].map(([name, sum]) => `${name} ${sum}`).join(', ');
    print(
      `${seconds.toFixed(0)} s: ${this.#seeds} seeds, ${sums}; ${(steps / seconds).toFixed(0)} operations/s`,
    );
  }
}

/** Gives the exit status: 0, or 1 when a seed failed. */
export async function main(
  words: readonly string[],
  print: (line: string) => void,
): Promise<number> {
  const { seed: first, minutes, steps, seeds, verbose } = argumentsOf(words);
  const totals = new Totals();
  for (let seed = first; seed < first + seeds && totals.minutes < minutes; seed++) {
    const simulation = new Simulation({ seed, steps, ...(verbose ? { print } : {}) });
    try {
      const report = await simulation.run();
      totals.add(report);
      if (seeds <= 20) print(`seed ${seed}: ${report.digest}`);
    } catch (error) {
      const { journal } = simulation;
      for (const line of journal.last) print(line.length > 400 ? `${line.slice(0, 400)}…` : line);
      const step = error instanceof SimFailure && error.step > 0 ? error.step : journal.step;
      print(`FAILED seed ${seed} step ${step} (of ${journal.step} so far)`);
      print(error instanceof Error ? (error.stack ?? error.message) : String(error));
      print(`replay: npm run sim -- --seed ${seed} --steps ${steps}`);
      totals.tell(print, true);
      return 1;
    }
    totals.tell(print, false);
  }
  totals.tell(print, true);
  return 0;
}
