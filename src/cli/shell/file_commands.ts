/** The shell's commands on store files and snapshots. */
import { twoColumns } from '../output.ts';
import {
  requireArgumentCount,
  textArgument,
  type ShellArguments,
  type ShellCommand,
  type ShellSession,
} from './session.ts';

const TOOLS = 'tools';
const SNAPSHOTS = 'snapshots';

/** A command whose arguments are names and that answers nothing. */
function onNames(
  name: string,
  group: string,
  names: readonly string[],
  usage: string,
  run: (session: ShellSession, names: readonly string[]) => Promise<void>,
): ShellCommand {
  return {
    name,
    group,
    usage,
    async run(session, args) {
      requireArgumentCount(args, names.length, names.length);
      await run(
        session,
        names.map((what, i) => textArgument(args, i, what)),
      );
    },
  };
}

async function listSnapshots(
  { store, printer }: ShellSession,
  args: ShellArguments,
): Promise<void> {
  requireArgumentCount(args, 0, 1);
  const options = args.length === 0 ? {} : { pattern: textArgument(args, 0, 'pattern') };
  const snapshots = await store.admin.listSnapshots(options);
  const names = snapshots.map(({ name }) => name);
  const lines = snapshots.map(({ name, tables, createdMs }) =>
    twoColumns(` ${name}`, `${tables.join(', ')} (${new Date(createdMs).toISOString()})`),
  );
  printer.either({ snapshots }, [
    twoColumns('SNAPSHOT', 'TABLE + CREATION TIME'),
    ...lines,
    `${names.length} row(s)`,
  ]);
  if (!printer.json) printer.line(`=> ${JSON.stringify(names).replaceAll('","', '", "')}`);
}

/** Every command, in the order of `help`. */
export const FILE_COMMANDS: readonly ShellCommand[] = [
  onNames('flush', TOOLS, ['table'], "flush 't'", ({ store }, [table]) => store.admin.flush(table)),
  onNames('compact', TOOLS, ['table'], "compact 't'", ({ store }, [table]) =>
    store.admin.compact(table!),
  ),
  onNames('major_compact', TOOLS, ['table'], "major_compact 't'", ({ store }, [table]) =>
    store.admin.compact(table!, { major: true }),
  ),
  onNames(
    'snapshot',
    SNAPSHOTS,
    ['table', 'snapshot'],
    "snapshot 't', 'name'",
    ({ store }, [table, name]) => store.admin.snapshot(name!, table!),
  ),
  {
    name: 'list_snapshots',
    group: SNAPSHOTS,
    usage: "list_snapshots\nlist_snapshots 'ab.*'",
    run: listSnapshots,
  },
  onNames(
    'clone_snapshot',
    SNAPSHOTS,
    ['snapshot', 'table'],
    "clone_snapshot 'name', 't2'",
    ({ store }, [name, table]) => store.admin.cloneSnapshot(name!, table!),
  ),
  onNames(
    'restore_snapshot',
    SNAPSHOTS,
    ['snapshot'],
    "restore_snapshot 'name'",
    ({ store }, [name]) => store.admin.restoreSnapshot(name!),
  ),
  onNames(
    'delete_snapshot',
    SNAPSHOTS,
    ['snapshot'],
    "delete_snapshot 'name'",
    ({ store }, [name]) => store.admin.deleteSnapshot(name!),
  ),
];
