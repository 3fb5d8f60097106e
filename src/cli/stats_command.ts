/** `cellar stats`: figures of the store. */
import type { Command } from 'commander';
import type { PendingTransactions, StoreStatus } from '../model/index.ts';
import type { CliContext, GlobalOptions } from './context.ts';
import { fileLines } from './files_commands.ts';
import { regionLines } from './region_commands.ts';

/** Adds the command to the program. */
export function addStatsCommand(program: Command, context: CliContext): void {
  program
    .command('stats')
    .description('print figures of the store, of its files or regions')
    .option('--files', 'each store and history file: size, level, rows, timestamps, commits, flags')
    .option('--regions', 'each region: borders, files, references, history, memory, load')
    .action(async (_: unknown, command: Command) => {
      const flags = command.optsWithGlobals<
        GlobalOptions & { files?: boolean; regions?: boolean }
      >();
      await context.withStore(flags, async (store, printer) => {
        if (flags.files === true) {
          for (const file of await store.files()) printer.either({ ...file }, fileLines(file));
          return;
        }
        if (flags.regions === true) {
          for (const region of await store.regions()) {
            printer.either({ ...region }, regionLines(region));
          }
          return;
        }
        const status = store.status();
        printer.either({ ...status }, statusLines(status));
      });
    });
}

function pendingLines(pending: PendingTransactions | undefined): [string, unknown][] {
  if (pending === undefined) return [];
  const { open, prepared, oldestPreparedMs } = pending;
  const age = oldestPreparedMs === null ? '' : `, the oldest for ${oldestPreparedMs / 1000} s`;
  return [['transactions', `${open} open, ${prepared} prepared${age}`]];
}

/** One figure a line. */
export function statusLines(status: StoreStatus): string[] {
  const figures: [string, unknown][] = [
    ['data', status.data ?? '(in memory)'],
    ['durability', status.durability],
    ['read point', status.readPoint],
    ['durable point', status.durablePoint],
    ['tables', status.tables],
    ['regions', status.regions],
    ['memstore cells', status.memstoreCells],
    ['memstore bytes', `${status.memstoreHeapBytes} of ${status.memstoreLimitBytes}`],
    ['log bytes on disk', status.logBytes],
    ...pendingLines(status.transactions),
    ...Object.entries(status.counters),
    ...(status.fatal === null ? [] : ([['fatal', status.fatal]] as [string, unknown][])),
  ];
  return figures.map(([name, figure]) => `${name.padEnd(20)} ${String(figure)}`);
}
