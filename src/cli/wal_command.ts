/** `cellar wal dump`: the records of a store's log. Reads only, also while the store is open elsewhere. */
import type { Command } from 'commander';
import { FileNotFoundException } from '../io/index.ts';
import { DataLayout } from '../manifest/index.ts';
import { LogReader, describeRecord, summarizeRecord, type LogRecord } from '../wal/index.ts';
import { parseCount, parseInteger } from './arguments.ts';
import type { CliContext, GlobalOptions } from './context.ts';
import { toJson } from './output.ts';

interface DumpFlags extends GlobalOptions {
  readonly cells?: boolean;
  readonly from?: bigint;
  readonly limit?: number;
}

/** Adds the group `wal` to the program. */
export function addWalCommands(program: Command, context: CliContext): void {
  program
    .command('wal')
    .description('look into the write-ahead log')
    .command('dump')
    .description('print the records of the log, one a line')
    .option('--cells', 'the cells of each record too')
    .option('--from <TSO>', 'from this TSO on', parseInteger)
    .option('--limit <N>', 'records at most', (text: string) => parseCount(text))
    .action(async (_: unknown, command: Command) => {
      await dump(command.optsWithGlobals<DumpFlags>(), context);
    });
}

async function dump(flags: DumpFlags, context: CliContext): Promise<void> {
  const { env } = context.io;
  const folder = context.dataFolder(flags);
  const { manifest, archivedWal, wal } = new DataLayout(folder);
  if ((await env.fs.stat(manifest)) === null) {
    throw new FileNotFoundException(`${folder} holds no store`, folder);
  }
  const printer = context.printer(flags);
  const from = flags.from ?? 0n;
  await using reader = new LogReader(env, [archivedWal, wal], {
    fromHigh: Number(BigInt.asUintN(64, from) >> 32n),
    fromLow: Number(BigInt.asUintN(32, from)),
  });
  let rest = flags.limit ?? Infinity;
  while (rest > 0 && (await reader.nextBatch())) {
    while (rest > 0 && reader.next()) {
      printer.line(recordText(reader.record, flags));
      rest -= 1;
    }
    if (!(await printer.flushIfFull())) return;
  }
  await printer.flush();
}

function recordText(record: LogRecord, flags: DumpFlags): string {
  if (flags.json !== true) return describeRecord(record, { cells: flags.cells === true });
  const summary = summarizeRecord(record);
  const cells =
    flags.cells === true
      ? describeRecord(record, { cells: true })
          .split('\n')
          .slice(1)
          .map((line) => line.trim())
      : undefined;
  return toJson({ ...summary, cells });
}
