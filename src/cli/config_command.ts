/** `cellar config list|set`: the knobs of oracle and transactions, of a folder or a server. */
import type { Command } from 'commander';
import { KNOBS } from '../embedded/index.ts';
import type { KnobValue } from '../embedded/index.ts';
import { addTargetOptions, apiClientOf, withFolder } from './api_target.ts';
import type { TargetOptions } from './api_target.ts';
import type { CliContext } from './context.ts';

const HELP = `
A value comes from, the later wins: the default; the store (\`config set\`); a config file (--config or CELLAR_CONFIG, a JSON
object of names and values); the environment (CELLAR_ and the name in capitals); \`serve --set NAME=VALUE\`.`;

interface ConfigFlags extends TargetOptions {
  readonly keep?: boolean;
}

export function addConfigCommands(program: Command, context: CliContext): void {
  const config = program
    .command('config')
    .description('knobs of the timestamp oracle and of transactions')
    .addHelpText('after', HELP);
  addTargetOptions(
    config
      .command('list')
      .description('name, value, type, unit, default, whether changeable while open'),
  ).action(async (_: unknown, self: Command) => {
    await list(self.optsWithGlobals<ConfigFlags>(), context);
  });
  addTargetOptions(
    config
      .command('set')
      .argument('<NAME>')
      .argument('<VALUE>')
      .description('on a folder for all later openings; on a server at once')
      .option('--keep', 'on a server: for later openings, too'),
  ).action(async (name: string, value: string, _: unknown, self: Command) => {
    await set(name, value, self.optsWithGlobals<ConfigFlags>(), context);
  });
}

async function list(flags: ConfigFlags, context: CliContext): Promise<void> {
  const printer = context.printer(flags);
  const knobs = await knobsOf(flags, context);
  for (const { name, value, type, unit, default: byDefault, changeable, what } of knobs) {
    printer.either(
      { name, value, type, unit, default: byDefault, changeable, what },
      `${name.padEnd(44)} ${String(value).padEnd(12)} ${`${type} ${unit}`.trim().padEnd(10)} default ${String(byDefault).padEnd(12)} ${changeable ? 'changeable' : 'fixed     '}  ${what}`,
    );
  }
  await printer.flush();
}

async function knobsOf(flags: ConfigFlags, context: CliContext): Promise<readonly KnobValue[]> {
  const client = apiClientOf(flags, context);
  if (client !== null) return (await client.get('/api/config'))['knobs'] as KnobValue[];
  const folder = flags.data ?? context.io.variables['CELLAR_DATA'];
  // Without a folder the list of what there is.
  if (folder === undefined || folder === '')
    return KNOBS.map((knob) => ({ ...knob, value: knob.default }));
  return withFolder(flags, context, async (connection) => connection.knobs());
}

async function set(
  name: string,
  value: string,
  flags: ConfigFlags,
  context: CliContext,
): Promise<void> {
  const printer = context.printer(flags);
  const client = apiClientOf(flags, context);
  if (client === null) {
    await withFolder(flags, context, (connection) =>
      connection.setKnob(name, value, { keep: true }),
    );
  } else await client.post('/api/config', { name, value, keep: flags.keep === true });
  printer.either({ name, value }, `${name} = ${value}`);
  await printer.flush();
}
