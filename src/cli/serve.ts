/** `cellar serve`: opens a store, says what it holds, and listens until it is told to stop. */
import path from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { pino } from 'pino';
import type { Logger } from 'pino';
import { measureSync } from '../io/index.ts';
import type { Env, SyncMeasure } from '../io/index.ts';
import type { Connection, Durability } from '../model/index.ts';
import {
  HTTP_HOST,
  HTTP_PORT,
  RPC_PORT,
  ZOOKEEPER_PORT,
  parseHostPort,
  startServer,
} from '../server/index.ts';
import type { KnobSet } from '../embedded/index.ts';
import type { ApiOptions, HostPort, RunningServer, ServerOptions } from '../server/index.ts';
import { demoCommands, describeHoldings, loadDemo } from './demo.ts';
import { readConfig } from './config_file.ts';
import { demoProgress } from './demo_progress.ts';

const DURABILITIES = ['SKIP_WAL', 'ASYNC_WAL', 'SYNC_WAL', 'FSYNC_WAL'] as const;
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

/** What a commit's acknowledgement means, by durability. */
const MEANINGS: Readonly<Record<string, string>> = {
  SKIP_WAL: 'commits are not logged: they are lost when the process ends',
  ASYNC_WAL: 'a commit is on the disk a moment after its answer',
  SYNC_WAL: 'a commit survives a killed process, not a power cut',
  FSYNC_WAL: 'a commit is on the disk before its answer',
};

const SERVE_HELP = `
Ctrl-C (or SIGTERM) closes the store and ends with status 0; a second one ends at once, with 130.
What was acknowledged stays, as the durability promises. "stopped" on standard error: the folder is free.
With --stop-with-input the end of standard input stops it, too: tests keep its other end open as long as they run.

HBase's clients find the server by --rpc-port (hbase.client.bootstrap.servers) or by --zookeeper-port
(hbase.zookeeper.quorum). Each is told the address at which it has arrived; behind a port mapping say with --advertise, or
later with "advertise", what is to be told. --port puts all on one port.

With --json the banner stays on standard error, and one line on standard output says that connections are
taken: ready, rpc, zookeeper (host:port), http (a URL; null for what is off), data (null: in memory), durability,
syncMedianMs, reallySyncs, tables, pid.`;

/** How a store is opened; without a folder it is in memory. */
export type OpenStore = (
  dir?: string,
  options?: {
    durability?: Exclude<Durability, 'USE_DEFAULT'>;
    logger?: Logger;
    knobs?: KnobSet;
  },
) => Promise<Connection>;

/** The process around the command. */
export interface ServeHost {
  readonly env: Env;
  readonly open: OpenStore;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  /** The terminal that standard error is, or null. */
  readonly terminal: NodeJS.WriteStream | null;
  /** Calls `task` at every request to stop (SIGINT, SIGTERM); gives a function that ends this. */
  onStop(task: () => void): () => void;
  /** Calls `task` once standard input ends, as it does when the process at its other end is gone. */
  onInputEnd(task: () => void): () => void;
  /** Ends the process at once. */
  exit(status: number): void;
  /** How a user calls this program, e.g. `cellar`. */
  readonly program: string;
  /** Environment variables; absent: none. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
}

export interface ServeOptions {
  /** A file of knobs and credentials. */
  readonly config?: string;
  /** Knobs as NAME=VALUE. */
  readonly set?: readonly string[];
  /** Data folder; absent: in memory. */
  readonly dir?: string;
  readonly demo: boolean;
  /** One for all doors: then the others do not count. */
  readonly port?: number;
  readonly httpPort: DoorPort;
  /** Absent: off. */
  readonly rpcPort?: DoorPort;
  /** Absent: off. */
  readonly zookeeperPort?: DoorPort;
  readonly advertise?: HostPort;
  readonly host: string;
  readonly json: boolean;
  readonly stopWithInput?: boolean;
  readonly durability?: Exclude<Durability, 'USE_DEFAULT'>;
  readonly logLevel: string;
}

/** 0 takes any free one. */
export type DoorPort = number | 'off';

/** The host that the running process is. */
export function processHost(env: Env, open: OpenStore): ServeHost {
  return {
    env,
    open,
    stdout: process.stdout,
    stderr: process.stderr,
    terminal: process.stderr.isTTY ? process.stderr : null,
    onStop: (task) => {
      process.on('SIGINT', task).on('SIGTERM', task);
      return () => {
        process.off('SIGINT', task).off('SIGTERM', task);
      };
    },
    onInputEnd: (task) => {
      process.stdin.once('end', task).once('error', task).resume();
      return () => {
        process.stdin.off('end', task).off('error', task).pause();
      };
    },
    exit: (status) => process.exit(status),
    program: programName(process.argv[1] ?? ''),
    variables: process.env,
  };
}

/** `cellar` or whatever it is installed as; from a source tree there is no such command, but the file that was started. */
function programName(script: string): string {
  const name = path.basename(script);
  return name === 'main.js' ? `node ${path.relative(process.cwd(), script)}` : name;
}

/** The command for the command line; `done` gets the exit status when the server has stopped. */
export function serveCommand(host: ServeHost, done: (status: number) => void): Command {
  return new Command('serve')
    .description('open a store and listen until Ctrl-C')
    .argument('[DIR]', 'data folder, made if absent; without one the store is in memory')
    .option('--demo', 'load a week of earthquakes the first time', false)
    .option('--port <N>', 'one port for all that follow; 0 takes any free one', parsePort)
    .option('--rpc-port <N>', "HBase's protocol; 0 or off", parseDoorPort, RPC_PORT)
    .option(
      '--zookeeper-port <N>',
      'for clients that look there; 0 or off',
      parseDoorPort,
      ZOOKEEPER_PORT,
    )
    .option('--http-port <N>', '0 or off', parseDoorPort, HTTP_PORT)
    .option('--advertise <HOST:PORT>', 'tell clients this address', parseAdvertised)
    .option('--host <HOST>', 'address to listen at', HTTP_HOST)
    .option('--config <FILE>', 'knobs, and who may call the HTTP API (or CELLAR_CONFIG)')
    .option('--set <NAME=VALUE...>', 'knobs, see `cellar config list`')
    .option('--json', 'one line of JSON on standard output when ready, see below', false)
    .option('--stop-with-input', 'stop when standard input ends, too: nothing outlives its starter')
    .addOption(new Option('--durability <D>', 'of commits that ask for none').choices(DURABILITIES))
    .addOption(
      new Option('--log-level <LEVEL>', 'of the log on standard error')
        .choices(LOG_LEVELS)
        .default('warn'),
    )
    .addHelpText('after', SERVE_HELP)
    .action(async (dir: string | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<Omit<ServeOptions, 'dir'> & { data?: string }>();
      const folder = dir ?? options.data;
      done(await runServe({ ...options, ...(folder === undefined ? {} : { dir: folder }) }, host));
    });
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('not 0 … 65535');
  return port;
}

function parseDoorPort(text: string): DoorPort {
  return text === 'off' ? text : parsePort(text);
}

function parseAdvertised(text: string): HostPort {
  const address = parseHostPort(text);
  if (address === null) throw new InvalidArgumentError('not host:port');
  return address;
}

/** Serves until stopped and answers the exit status, 0. Throws what kept it from starting or closing. */
export async function runServe(options: ServeOptions, host: ServeHost): Promise<number> {
  const stop = new AbortController();
  const stopAsked = new Promise<void>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const release = host.onStop(() => {
    if (stop.signal.aborted) host.exit(130);
    else stop.abort(new StopAsked());
  });
  const watchesInput = options.stopWithInput === true;
  const releaseInput = watchesInput ? host.onInputEnd(() => stop.abort(new StopAsked())) : null;
  try {
    await serveUntil(options, host, { signal: stop.signal, stopAsked });
    tellStopped(host);
    return 0;
  } catch (error) {
    if (!(error instanceof StopAsked)) throw error;
    tellStopped(host);
    return 0;
  } finally {
    release();
    releaseInput?.();
  }
}

/** Said when the store is closed: from here on the folder is free. */
function tellStopped(host: ServeHost): void {
  host.stderr.write('stopped: the store is closed\n');
}

/** Breaks off what is under way when a stop is asked for before the server is ready. */
class StopAsked extends Error {
  override readonly name = 'StopAsked';
}

interface Stop {
  readonly signal: AbortSignal;
  readonly stopAsked: Promise<void>;
}

async function serveUntil(options: ServeOptions, host: ServeHost, stop: Stop): Promise<void> {
  const logger = pino(
    { level: options.logLevel },
    { write: (line: string) => void host.stderr.write(line) },
  );
  const config = await readConfig({
    env: host.env,
    variables: host.variables ?? {},
    ...(options.config === undefined ? {} : { file: options.config }),
    ...(options.set === undefined ? {} : { flags: options.set }),
  });
  const connection = await host.open(options.dir, {
    logger,
    ...(config.hasKnobs ? { knobs: config.knobs } : {}),
    ...(options.durability === undefined ? {} : { durability: options.durability }),
  });
  try {
    const write = (line: string): void => void host.stderr.write(`${line}\n`);
    if (options.demo) await loadDemoShown(connection, host, stop.signal);
    const sync = options.dir === undefined ? null : await measureSync(host.env, options.dir);
    const banner = await describeStore(connection, options, { sync, program: host.program });
    stop.signal.throwIfAborted();
    const server = await startServer({
      connection,
      env: host.env,
      host: options.host,
      ...withApi(doorsOf(options), config.api),
      ...(options.advertise === undefined ? {} : { advertise: options.advertise }),
      logger,
    });
    try {
      for (const line of [...banner, ...describeDoors(server)]) write(line);
      if (options.json) host.stdout.write(`${readyLine(connection, server, sync)}\n`);
      await stop.stopAsked;
    } finally {
      await server.close();
    }
  } finally {
    await connection.close();
  }
}

type Doors = Pick<ServerOptions, 'port' | 'rpc' | 'zookeeper' | 'http'>;

/** Who may call the HTTP API, where there is one. */
function withApi(doors: Doors, api: ApiOptions): Doors {
  if (doors.http === undefined && doors.port === undefined) return doors;
  return { ...doors, http: { ...doors.http, api } };
}

function doorsOf({
  port,
  rpcPort = 'off',
  zookeeperPort = 'off',
  httpPort,
}: ServeOptions): Pick<ServerOptions, 'port' | 'rpc' | 'zookeeper' | 'http'> {
  if (port !== undefined) return { port };
  return {
    ...(rpcPort === 'off' ? {} : { rpc: { port: rpcPort } }),
    ...(zookeeperPort === 'off' ? {} : { zookeeper: { port: zookeeperPort } }),
    ...(httpPort === 'off' ? {} : { http: { port: httpPort } }),
  };
}

async function loadDemoShown(
  connection: Connection,
  host: ServeHost,
  signal: AbortSignal,
): Promise<void> {
  const write = (line: string): void => void host.stderr.write(`${line}\n`);
  const display = demoProgress(write, host.terminal);
  try {
    await loadDemo(connection, host.env, display.report, signal);
  } finally {
    display.stop();
  }
}

async function describeStore(
  connection: Connection,
  options: ServeOptions,
  { sync, program }: { sync: SyncMeasure | null; program: string },
): Promise<string[]> {
  const { data, durability } = connection.status();
  const target = options.dir === undefined ? '' : `--data ${options.dir}`;
  const holdings = await describeHoldings(connection);
  const commands =
    options.demo && options.dir !== undefined
      ? [
          '  try it, when this server has stopped:',
          ...demoCommands(program, target).map((c) => `    ${c}`),
        ]
      : [];
  return [
    data === null ? 'Cellar: a store in memory' : `Cellar: the store in ${data}`,
    ...(data === null
      ? ['  kept        nothing: a store in memory is gone when the process ends']
      : [`  durability  ${durability}: ${MEANINGS[durability] ?? 'as the tables say'}`]),
    ...(sync === null ? [] : [`  medium      ${syncText(sync)}`]),
    ...holdings.map((line, i) => `  ${i === 0 ? 'holds' : '     '}       ${line}`),
    ...commands,
  ];
}

function syncText({ medianMs, reallySyncs }: SyncMeasure): string {
  const took = `a write with its sync takes ${medianMs.toFixed(3)} ms`;
  return reallySyncs
    ? `${took}, so it reaches the disk`
    : `${took}: too fast for any disk, so a power cut may lose what was acknowledged`;
}

function describeDoors({ addresses: { rpc, zookeeper, http } }: RunningServer): string[] {
  const doors = [
    ...(rpc === null ? [] : [`${rpc} for HBase's clients`]),
    ...(zookeeper === null ? [] : [`${zookeeper} as their ZooKeeper`]),
    ...(http === null ? [] : [`${http} (/health, /metrics)`]),
  ];
  return [
    ...doors.map((door, i) => `  ${i === 0 ? 'listens' : '       '}     ${door}`),
    '  stop        Ctrl-C; twice: at once',
  ];
}

function readyLine(
  connection: Connection,
  server: RunningServer,
  sync: SyncMeasure | null,
): string {
  const { data, durability, tables } = connection.status();
  return JSON.stringify({
    ready: true,
    ...server.addresses,
    data,
    durability,
    syncMedianMs: sync === null ? null : Number(sync.medianMs.toFixed(3)),
    reallySyncs: sync?.reallySyncs ?? null,
    tables,
    pid: process.pid,
  });
}
