/** `cellar tso`: the oracle of a folder or a server; `--allocate N` takes a run of stamps; `--of` explains one. */
import type { Command } from 'commander';
import { formatTso, logicalOf, physicalMsOf } from '../tso/index.ts';
import type { OracleSnapshot } from '../tso/index.ts';
import { addTargetOptions, apiClientOf, withFolder } from './api_target.ts';
import type { TargetOptions } from './api_target.ts';
import { parseCount, parseInteger } from './arguments.ts';
import type { CliContext } from './context.ts';

interface TsoFlags extends TargetOptions {
  readonly allocate?: number;
  readonly of?: bigint;
}

export function addTsoCommand(program: Command, context: CliContext): void {
  const command = program
    .command('tso')
    .description('show the timestamp oracle; reading it uses no stamp')
    .option('--allocate <N>', 'take N stamps for use outside (1 … 10000)', (text) =>
      parseCount(text, 1),
    )
    .option('--of <TSO>', 'explain this stamp', parseInteger);
  addTargetOptions(command).action(async (_: unknown, self: Command) => {
    await tso(self.optsWithGlobals<TsoFlags>(), context);
  });
}

async function tso(flags: TsoFlags, context: CliContext): Promise<void> {
  const printer = context.printer(flags);
  if (flags.of !== undefined) {
    const time = formatTso(flags.of);
    const [ms, logical] = [physicalMsOf(flags.of), logicalOf(flags.of)];
    printer.either({ tso: flags.of, physical_ms: ms, logical, time }, `${flags.of} = ${time}`);
    await printer.flush();
    return;
  }
  const client = apiClientOf(flags, context);
  if (flags.allocate !== undefined) {
    const count = flags.allocate;
    const run =
      client === null
        ? await withFolder(flags, context, ({ server }) => server.oracle.allocate(count))
        : ((await client.post('/api/tso', { count }))['data'] as { first: string; last: string });
    const [first, last] = [String(run.first), String(run.last)];
    printer.either({ first, last }, `${first} … ${last}`);
  } else if (client === null) {
    const snapshot = await withFolder(flags, context, async ({ server }) =>
      server.oracle.snapshot(),
    );
    const members = membersOf(snapshot);
    printer.either(members, linesOf(members));
  } else {
    const { data } = await client.get('/api/tso');
    // The text beside it is exact; a JSON number of that size is not.
    const { current_tso_text: current, ...rest } = data as Record<string, unknown>;
    const members = { ...rest, current_tso: current };
    printer.either(members, linesOf(members));
  }
  await printer.flush();
}

function membersOf(snapshot: OracleSnapshot): Record<string, unknown> {
  return {
    current_tso: String(snapshot.currentTso),
    window_end_physical_time: snapshot.windowEndPhysicalTime,
    current_tso_physical_time: snapshot.currentTsoPhysicalTime,
    current_tso_logical_counter: snapshot.currentTsoLogicalCounter,
    current_tso_time: formatTso(snapshot.currentTso),
    committed_tso: String(snapshot.committedTso),
    initialized: snapshot.initialized,
    reason: snapshot.reason,
    server_id: snapshot.serverId,
  };
}

const linesOf = (members: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(members).map(([name, value]) => `${name.padEnd(29)} ${String(value)}`);
