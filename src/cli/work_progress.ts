/** Progress of long work on standard error: a bar with rate and time left on a terminal, a plain line now and then elsewhere. */
import { SingleBar } from 'cli-progress';
import { InterruptedIOException } from '../backup/index.ts';
import type { WorkFigures, WorkOptions } from '../backup/index.ts';
import { EXIT_INTERRUPTED } from './context.ts';
import type { CliContext } from './context.ts';

/** Between two plain lines. */
const PLAIN_EVERY_MS = 5_000;
const MEBIBYTE = 1024 * 1024;
/** To the start of the line, and nothing on it. */
const CLEAR_LINE = '\r\x1b[K';

export interface WorkProgress {
  /** To be handed to the work. */
  readonly options: Required<Pick<WorkOptions, 'onProgress' | 'isStopped'>>;
  /** Whether Ctrl-C was pressed. */
  readonly isStopped: () => boolean;
  /** Takes the bar off its line, so that others can be written there; the next figures draw it again. */
  clear(): void;
  /** Ends it; waits until everything was told. */
  stop(): Promise<void>;
}

/** Of work that shows nothing of how far it is; Ctrl-C ends it. */
export function quietProgress(context: CliContext): WorkProgress {
  return progressShown(context, {
    update: () => undefined,
    clear: () => undefined,
    stop: () => Promise.resolve(),
  });
}

/** `verb` begins the lines: `exporting`. */
export function workProgress(context: CliContext, verb: string): WorkProgress {
  const stream = context.io.progressStream;
  return progressShown(
    context,
    stream === null ? plain(context, verb) : bar(stream, verb, context),
  );
}

function progressShown(context: CliContext, show: Shown): WorkProgress {
  let isAsked = false;
  const release = context.io.onInterrupt(() => {
    isAsked = true;
  });
  return {
    options: { onProgress: show.update, isStopped: () => isAsked },
    isStopped: () => isAsked,
    clear: show.clear,
    stop: async () => {
      release();
      await show.stop();
    },
  };
}

interface Shown {
  readonly update: (figures: WorkFigures) => void;
  readonly clear: () => void;
  readonly stop: () => Promise<void>;
}

const mebibytes = (bytes: number): string => (bytes / MEBIBYTE).toFixed(1);

function figuresText(figures: WorkFigures): string {
  const { bytes, bytesTotal, rows } = figures;
  const share = bytesTotal > 0 ? ` of ${mebibytes(bytesTotal)}` : '';
  return `${mebibytes(bytes)}${share} MiB${rows > 0 ? `, ${rows} rows` : ''}`;
}

/** Rate, and the time left where it can be told. */
function paceText({ bytes, bytesTotal }: WorkFigures, seconds: number): string {
  if (bytes === 0) return '';
  const rate = `, ${mebibytes(bytes / seconds)} MiB/s`;
  const left = bytesTotal > bytes ? ((bytesTotal - bytes) / bytes) * seconds : 0;
  return left === 0 ? rate : `${rate}, ${Math.ceil(left)} s left`;
}

function plain(context: CliContext, verb: string): Shown {
  const { clock } = context.io.env;
  const beganMs = clock.monotonicMs();
  let lastMs = beganMs;
  let told: Promise<unknown> = Promise.resolve();
  return {
    update(figures) {
      const nowMs = clock.monotonicMs();
      if (nowMs - lastMs < PLAIN_EVERY_MS) return;
      lastMs = nowMs;
      const pace = paceText(figures, (nowMs - beganMs) / 1000);
      const text = `${verb} ${figures.what}: ${figuresText(figures)}${pace}\n`;
      told = told.then(() => context.io.stderr.write(text));
    },
    clear: () => undefined,
    stop: async () => void (await told),
  };
}

function bar(stream: NodeJS.WritableStream, verb: string, context: CliContext): Shown {
  const { clock } = context.io.env;
  const beganMs = clock.monotonicMs();
  const format = `${verb} {what} {bar} {figures} | {rate} MiB/s | {eta_formatted} left`;
  // Ctrl-C is ours: what was begun is undone or noted first.
  const line = new SingleBar({ stream, format, hideCursor: true, gracefulExit: false });
  line.start(0, 0, { what: '', figures: '', rate: '0.0' });
  return {
    update(figures) {
      const seconds = Math.max(0.001, (clock.monotonicMs() - beganMs) / 1000);
      line.setTotal(Math.max(figures.bytesTotal, figures.bytes));
      line.update(figures.bytes, {
        what: figures.what,
        figures: figuresText(figures),
        rate: mebibytes(figures.bytes / seconds),
      });
    },
    clear: () => void stream.write(CLEAR_LINE),
    stop: async () => line.stop(),
  };
}

/** Runs long work under its progress; Ctrl-C ends it with its own exit status and null. */
export async function guarded<T>(
  context: CliContext,
  progress: WorkProgress,
  work: () => Promise<T>,
): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof InterruptedIOException)) throw error;
    context.exitStatus = EXIT_INTERRUPTED;
    return null;
  } finally {
    await progress.stop();
    if (context.exitStatus === EXIT_INTERRUPTED) await context.io.stderr.write('Interrupted\n');
  }
}
