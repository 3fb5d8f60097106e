/** `cellar changes`: the change feed of a folder or a server, a line a change. */
import { Option } from 'commander';
import type { Command } from 'commander';
import { FEED_FORMATS, FEED_MODES, FeedFormatter } from '../backup/feed/index.ts';
import type { FeedEncoding, FeedFormat, FeedMode } from '../backup/feed/index.ts';
import type { ApiClient } from '../client/txn/index.ts';
import type { StoreConnection } from '../embedded/index.ts';
import { FolderLockedException } from '../io/index.ts';
import { addTargetOptions, apiClientOf, withFolder } from './api_target.ts';
import type { TargetOptions } from './api_target.ts';
import { parseInteger } from './arguments.ts';
import type { CliContext } from './context.ts';
import type { Printer } from './output.ts';

interface ChangesFlags extends TargetOptions {
  readonly from?: bigint;
  readonly to?: bigint;
  readonly table?: string;
  readonly format: FeedFormat;
  readonly mode: FeedMode;
  readonly encoding: FeedEncoding;
  readonly follow?: boolean;
}

export function addChangesCommand(program: Command, context: CliContext): void {
  const command = program
    .command('changes')
    .description(
      'print the commits of the log as lines of JSON, each whole, in the order of their TSOs',
    )
    .option(
      '--from <TSO>',
      'from this TSO on; default: the oldest that the log holds',
      parseInteger,
    )
    .option('--to <TSO>', 'up to this TSO, exclusive', parseInteger)
    .option('--table <NAMES>', 'these tables alone, separated by commas')
    .option('--follow', 'go on with what is committed later, until Ctrl-C')
    .addOption(new Option('--format <F>', 'of a line').choices(FEED_FORMATS).default('cell'))
    .addOption(new Option('--mode <M>', 'which changes').choices(FEED_MODES).default('DETAIL'))
    .addOption(
      new Option('--encoding <E>', 'of rows and values')
        .choices(['base64', 'utf8'])
        .default('utf8'),
    );
  addTargetOptions(command).action(async (_: unknown, self: Command) => {
    await changes(self.optsWithGlobals<ChangesFlags>(), context);
  });
}

async function changes(flags: ChangesFlags, context: CliContext): Promise<void> {
  const printer = context.printer(flags);
  const stop = new AbortController();
  const release = context.io.onInterrupt(() => stop.abort());
  try {
    await changesFrom(flags, context, printer, stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    release();
  }
  await printer.flush();
}

/** From the folder; from the server if one is named, or has the folder open. */
async function changesFrom(
  flags: ChangesFlags,
  context: CliContext,
  printer: Printer,
  signal: AbortSignal,
): Promise<void> {
  const client = apiClientOf(flags, context);
  if (client !== null) return changesOfServer(client, flags, printer, signal);
  try {
    await withFolder(flags, context, (connection) =>
      changesOfFolder(connection, flags, printer, signal),
    );
  } catch (error) {
    if (!(error instanceof FolderLockedException) || error.holderAddress === null) throw error;
    const holder = apiClientOf({ ...flags, server: error.holderAddress }, context);
    await changesOfServer(holder!, flags, printer, signal);
  }
}

async function changesOfServer(
  client: ApiClient,
  flags: ChangesFlags,
  printer: Printer,
  signal: AbortSignal,
): Promise<void> {
  const { from, to, table, format, mode, encoding, follow } = flags;
  const query = { from_tso: from, to_tso: to, table, format, mode, encoding, follow };
  for await (const line of client.lines('/api/changes', query, signal)) {
    printer.line(line);
    if (!(await out(printer, follow))) return;
  }
}

async function changesOfFolder(
  connection: StoreConnection,
  flags: ChangesFlags,
  printer: Printer,
  signal: AbortSignal,
): Promise<void> {
  const { from, to, table, format, mode, encoding, follow } = flags;
  const { serverId } = connection.transactions;
  const formatter = new FeedFormatter({ format, mode, encoding, heartbeats: false, serverId });
  const options = {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(table === undefined ? {} : { tables: table.split(',') }),
    follow: follow === true,
    signal,
  };
  for await (const change of connection.changes(options)) {
    for (const line of formatter.lines(change)) printer.line(line);
    if (!(await out(printer, follow))) return;
  }
}

/** What follows is shown at once. False: nobody reads any more. */
const out = (printer: Printer, follow: boolean | undefined): Promise<boolean> =>
  follow === true ? printer.flush() : printer.flushIfFull();
