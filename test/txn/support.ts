/** What the suites of transactions share: a store with them on a simulated machine. */
import { open } from '../../src/embedded/index.ts';
import type { StoreConnection, StoreOptions } from '../../src/embedded/index.ts';
import { simEnv } from '../../src/io/index.ts';
import type { SimEnv } from '../../src/io/index.ts';
import { TransactionException } from '../../src/model/index.ts';
import type { AsOf } from '../../src/model/index.ts';

export const SMALL: StoreOptions = { blockingSync: false, logSegmentBytes: 65_536 };

export function openOn(env: SimEnv, options: StoreOptions = {}): Promise<StoreConnection> {
  return open('/data', { ...SMALL, env, ...options });
}

/** Every visible cell of a table as `row column=value`. */
export async function contentOf(
  connection: StoreConnection,
  table: string = 't',
  asOf?: AsOf,
): Promise<string[]> {
  const lines: string[] = [];
  const options = asOf === undefined ? {} : { asOf };
  for await (const result of connection.table(table).scan(options)) {
    for (const { family, qualifier, value } of result.cells) {
      const column = `${family}:${Buffer.from(qualifier).toString()}`;
      lines.push(`${result.rowText} ${column}=${Buffer.from(value).toString()}`);
    }
  }
  return lines;
}

/** The code that the verb is refused with, or what it answers. */
export async function codeOf(verb: Promise<unknown>): Promise<string> {
  try {
    await verb;
    return 'OK';
  } catch (error) {
    if (error instanceof TransactionException) return error.code;
    throw error;
  }
}

/** Runs `work` on a fresh machine with a store and a table `t` of two families. */
export function onStore(
  seed: number,
  work: (connection: StoreConnection, env: SimEnv) => Promise<void>,
  options: StoreOptions = {},
): Promise<void> {
  const env = simEnv({ seed });
  return env.drive(
    (async (): Promise<void> => {
      const connection = await openOn(env, options);
      await connection.admin.createTable({ name: 't', families: ['f', 'g'], SPLITS: ['m'] });
      await work(connection, env);
      await connection.close();
    })(),
    10_000_000,
  );
}
