/** A process killed while it makes the first segment: what the next one writes there must not depend on the dead one's syncs. */
import { expect, test } from 'vitest';
import { lineOf, machine, openLog, recordsOf } from './harness.ts';

test('a segment found after a kill at any moment of its making survives a power cut', async () => {
  let found = 0;
  for (let step = 0; step < 40; step++) {
    const env = machine(step);
    const first = await env.drive(openLog(env));
    const started = first.append();
    started.catch(() => undefined);
    await env.timers.runFor(step * 0.1);
    const next = env.kill();
    const log = await next.drive(openLog(next));
    if (log.recovered.segments.length > 0) found++;
    const tso = await next.drive(log.commit());
    const records = await recordsOf(next.crash({ keepUnsynced: 0 }));
    expect(records.at(-1), `killed after ${step * 0.1} ms`).toBe(lineOf(tso));
  }
  expect(found).toBeGreaterThan(0);
});
