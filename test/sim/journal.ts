/** What a run did: counts its steps, hashes what was asked and answered, and remembers the last of it for a failure. */
import { createHash } from 'node:crypto';

const LAST_MAX = 60;

export class Journal {
  readonly #hash = createHash('sha256');
  readonly #last: string[] = [];
  readonly #print: ((line: string) => void) | null;
  /** The number of the operation begun last. */
  step = 0;

  constructor(print: ((line: string) => void) | null = null) {
    this.#print = print;
  }

  /** What was done, by kind. */
  readonly counts = new Map<string, number>();

  count(kind: string, by: number = 1): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + by);
  }

  nextStep(): void {
    this.step++;
  }

  /** Something that was asked or done. */
  note(text: () => string): void {
    this.#add(text());
  }

  /** An answer. */
  answer(text: () => string): void {
    this.#add(text());
  }

  #add(line: string): void {
    this.#hash.update(line).update('\n');
    this.#last.push(line);
    if (this.#last.length > LAST_MAX) this.#last.shift();
    this.#print?.(line);
  }

  /** The last lines, oldest first. */
  get last(): readonly string[] {
    return this.#last;
  }

  /** Over everything so far. */
  digest(): string {
    return this.#hash.copy().digest('hex');
  }
}
