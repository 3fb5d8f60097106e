/** Progress of a load on standard error: a bar on a terminal, a plain line every few seconds elsewhere. */
import { SingleBar } from 'cli-progress';
import type { Clock } from '../../io/index.ts';
import type { Output } from '../output.ts';
import type { LoadFigures } from './loader.ts';
import type { Input } from './source.ts';

/** Between two plain lines. */
const PLAIN_EVERY_MS = 5_000;

export interface LoadProgress {
  update(figures: LoadFigures): Promise<void>;
  stop(): void;
}

/** `terminal` is the stream to draw on, or null for plain lines on `stderr`. */
export function loadProgress(
  input: Input,
  clock: Clock,
  stderr: Output,
  terminal: NodeJS.WritableStream | null,
): LoadProgress {
  return terminal === null || input.sizeBytes === null
    ? plainProgress(input, clock, stderr)
    : barProgress(input, input.sizeBytes, terminal);
}

function barProgress(input: Input, sizeBytes: number, stream: NodeJS.WritableStream): LoadProgress {
  const bar = new SingleBar({
    stream,
    format: 'loading {bar} {percentage}% | {lines} lines | {bad} bad | {eta_formatted} left',
    hideCursor: true,
    // Ctrl-C is ours: the batch under way is finished first.
    gracefulExit: false,
  });
  bar.start(sizeBytes, 0, { lines: 0, bad: 0 });
  return {
    update: async ({ lines, badLines }) => bar.update(input.readBytes(), { lines, bad: badLines }),
    stop: () => bar.stop(),
  };
}

function plainProgress(input: Input, clock: Clock, stderr: Output): LoadProgress {
  let lastMs = clock.monotonicMs();
  return {
    async update({ lines, badLines }) {
      const nowMs = clock.monotonicMs();
      if (nowMs - lastMs < PLAIN_EVERY_MS) return;
      lastMs = nowMs;
      const share =
        input.sizeBytes === null || input.sizeBytes === 0
          ? `${input.readBytes()} bytes read`
          : `${Math.floor((100 * input.readBytes()) / input.sizeBytes)}%`;
      await stderr.write(`loading: ${share}, ${lines} lines, ${badLines} bad\n`);
    },
    stop: () => undefined,
  };
}
