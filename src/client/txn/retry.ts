/** Repeats of a verb whose outcome is not known: backoff of 100 ms doubling to 10 s, with jitter. */
import type { Env } from '../../io/index.ts';
import { StoreException } from '../../io/index.ts';

const FIRST_MS = 100;
const LONGEST_MS = 10_000;

/** Runs the verb until it answers or is refused for good; after `forMs` the last failure is thrown. */
export async function retrying<T>(
  env: Pick<Env, 'clock' | 'random' | 'timers'>,
  forMs: number,
  verb: () => Promise<T>,
): Promise<T> {
  const startedMs = env.clock.monotonicMs();
  for (let waitMs = FIRST_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_MS)) {
    try {
      return await verb();
    } catch (error) {
      if (!(error instanceof StoreException) || !error.retryable) throw error;
      if (env.clock.monotonicMs() - startedMs + waitMs > forMs) throw error;
      await env.timers.sleep(waitMs * (0.5 + env.random.int(1000) / 2000));
    }
  }
}
