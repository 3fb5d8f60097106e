import { MEBIBYTE } from './subject.ts';

const RSS_EVERY_MS = 10;

/** Looks at the memory of the process all the time. */
export class RssWatch {
  readonly beforeMiB: number = process.memoryUsage.rss() / MEBIBYTE;
  #most = 0;
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.#look(), RSS_EVERY_MS);
  }

  #look(): void {
    this.#most = Math.max(this.#most, process.memoryUsage.rss());
  }

  /** The most bytes that were in use. */
  stop(): number {
    clearInterval(this.#timer);
    this.#look();
    return this.#most;
  }
}
