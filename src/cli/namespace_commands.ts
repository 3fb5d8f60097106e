/** Commands on namespaces. */
import type { Command } from 'commander';
import type { CliContext, GlobalOptions } from './context.ts';

/** Adds the group `namespace` to the program. */
export function addNamespaceCommands(program: Command, context: CliContext): void {
  const group = program.command('namespace').description('create, drop and list namespaces');
  group
    .command('create <NAME>')
    .description('create a namespace (and the data folder, if need be)')
    .action(async (name: string, _: unknown, command: Command) => {
      await context.withStore(
        command.optsWithGlobals<GlobalOptions>(),
        async (store, printer) => {
          await store.admin.createNamespace(name);
          printer.either({ created: true, namespace: name }, `Created namespace ${name}`);
        },
        { mustExist: false },
      );
    });
  group
    .command('drop <NAME>')
    .description('drop a namespace without tables')
    .action(async (name: string, _: unknown, command: Command) => {
      await context.withStore(command.optsWithGlobals<GlobalOptions>(), async (store, printer) => {
        await store.admin.dropNamespace(name);
        printer.either({ dropped: true, namespace: name }, `Dropped namespace ${name}`);
      });
    });
  group
    .command('list')
    .description('list namespaces')
    .action(async (_: unknown, command: Command) => {
      await context.withStore(command.optsWithGlobals<GlobalOptions>(), async (store, printer) => {
        for (const namespace of await store.admin.listNamespaces()) {
          printer.either({ namespace }, namespace);
        }
      });
    });
}
