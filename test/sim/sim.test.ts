/** A few seconds of the simulator, and that a seed replays to the byte. `npm run sim` runs it for longer. */
import { describe, expect, test } from 'vitest';
import { Simulation, type SimulationReport } from './simulation.ts';

const STEPS = 300;

async function run(seed: number): Promise<SimulationReport> {
  const simulation = new Simulation({ seed, steps: STEPS });
  try {
    return await simulation.run();
  } catch (error) {
    const last = simulation.journal.last.slice(-15).join('\n');
    throw new Error(`seed ${seed}: npm run sim -- --seed ${seed} --steps ${STEPS}\n${last}`, {
      cause: error,
    });
  }
}

describe('the simulator', () => {
  test.each([1, 2, 3, 4])('finds no fault with seed %i', async (seed) => {
    const report = await run(seed);
    expect(report.steps).toBeGreaterThanOrEqual(STEPS);
    expect(report.crashes + report.kills + report.closes).toBeGreaterThan(0);
  });

  test('replays a seed: the same operations, answers and bytes on the disk', async () => {
    const [one, two, other] = [await run(5), await run(5), await run(6)];
    expect(two).toEqual(one);
    expect(other.digest).not.toBe(one.digest);
  });
});
