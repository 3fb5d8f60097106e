/** What long work shares: its world, how it is stopped, how fast it may be, whom it tells how far it is. */
import type { Env } from '../io/index.ts';
import { InterruptedIOException } from './errors.ts';

/** How far a long piece of work has come. */
export interface WorkFigures {
  /** What is being done now, e.g. a table's name. */
  readonly what: string;
  /** Bytes done, as they lie in the output; and in all, 0 while that is not known. */
  readonly bytes: number;
  readonly bytesTotal: number;
  readonly rows: number;
  readonly cells: number;
}

export interface WorkOptions {
  /** Bytes a second read and written at most; 0 or absent: as fast as it goes. */
  readonly bytesPerSecondMax?: number;
  readonly onProgress?: (figures: WorkFigures) => void;
  /** Asked now and then; true ends the work with InterruptedIOException. */
  readonly isStopped?: () => boolean;
}

/** One run of long work. */
export class Work {
  readonly env: Env;
  readonly #options: WorkOptions;
  readonly #startMs: number;
  readonly #buffers: Uint8Array[] = [];
  #what = '';
  #paced = 0;
  /** Whether files may still be cloned; false once the file system could not. */
  clones = true;
  bytes = 0;
  bytesTotal = 0;
  rows = 0;
  cells = 0;

  constructor(env: Env, options: WorkOptions) {
    this.env = env;
    this.#options = options;
    this.#startMs = env.clock.monotonicMs();
  }

  /** A buffer for the time being: fresh memory costs more than to fill it. All of one run have one size. */
  takeBuffer(sizeBytes: number): Uint8Array {
    return this.#buffers.pop() ?? Buffer.allocUnsafeSlow(sizeBytes);
  }

  giveBuffer(buf: Uint8Array): void {
    this.#buffers.push(buf);
  }

  /** Whether there is a limit of bytes a second. */
  get isPaced(): boolean {
    return (this.#options.bytesPerSecondMax ?? 0) > 0;
  }

  get elapsedMs(): number {
    return this.env.clock.monotonicMs() - this.#startMs;
  }

  begin(what: string): void {
    this.#what = what;
    this.tell();
  }

  tell(): void {
    const { bytes, bytesTotal, rows, cells } = this;
    this.#options.onProgress?.({ what: this.#what, bytes, bytesTotal, rows, cells });
  }

  /** Throws InterruptedIOException when the work is to end. */
  check(): void {
    if (this.#options.isStopped?.() !== true) return;
    throw new InterruptedIOException('interrupted');
  }

  /** `count` further bytes went by: tells, checks, and waits if that was too quick. */
  async step(count: number): Promise<void> {
    this.bytes += count;
    this.#paced += count;
    this.tell();
    this.check();
    const rate = this.#options.bytesPerSecondMax ?? 0;
    if (rate === 0) return;
    const aheadMs = (this.#paced / rate) * 1000 - this.elapsedMs;
    if (aheadMs > 1) await this.env.timers.sleep(aheadMs);
  }
}

/** Runs `work` on each item, at most `width` side by side, in order of their starts; the first failure ends it. */
export async function sideBySide<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = [...items];
  const failures: unknown[] = [];
  const run = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) {
      try {
        await work(item);
      } catch (error) {
        failures.push(error);
        rest.length = 0;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, width) }, run));
  if (failures.length > 0) throw failures[0];
}
