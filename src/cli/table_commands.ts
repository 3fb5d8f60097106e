/** Commands on tables and namespaces: create, list, describe, alter, drop, disable, enable, truncate, exists, … */
import type { Command } from 'commander';
import { describeLines, splitKeysOf } from '../model/index.ts';
import type { Connection, FamilySpec, TableDescription } from '../model/index.ts';
import { parseDescription } from './arguments.ts';
import { EXIT_FAILED, UsageError, type CliContext, type GlobalOptions } from './context.ts';
import { readSplitKeys } from './split_file.ts';

const ATTRIBUTE_HELP = `
A family takes HBase's attributes after its name; the table's own come before the first family:
  cellar create t info VERSIONS=3 TTL='1 DAY' raw COMPRESSION=SNAPPY
  cellar create t DURABILITY=ASYNC_WAL SPLITS=g,p f CONFIGURATION.key=value
  cellar create t NUMREGIONS=8 SPLITALGO=HexStringSplit f
  cellar create t "{NAME => 'f', VERSIONS => 3}" SPLITS_FILE=keys.txt`;

const ALTER_HELP = `
Attributes not named stay as they are; an empty value takes one away; a family that is new is added:
  cellar alter t READONLY=true info VERSIONS=5 TTL=
  cellar alter t --delete raw`;

/** Adds the commands to the program. */
export function addTableCommands(program: Command, context: CliContext): void {
  addCreate(program, context);
  addList(program, context);
  addDescribe(program, context);
  addAlter(program, context);
  addExists(program, context);
  addDrop(program, context);
  addChange(program, context, 'disable', 'take a table out of service', (store, table) =>
    store.admin.disableTable(table),
  );
  addChange(program, context, 'enable', 'put a disabled table into service', (store, table) =>
    store.admin.enableTable(table),
  );
  addChange(program, context, 'truncate', 'empty a table, keeping its families', truncateTable);
}

/** HBase's shell: disable if need be, then truncate, which leaves the table enabled. */
export async function truncateTable(store: Connection, table: string): Promise<void> {
  if (await store.admin.isEnabled(table)) await store.admin.disableTable(table);
  await store.admin.truncateTable(table);
}

function addCreate(program: Command, context: CliContext): void {
  program
    .command('create <TABLE> <FAMILY...>')
    .description('create a table (and the data folder, if need be)')
    .addHelpText('after', ATTRIBUTE_HELP)
    .action(async (table: string, words: string[], _: unknown, command: Command) => {
      const spec = await readSplitKeys(parseDescription(table, words), context.io.env.fs);
      const regions = splitKeysOf(spec).length + 1;
      await context.withStore(
        command.optsWithGlobals<GlobalOptions>(),
        async (store, printer) => {
          await store.admin.createTable(spec);
          printer.either({ created: true, table, regions }, `Created table ${table}`);
        },
        { mustExist: false },
      );
    });
}

function addList(program: Command, context: CliContext): void {
  program
    .command('list [PATTERN]')
    .description('list tables; PATTERN is a regular expression over the whole name')
    .option('--namespace <NAME>', 'only of this namespace')
    .action(async (pattern: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { namespace?: string }>();
      await context.withStore(options, async (store, printer) => {
        const names = await store.admin.listTables({
          ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
          ...(pattern === undefined ? {} : { pattern }),
        });
        for (const table of names) printer.either({ table }, table);
      });
    });
}

function addDescribe(program: Command, context: CliContext): void {
  program
    .command('describe <TABLE>')
    .description('print a table, its families and attributes')
    .action(async (table: string, _: unknown, command: Command) => {
      await context.withStore(command.optsWithGlobals<GlobalOptions>(), async (store, printer) => {
        const description = await store.admin.describeTable(table);
        printer.either(descriptionJson(description), describeLines(description));
      });
    });
}

function descriptionJson(description: TableDescription): Record<string, unknown> {
  const { name, enabled, attributes, configuration, families, splits } = description;
  return { table: name, enabled, attributes, configuration, families, splits };
}

function addAlter(program: Command, context: CliContext): void {
  program
    .command('alter <TABLE> [FAMILY...]')
    .description('change attributes of a table and its families, add and drop families')
    .option('--delete <FAMILY...>', 'families to drop')
    .addHelpText('after', ALTER_HELP)
    .action(async (table: string, words: string[], _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { delete?: string[] }>();
      const spec = parseDescription(table, words);
      const dropped: FamilySpec[] = (options.delete ?? []).map((name) => ({
        name,
        METHOD: 'delete',
      }));
      if (words.length === 0 && dropped.length === 0) throw new UsageError('nothing to alter');
      await context.withStore(options, async (store, printer) => {
        const families = [...(spec.families ?? []), ...dropped];
        await store.admin.alterTable({ ...spec, families });
        printer.either({ altered: true, table }, `Altered table ${table}`);
      });
    });
}

function addExists(program: Command, context: CliContext): void {
  program
    .command('exists <TABLE>')
    .description('print whether there is such a table; exit status 1 if not')
    .action(async (table: string, _: unknown, command: Command) => {
      await context.withStore(command.optsWithGlobals<GlobalOptions>(), async (store, printer) => {
        const exists = await store.admin.tableExists(table);
        printer.either({ exists, table }, `Table ${table} does ${exists ? '' : 'not '}exist`);
        if (!exists) context.exitStatus = EXIT_FAILED;
      });
    });
}

function addDrop(program: Command, context: CliContext): void {
  program
    .command('drop <TABLE>')
    .description('drop a table, which must be disabled')
    .option('--force', 'disable it first')
    .action(async (table: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { force?: boolean }>();
      await context.withStore(options, async (store, printer) => {
        if (options.force === true && (await store.admin.isEnabled(table))) {
          await store.admin.disableTable(table);
        }
        await store.admin.dropTable(table);
        printer.either({ dropped: true, table }, `Dropped table ${table}`);
      });
    });
}

const PAST = { disable: 'disabled', enable: 'enabled', truncate: 'truncated' } as const;

const upperFirst = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}`;

type Change = (store: Connection, table: string) => Promise<void>;

function addChange(
  program: Command,
  context: CliContext,
  name: keyof typeof PAST,
  description: string,
  change: Change,
): void {
  program
    .command(`${name} <TABLE>`)
    .description(description)
    .action(async (table: string, _: unknown, command: Command) => {
      await context.withStore(command.optsWithGlobals<GlobalOptions>(), async (store, printer) => {
        await change(store, table);
        const done = PAST[name];
        printer.either({ [done]: true, table }, `${upperFirst(done)} table ${table}`);
      });
    });
}
