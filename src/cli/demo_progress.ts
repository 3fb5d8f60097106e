/** Progress of loading the demo: a bar on a terminal, a line now and then elsewhere. */
import cliProgress from 'cli-progress';
import type { DemoProgress } from './demo.ts';

const LINES = 4;

export interface DemoDisplay {
  readonly report: DemoProgress;
  /** Gives the terminal back as it was; to be called however loading ends. */
  stop(): void;
}

/** `write` gets whole lines; `terminal` is the stream to draw a bar on, null where there is none. */
export function demoProgress(
  write: (line: string) => void,
  terminal: NodeJS.WriteStream | null,
): DemoDisplay {
  return terminal === null
    ? { report: progressLines(write), stop: () => undefined }
    : progressBar(terminal);
}

function progressLines(write: (line: string) => void): DemoProgress {
  let next = 0;
  return (done, total) => {
    if (done < next && done < total) return;
    write(`loading earthquakes: ${done} of ${total}`);
    next = done + total / LINES;
  };
}

function progressBar(terminal: NodeJS.WriteStream): DemoDisplay {
  const format = 'loading earthquakes {bar} {value}/{total}';
  const bar = new cliProgress.SingleBar(
    { format, stream: terminal, clearOnComplete: false, hideCursor: true },
    cliProgress.Presets.shades_classic,
  );
  const report: DemoProgress = (done, total) => {
    if (done === 0) bar.start(total, 0);
    else bar.update(done);
  };
  return { report, stop: () => bar.stop() };
}
