/** The shrinker against an engine with a fault put in: what is left of a random case is what the fault needs, and no more. */
import { describe, expect, test } from 'vitest';
import { seeded } from '../../src/io/index.ts';
import { CellarSide } from './cellar.ts';
import type { Answer, AnswerCell, Family, Side, TableEvent } from './commands.ts';
import { Generator } from './generate.ts';
import { isSplit, runRound, stepsUpTo } from './round.ts';
import type { Outcome, Round } from './round.ts';
import { Shrinker } from './shrink.ts';
import type { Proof } from './shrink.ts';

/** What the faulty engine makes of the right answer to a command. */
type Fault = (command: Record<string, unknown>, answer: Answer, isFlushed: boolean) => Answer;

/** The faulty engine: one that does the same work as the right one beside it, and misreports it. */
class FaultySide implements Side {
  readonly #right: Recorded;
  readonly #fault: Fault;
  #isFlushed = false;

  constructor(right: Recorded, fault: Fault) {
    this.#right = right;
    this.#fault = fault;
  }

  create(): Promise<void> {
    return Promise.resolve();
  }

  event(table: string, event: TableEvent): Promise<string> {
    if (event.op === 'flush') this.#isFlushed = true;
    return Promise.resolve(table);
  }

  async run(_table: string, lanes: readonly (readonly object[])[]): Promise<Answer[][]> {
    const answers = await this.#right.last;
    return answers.map((lane, i) =>
      lane.map((answer, j) => {
        const command = lanes[i]![j] as Record<string, unknown>;
        return this.#fault(command, answer, this.#isFlushed);
      }),
    );
  }
}

class Recorded implements Side {
  readonly inner: CellarSide = new CellarSide();
  last: Promise<Answer[][]> = Promise.resolve([]);

  create(table: string, families: readonly Family[], splits: readonly string[]): Promise<void> {
    return this.inner.create(table, families, splits);
  }

  event(table: string, event: TableEvent): Promise<string> {
    return this.inner.event(table, event);
  }

  run(table: string, lanes: readonly (readonly object[])[]): Promise<Answer[][]> {
    this.last = this.inner.run(table, lanes);
    return this.last;
  }
}

async function runFaulty(round: Round, fault: Fault): Promise<Outcome> {
  const right = new Recorded();
  try {
    const cellar = new FaultySide(right, fault);
    return await runRound({ hbase: right, cellar, table: 't' }, round);
  } finally {
    await right.inner.close();
  }
}

const STEPS_MIN = 20;
const STEPS_MAX = 40;

/** A difference of a random round, made small. */
async function shrunk(seed: number, fault: Fault): Promise<{ proof: Proof; before: number }> {
  for (let own = seed; ; own++) {
    const round = new Generator(seeded(own)).round(4);
    for (const difference of (await runFaulty(round, fault)).differences) {
      const steps = stepsUpTo(round, difference);
      if (steps.length < STEPS_MIN || steps.length > STEPS_MAX) continue;
      const splits = isSplit(round, difference.caseIndex) ? round.splits : [];
      const start = { families: round.families, splits, steps };
      const proof = await new Shrinker((candidate) => runFaulty(candidate, fault)).shrink(start);
      return { proof: proof!, before: steps.length };
    }
  }
}

const isCells = (answer: Answer): answer is readonly AnswerCell[] =>
  Array.isArray(answer) && typeof (answer as AnswerCell[])[0]?.[0] === 'string';

/** Once there was a flush, a get of several cells loses the last. */
const losesCell: Fault = (command, answer, isFlushed) =>
  command['op'] === 'get' && isFlushed && isCells(answer) && answer.length > 1
    ? answer.slice(0, -1)
    : answer;

/** A scan with a filter in which a PageFilter stands loses its last row. */
const losesRow: Fault = (command, answer) =>
  command['op'] === 'scan' &&
  JSON.stringify(command).includes('PageFilter') &&
  Array.isArray(answer)
    ? answer.slice(0, -1)
    : answer;

describe('the shrinker', { timeout: 180_000 }, () => {
  test('a write, a flush and a get are left of a fault behind flushes', async () => {
    const { proof, before } = await shrunk(1, losesCell);
    const { families, splits, steps } = proof.repro;
    expect(before).toBeGreaterThanOrEqual(STEPS_MIN);
    expect(splits).toEqual([]);
    expect(families).toHaveLength(1);
    // The flush may stand on either side of the write: a put, an append or an increment of two columns.
    expect(steps).toHaveLength(3);
    expect(steps.filter(({ op }) => op === 'flush')).toHaveLength(1);
    expect(Object.keys(steps.at(-1)!).sort()).toEqual(['op', 'row']);
    const write = steps.slice(0, -1).find(({ op }) => op !== 'flush')!;
    expect(Object.values(write).find(Array.isArray)).toHaveLength(2);
    expect(proof.want).toHaveLength(2);
    expect(proof.got).toHaveLength(1);
  });

  test('a put and a scan with a bare filter are left of a fault in a filter', async () => {
    const { proof, before } = await shrunk(1, losesRow);
    const { families, steps } = proof.repro;
    expect(before).toBeGreaterThanOrEqual(STEPS_MIN);
    expect(families.map((family) => Object.keys(family))).toEqual([['name']]);
    expect(steps.map(({ op }) => op)).toEqual(['put', 'scan']);
    const scan = steps[1] as Record<string, unknown>;
    expect(Object.keys(scan).sort()).toEqual(['filter', 'op']);
    expect(scan['filter']).toMatchObject({ type: 'PageFilter' });
    expect(proof.got).toEqual([]);
  });

  test('a difference that does not show itself again is told', async () => {
    const shrinker = new Shrinker((round) => runFaulty(round, (_, answer) => answer));
    const steps = [{ op: 'get', row: 'a' }] as const;
    expect(await shrinker.shrink({ families: [{ name: 'f' }], splits: [], steps })).toBeNull();
  });
});
