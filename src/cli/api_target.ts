/** What commands on transactions, oracle and knobs work on: a folder that is opened, or a running server. */
import { Option } from 'commander';
import type { Command } from 'commander';
import { ApiClient } from '../client/txn/index.ts';
import { StoreConnection } from '../embedded/index.ts';
import { UsageError } from './context.ts';
import type { CliContext, GlobalOptions } from './context.ts';

export interface TargetOptions extends GlobalOptions {
  readonly server?: string;
  readonly user?: string;
  readonly token?: string;
}

/** Adds --server and who calls it. */
export function addTargetOptions(command: Command): Command {
  return command
    .option('--server <URL>', 'a running server, instead of a folder')
    .addOption(new Option('--user <NAME:PASSWORD>', 'of the server').env('CELLAR_USER'))
    .addOption(new Option('--token <TOKEN>', 'of the server').env('CELLAR_TOKEN'));
}

export function apiClientOf(options: TargetOptions, context: CliContext): ApiClient | null {
  const { server, user, token } = options;
  if (server === undefined) return null;
  if (!/^https?:\/\//.test(server))
    throw new UsageError(`'${server}' is no URL such as http://host:16030`);
  const colon = user?.indexOf(':') ?? -1;
  const credentials =
    token !== undefined
      ? { token }
      : user === undefined
        ? {}
        : colon < 0
          ? { user }
          : { user: user.slice(0, colon), password: user.slice(colon + 1) };
  return new ApiClient({ url: server, credentials, env: context.io.env });
}

/** Runs `work` on the opened folder. */
export async function withFolder<T>(
  options: TargetOptions,
  context: CliContext,
  work: (connection: StoreConnection) => Promise<T>,
): Promise<T> {
  const store = await context.io.openStore(context.dataFolder(options), { mustExist: true });
  try {
    if (!(store instanceof StoreConnection))
      throw new UsageError('this needs a store of this program');
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Who decides by hand, for the audit line. */
export function callerName(options: TargetOptions, context: CliContext): string {
  const { USER, USERNAME, LOGNAME } = context.io.variables;
  return options.user?.split(':')[0] ?? USER ?? LOGNAME ?? USERNAME ?? 'unknown';
}
