/** `cellar advertise`: tells a running server which address its clients shall be told. */
import type { Command } from 'commander';
import { HTTP_PORT, advertiseAt } from '../server/index.ts';
import type { CliContext, GlobalOptions } from './context.ts';

export function addAdvertiseCommand(program: Command, context: CliContext): void {
  program
    .command('advertise [HOST:PORT]')
    .description(
      'tell a running server the address for its clients; without one, that at which each arrives',
    )
    .option('--server <URL>', 'its HTTP address', `http://127.0.0.1:${HTTP_PORT}`)
    .action(async (address: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { server: string }>();
      await advertiseAt(options.server, address ?? null);
      const told = address ?? 'the address at which each of them arrives';
      const printer = context.printer(options);
      printer.either({ advertised: address ?? null }, `Clients are told ${told}`);
      await printer.flush();
    });
}
