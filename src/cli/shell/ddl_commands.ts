/** The shell's commands on tables and namespaces. */
import { toStringBinary } from '../../cell/index.ts';
import { IllegalArgumentException, describeLines } from '../../model/index.ts';
import { readSplitKeys } from '../split_file.ts';
import { truncateTable } from '../table_commands.ts';
import { alterSpec, createSpec } from './table_arguments.ts';
import {
  requireArgumentCount,
  textArgument,
  type ShellArguments,
  type ShellCommand,
  type ShellSession,
} from './session.ts';

const TABLES = 'tables';
const NAMESPACES = 'namespaces';

/** A command on one table that answers nothing. */
function onTable(
  name: string,
  usage: string,
  run: (session: ShellSession, table: string) => Promise<void>,
): ShellCommand {
  return {
    name,
    group: TABLES,
    usage,
    async run(session, args) {
      requireArgumentCount(args, 1, 1);
      await run(session, textArgument(args, 0, 'table'));
    },
  };
}

const create: ShellCommand = {
  name: 'create',
  group: TABLES,
  usage:
    "create 't', 'f'\ncreate 't', {NAME => 'f', VERSIONS => 3, TTL => '1 DAY'}, 'g'\ncreate 't', 'f', SPLITS => ['g', 'p']\ncreate 't', 'f', {NUMREGIONS => 8, SPLITALGO => 'HexStringSplit'}",
  async run({ store, printer, io }, args) {
    const table = textArgument(args, 0, 'table');
    await store.admin.createTable(await readSplitKeys(createSpec(table, args.slice(1)), io.env.fs));
    printer.either({ created: true, table }, `Created table ${table}`);
  },
};

const alter: ShellCommand = {
  name: 'alter',
  group: TABLES,
  usage:
    "alter 't', NAME => 'f', VERSIONS => 5\nalter 't', {NAME => 'g', METHOD => 'delete'}\nalter 't', 'delete' => 'g'\nalter 't', READONLY => true\nalter 't', METHOD => 'table_att_unset', NAME => 'READONLY'",
  async run({ store, printer }, args) {
    const table = textArgument(args, 0, 'table');
    if (args.length < 2) throw new IllegalArgumentException('nothing to alter');
    await store.admin.alterTable(alterSpec(table, args.slice(1)));
    printer.either({ altered: true, table }, 'Updating all regions with the new schema... done.');
  },
};

const describe = (name: string): ShellCommand =>
  onTable(name, `${name} 't'`, async ({ store, printer }, table) => {
    const description = await store.admin.describeTable(table);
    const { enabled, attributes, configuration, families, splits } = description;
    printer.either({ table, enabled, attributes, configuration, families, splits }, [
      ...describeLines(description),
      `${families.length} row(s)`,
    ]);
  });

const list: ShellCommand = {
  name: 'list',
  group: TABLES,
  usage: "list\nlist 'ab.*'\nlist 'ns:.*'",
  async run({ store, printer }, args) {
    requireArgumentCount(args, 0, 1);
    const pattern = args.length === 0 ? {} : { pattern: textArgument(args, 0, 'pattern') };
    const tables = await store.admin.listTables(pattern);
    printer.either({ tables }, ['TABLE', ...tables, `${tables.length} row(s)`]);
    if (!printer.json) printer.line(`=> ${JSON.stringify(tables).replaceAll('","', '", "')}`);
  },
};

const answer = (
  name: string,
  ask: (session: ShellSession, table: string) => Promise<boolean>,
  text: (table: string, answer: boolean) => string,
): ShellCommand =>
  onTable(name, `${name} 't'`, async (session, table) => {
    const holds = await ask(session, table);
    session.printer.either({ [name]: holds, table }, text(table, holds));
  });

const onNamespace = (
  name: string,
  run: (session: ShellSession, namespace: string) => Promise<void>,
): ShellCommand => ({
  name,
  group: NAMESPACES,
  usage: `${name} 'ns'`,
  async run(session, args) {
    requireArgumentCount(args, 1, 1);
    await run(session, textArgument(args, 0, 'namespace'));
  },
});

async function listNamespaces(
  { store, printer }: ShellSession,
  args: ShellArguments,
): Promise<void> {
  requireArgumentCount(args, 0, 1);
  const pattern = args.length === 0 ? '.*' : textArgument(args, 0, 'pattern');
  const whole = new RegExp(`^(?:${pattern})$`, 'u');
  const namespaces = (await store.admin.listNamespaces()).filter((name) => whole.test(name));
  printer.either({ namespaces }, ['NAMESPACE', ...namespaces, `${namespaces.length} row(s)`]);
}

export const DDL_COMMANDS: readonly ShellCommand[] = [
  create,
  alter,
  describe('describe'),
  describe('desc'),
  list,
  onTable('drop', "drop 't'   (which must be disabled)", ({ store }, table) =>
    store.admin.dropTable(table),
  ),
  onTable('disable', "disable 't'", ({ store }, table) => store.admin.disableTable(table)),
  onTable('enable', "enable 't'", ({ store }, table) => store.admin.enableTable(table)),
  onTable('truncate', "truncate 't'", async ({ store, printer }, table) => {
    await truncateTable(store, table);
    printer.either({ truncated: true, table }, `Truncated table ${table}`);
  }),
  onTable('get_splits', "get_splits 't'", async ({ store, printer }, table) => {
    const { splits } = await store.admin.describeTable(table);
    const keys = splits.slice(1);
    printer.either({ table, splits: keys }, [
      `Total number of splits = ${splits.length}`,
      ...keys.map((key) => toStringBinary(key)),
    ]);
  }),
  answer(
    'exists',
    ({ store }, table) => store.admin.tableExists(table),
    (table, exists) => `Table ${table} does ${exists ? '' : 'not '}exist`,
  ),
  answer(
    'is_enabled',
    ({ store }, table) => store.admin.isEnabled(table),
    (_, holds) => String(holds),
  ),
  answer(
    'is_disabled',
    async ({ store }, table) => !(await store.admin.isEnabled(table)),
    (_, holds) => String(holds),
  ),
  onNamespace('create_namespace', ({ store }, name) => store.admin.createNamespace(name)),
  onNamespace('drop_namespace', ({ store }, name) => store.admin.dropNamespace(name)),
  onNamespace('list_namespace_tables', async ({ store, printer }, namespace) => {
    const tables = await store.admin.listTables({ namespace });
    printer.either({ namespace, tables }, ['TABLE', ...tables, `${tables.length} row(s)`]);
  }),
  {
    name: 'list_namespace',
    group: NAMESPACES,
    usage: "list_namespace\nlist_namespace 'ab.*'",
    run: listNamespaces,
  },
];
