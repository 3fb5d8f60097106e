/** What a run of the command line has to do with the world: parameters, so that tests run it in process. */
import type { Env } from '../io/index.ts';
import type { Connection } from '../model/index.ts';
import { Printer, type Output } from './output.ts';
import type { ServeHost } from './serve.ts';

export interface StoreAccess {
  /** Fail if the folder holds no store, rather than make one. */
  readonly mustExist: boolean;
}

/** The streams of an interactive terminal, for line editing. */
export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

export interface CliIo {
  readonly env: Env;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Null unless standard input and output are a terminal. */
  readonly terminal: Terminal | null;
  /** Where progress is drawn: standard error, if it is a terminal. */
  readonly progressStream: NodeJS.WritableStream | null;
  /** Environment variables. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Opens the store in this folder; the caller closes it. */
  openStore(folder: string, options: StoreAccess): Promise<Connection>;
  /** What `serve` runs in; null leaves the command out. */
  readonly serveHost: ServeHost | null;
  /** Calls `handler` at Ctrl-C or a request to end, instead of ending; gives the way back. */
  onInterrupt(handler: () => void): () => void;
}

/** Exit statuses. Callers rely on them. */
export const EXIT_OK = 0;
/** The operation failed: the error is on standard error. */
export const EXIT_FAILED = 1;
/** The command line is wrong; nothing was done. */
export const EXIT_USAGE = 2;
/** Stopped by Ctrl-C, cleanly. */
export const EXIT_INTERRUPTED = 130;

/** The command line is wrong in a way that the parser cannot see. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Options that every command takes. */
export interface GlobalOptions {
  readonly data?: string;
  readonly json?: boolean;
}

/** One run: its world, and the exit status that the command leaves. */
export class CliContext {
  readonly io: CliIo;
  exitStatus: number = EXIT_OK;

  constructor(io: CliIo) {
    this.io = io;
  }

  printer(options: GlobalOptions): Printer {
    return new Printer(this.io.stdout, options.json === true);
  }

  /** The data folder of --data or CELLAR_DATA. Throws UsageError. */
  dataFolder(options: GlobalOptions): string {
    const folder = options.data ?? this.io.variables['CELLAR_DATA'];
    if (folder === undefined || folder === '') {
      throw new UsageError('no data folder: give --data DIR or set CELLAR_DATA');
    }
    return folder;
  }

  /**
   * Runs `work` on the open store and closes it whatever happens. Only commands that create something make a folder
   * that is not there; for the others the store must exist.
   */
  async withStore(
    options: GlobalOptions,
    work: (store: Connection, printer: Printer) => Promise<void>,
    access: StoreAccess = { mustExist: true },
  ): Promise<void> {
    const printer = this.printer(options);
    const store = await this.io.openStore(this.dataFolder(options), access);
    try {
      await work(store, printer);
    } finally {
      await store.close();
    }
    await printer.flush();
  }
}
