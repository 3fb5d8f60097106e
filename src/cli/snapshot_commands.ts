/** `cellar snapshot`: create, list, delete, clone and restore snapshots of tables. */
import type { Command } from 'commander';
import type { Connection, SnapshotDescription } from '../model/index.ts';
import { UsageError, type CliContext, type GlobalOptions } from './context.ts';
import type { Printer } from './output.ts';

const CLONE_HELP = `
  cellar snapshot clone monday copy
  cellar snapshot clone monday orders=orders2 items=items2    (a snapshot of several tables)`;

/** Adds the commands to the program. */
export function addSnapshotCommands(program: Command, context: CliContext): void {
  const snapshot = program
    .command('snapshot')
    .description('name the content of tables, and make tables of it');
  snapshot
    .command('create <NAME> <TABLE...>')
    .description('name the content of these tables, all at one moment')
    .action((name: string, tables: string[], _: unknown, command: Command) =>
      run(context, command, async (store, printer) => {
        await store.admin.snapshot(name, tables);
        printer.either(
          { created: true, snapshot: name, tables },
          `Created snapshot ${name} of ${tables.join(', ')}`,
        );
      }),
    );
  snapshot
    .command('list [PATTERN]')
    .description('list snapshots; PATTERN is a regular expression over the whole name')
    .action((pattern: string | undefined, _: unknown, command: Command) =>
      run(context, command, async (store, printer) => {
        const options = pattern === undefined ? {} : { pattern };
        for (const found of await store.admin.listSnapshots(options)) {
          printer.either({ ...found }, snapshotText(found));
        }
      }),
    );
  snapshot
    .command('delete <NAME>')
    .description('forget a snapshot; files that nothing else needs are removed')
    .action((name: string, _: unknown, command: Command) =>
      run(context, command, async (store, printer) => {
        await store.admin.deleteSnapshot(name);
        printer.either({ deleted: true, snapshot: name }, `Deleted snapshot ${name}`);
      }),
    );
  snapshot
    .command('clone <NAME> <TABLE...>')
    .description('make a new table of a snapshot')
    .addHelpText('after', CLONE_HELP)
    .action((name: string, targets: string[], _: unknown, command: Command) =>
      run(context, command, async (store, printer) => {
        await store.admin.cloneSnapshot(name, cloneTarget(targets));
        printer.either(
          { cloned: true, snapshot: name, tables: targets },
          `Cloned snapshot ${name} to ${targets.join(', ')}`,
        );
      }),
    );
  snapshot
    .command('restore <NAME>')
    .description('give the tables of a snapshot, which must be disabled, the content they had')
    .action((name: string, _: unknown, command: Command) =>
      run(context, command, async (store, printer) => {
        await store.admin.restoreSnapshot(name);
        printer.either({ restored: true, snapshot: name }, `Restored snapshot ${name}`);
      }),
    );
}

function run(
  context: CliContext,
  command: Command,
  work: (store: Connection, printer: Printer) => Promise<void>,
): Promise<void> {
  return context.withStore(command.optsWithGlobals<GlobalOptions>(), work);
}

/** One name, or `table=name` for each. */
function cloneTarget(words: readonly string[]): string | Record<string, string> {
  const [first] = words;
  if (words.length === 1 && !first!.includes('=')) return first!;
  const pairs = words.map((word) => {
    const at = word.indexOf('=');
    if (at <= 0 || at === word.length - 1) {
      throw new UsageError(`'${word}' is not TABLE=NEW`);
    }
    return [word.slice(0, at), word.slice(at + 1)] as const;
  });
  return Object.fromEntries(pairs);
}

/** A snapshot in a line: name, tables, time, files. */
export function snapshotText(snapshot: SnapshotDescription): string {
  const { name, tables, files, sizeBytes, tso, createdMs } = snapshot;
  const time = new Date(createdMs).toISOString();
  return `${name}: ${tables.join(', ')} at ${tso} (${time}), ${files} file(s), ${sizeBytes} bytes`;
}
