/** What the engine suites share: a store on a simulated machine, its content as text, and crashes at every step. */
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection, OpenOptions } from '../../src/engine/index.ts';
import type { SimEnv } from '../../src/io/index.ts';
import type { AsOf, Result, Scanner } from '../../src/model/index.ts';

/** Opens the store in /data of the machine. */
export function start(env: SimEnv, options: OpenOptions = {}): Promise<EmbeddedConnection> {
  return open('/data', { env, blockingSync: false, logSegmentBytes: 65_536, ...options });
}

/** Cells as `row family:qualifier@timestamp=value`, markers with their type. */
export function cellsOf(results: readonly Result[]): string[] {
  return results.flatMap((result) =>
    result.cells.map((cell) => {
      const qualifier = Buffer.from(cell.qualifier).toString();
      const value = cell.type === 'Put' ? Buffer.from(cell.value).toString() : cell.type;
      return `${result.rowText} ${cell.family}:${qualifier}@${cell.ts}=${value}`;
    }),
  );
}

/** All results of a scan. */
export async function resultsOf(scanner: Scanner): Promise<Result[]> {
  const results: Result[] = [];
  for await (const result of scanner) results.push(result);
  return results;
}

/** Every visible cell of a table. */
export async function contentOf(
  connection: EmbeddedConnection,
  table: string,
  asOf?: AsOf,
): Promise<string[]> {
  const options = { versions: 10, ...(asOf === undefined ? {} : { asOf }) };
  return cellsOf(await resultsOf(connection.table(table).scan(options)));
}

/** All files below the data folders, relative to them. */
export async function filesOnDisk(env: SimEnv): Promise<string[]> {
  const found: string[] = [];
  const visit = async (folder: string): Promise<void> => {
    for (const name of await env.fs.list(folder)) {
      const path = `${folder}/${name}`;
      if ((await env.fs.stat(path))?.isDirectory === true) await visit(path);
      else found.push(path.slice('/data/'.length));
    }
  };
  await visit('/data/data');
  return found.sort();
}

/**
 * Runs `work` and gives the machines that are left if power fails, or the process is killed, before each of its changes of
 * the disk, and one after the last.
 */
export async function crashesOf(env: SimEnv, work: () => Promise<void>): Promise<SimEnv[]> {
  const machines: SimEnv[] = [];
  const reads = new Set(['read', 'readFile', 'list', 'stat', 'lock']);
  let step = 0;
  const fork = (): SimEnv =>
    step++ % 3 === 2 ? env.kill() : env.crash({ keepUnsynced: (step % 5) / 4 });
  env.fs.failWhen = ({ kind }) => {
    if (!reads.has(kind)) machines.push(fork());
    return null;
  };
  try {
    await work();
  } finally {
    env.fs.failWhen = null;
  }
  machines.push(env.crash({ keepUnsynced: 0 }));
  return machines;
}
