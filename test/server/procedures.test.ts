/** Procedures: at once, later, repeated, failed; on a clock that is stepped. */
import { describe, expect, test } from 'vitest';
import { simEnv } from '../../src/io/index.ts';
import { TableNotFoundException } from '../../src/model/index.ts';
import { Procedures } from '../../src/server/master/procedures.ts';
import { Fields } from '../../src/wire/index.ts';

const request = (nonce: string | null = null, failsLater = false) => ({
  kind: 'SomeProcedure',
  owner: 'me',
  nonce,
  failsLater,
});

function make() {
  const env = simEnv({ seed: 1 });
  return { env, procedures: new Procedures(env) };
}

/** The state, and the class of the failure. */
function stateOf(procedures: Procedures, id: number): [number, string | null] {
  const result = new Fields(procedures.result(id));
  return [result.int(1, -1), result.message(5)?.message(2)?.text(1) ?? null];
}

describe('procedures', () => {
  test('work that is quick is done when it is answered', async () => {
    const { env, procedures } = make();
    const id = await env.drive(procedures.run(request(), () => env.timers.sleep(10)));
    expect(stateOf(procedures, id)).toEqual([2, null]);
    expect(stateOf(procedures, id + 1)).toEqual([0, null]);
  });

  test('work that takes long is polled for', async () => {
    const { env, procedures } = make();
    const id = await env.drive(procedures.run(request(), () => env.timers.sleep(60_000)));
    expect(stateOf(procedures, id)).toEqual([1, null]);
    await env.drive(env.timers.sleep(60_000));
    expect(stateOf(procedures, id)).toEqual([2, null]);
  });

  test('a quick failure is the answer, a late one the result', async () => {
    const { env, procedures } = make();
    const fails = (afterMs: number) => async (): Promise<void> => {
      await env.timers.sleep(afterMs);
      throw new TableNotFoundException('t');
    };
    await expect(env.drive(procedures.run(request(), fails(10)))).rejects.toThrow('t');
    const later = await env.drive(procedures.run(request(), fails(20_000)));
    await env.drive(env.timers.sleep(60_000));
    const missing = 'org.apache.hadoop.hbase.TableNotFoundException';
    expect(stateOf(procedures, later)).toEqual([2, missing]);
    const told = await env.drive(procedures.run(request(null, true), fails(10)));
    expect(stateOf(procedures, told)).toEqual([2, missing]);
  });

  test('a repeat joins the first, whether it runs or has ended', async () => {
    const { env, procedures } = make();
    let runs = 0;
    const work = async (): Promise<void> => {
      runs++;
      await env.timers.sleep(20_000);
    };
    const first = await env.drive(procedures.run(request('1 2'), work));
    expect(await env.drive(procedures.run(request('1 2'), work))).toBe(first);
    await env.drive(env.timers.sleep(60_000));
    expect(await env.drive(procedures.run(request('1 2'), work))).toBe(first);
    expect(await env.drive(procedures.run(request('1 3'), work))).not.toBe(first);
    expect(runs).toBe(2);
  });

  test('are listed, and forgotten when there are many', async () => {
    const { env, procedures } = make();
    for (let i = 0; i < 1100; i++) {
      await env.drive(procedures.run(request(`1 ${i}`), () => Promise.resolve()));
    }
    const list = procedures.list().map((message) => new Fields(message));
    expect(list).toHaveLength(1000);
    expect(list[0]!.text(1)).toBe('org.apache.hadoop.hbase.master.procedure.SomeProcedure');
    expect(list.at(-1)!.int(3, 0)).toBe(1100);
  });
});
