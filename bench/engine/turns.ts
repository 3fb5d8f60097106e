/** Lets one task run at a time, in the order they came: for stores without an atomic update. */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  run(task: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(task);
    this.#last = turn.catch(() => undefined); // Whoever asked for the task gets its error.
    return turn;
  }
}
