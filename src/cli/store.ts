/** How the command line opens stores. */
import { pino, type Logger } from 'pino';
import { open } from '../embedded/index.ts';
import type { Env } from '../io/index.ts';
import type { Connection } from '../model/index.ts';
import { readConfig } from './config_file.ts';
import type { StoreAccess } from './context.ts';
import type { OpenStore } from './serve.ts';

/** Opens the store in `folder`, telling what goes wrong on the way to `logger`. */
export async function openFolder(
  env: Env,
  folder: string,
  access: StoreAccess,
  logger: Logger,
  variables: Readonly<Record<string, string | undefined>> = {},
): Promise<Connection> {
  const { knobs } = await readConfig({ env, variables });
  return open(folder, { env, logger, mustExist: access.mustExist, ...knobs });
}

/** The way of `serve`: without a folder the store is in memory, with a world of its own. */
export function openForServe(env: Env): OpenStore {
  return async (dir, { durability, logger, knobs } = {}) =>
    open(dir, {
      ...knobs,
      ...(dir === undefined ? {} : { env }),
      ...(durability === undefined ? {} : { durability }),
      ...(logger === undefined ? {} : { logger }),
    });
}

/** A logger that writes lines of JSON through `write`; CELLAR_LOG_LEVEL sets its level, by default `warn`. */
export function cliLogger(
  variables: Readonly<Record<string, string | undefined>>,
  write: (line: string) => void,
): Logger {
  const wanted = variables['CELLAR_LOG_LEVEL'] ?? 'warn';
  const level = wanted === 'silent' || wanted in pino.levels.values ? wanted : 'warn';
  return pino({ level }, { write });
}
