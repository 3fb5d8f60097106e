/** Commands on regions: split, merge, normalize; and how regions are shown. */
import type { Command } from 'commander';
import { fromStringBinary, toStringBinary } from '../cell/index.ts';
import type { RegionDescription } from '../model/index.ts';
import type { CliContext, GlobalOptions } from './context.ts';

/** Adds the commands to the program. */
export function addRegionCommands(program: Command, context: CliContext): void {
  addSplit(program, context);
  addMerge(program, context);
  addNormalize(program, context);
}

function addSplit(program: Command, context: CliContext): void {
  program
    .command('split <TABLE|REGION> [ROW]')
    .description('split the region that holds ROW there, or, without one, regions in their middle')
    .action(async (target: string, row: string | undefined, _: unknown, command: Command) => {
      await context.withStore(command.optsWithGlobals<GlobalOptions>(), async (store, printer) => {
        await store.admin.split(target, row === undefined ? undefined : fromStringBinary(row));
        printer.either({ split: true, target, row }, `Split ${target}`);
      });
    });
}

function addMerge(program: Command, context: CliContext): void {
  program
    .command('merge <TABLE> <REGION> <REGION>')
    .description('merge two neighbouring regions, named as by stats --regions')
    .action(async (table: string, one: string, other: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      await context.withStore(options, async (store, printer) => {
        await store.admin.mergeRegions(table, one, other);
        printer.either({ merged: true, table, regions: [one, other] }, `Merged ${one} ${other}`);
      });
    });
}

function addNormalize(program: Command, context: CliContext): void {
  program
    .command('normalize [TABLE]')
    .description('split large regions and merge small neighbours, once')
    .action(async (table: string | undefined, _: unknown, command: Command) => {
      await context.withStore(command.optsWithGlobals<GlobalOptions>(), async (store, printer) => {
        const { splits, merges } = await store.admin.normalize(table);
        printer.either({ splits, merges }, `${splits} regions split, ${merges} merged`);
      });
    });
}

/** A region in a few lines. */
export function regionLines(region: RegionDescription): string[] {
  const { table, encodedName, startKey, endKey } = region;
  const references = region.references === 0 ? '' : `, ${region.references} of them references`;
  return [
    `${table} ${encodedName} ['${toStringBinary(startKey)}', '${toStringBinary(endKey)}')`,
    `  files    ${region.storeFiles}${references}, ${region.storeFileBytes} bytes, ${region.storeFileCells} cells`,
    `  history  ${region.historyFiles}, ${region.historyBytes} bytes`,
    `  memory   ${region.memstoreCells} cells, ${region.memstoreHeapBytes} bytes`,
    `  load     ${region.readRequests} reads, ${region.writeRequests} writes`,
  ];
}
