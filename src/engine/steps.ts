/**
 * Operations in steps: generators that run synchronously as far as they can and yield what they have to wait for, so that
 * what never waits costs no promise.
 */

/** Yields whenever it must wait, e.g. for a block. */
export type Steps<T> = Generator<Promise<void>, T, void>;

/**
 * Runs the steps to their end. What a wait fails with is thrown where the operation waits, so that it gives back what it
 * holds. `wait`: what the operation, begun before, waits for.
 */
export async function drive<T>(steps: Steps<T>, wait: Promise<void> | null = null): Promise<T> {
  let step: IteratorResult<Promise<void>, T> = wait === null
    ? steps.next()
    : { done: false, value: wait };
  while (step.done !== true) {
    try {
      await step.value;
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next();
  }
  return step.value;
}
