/** Commands on store files: flush, compact, bulkload, hfile dump, and the list of `stats --files`. */
import type { Command } from 'commander';
import { READY, WAIT, toStringBinary, u64 } from '../cell/index.ts';
import type { CellSource, CellView } from '../cell/index.ts';
import { BlockCache, HFileReader, describeHFile, hfileText } from '../hfile/index.ts';
import type { BulkLoadResult, FileDescription } from '../model/index.ts';
import type { CliContext, GlobalOptions } from './context.ts';
import { JsonInteger, toJson, type Printer } from './output.ts';

const BULKLOAD_HELP = `
DIR holds HFiles as HBase's tools write them, DIR/<family>/<file>. They are checked and become visible as one
commit, all of them or none. Names that begin with _ or . are passed over.`;

const CACHE_BYTES: number = 4 << 20;

/** Adds the commands to the program. */
export function addFilesCommands(program: Command, context: CliContext): void {
  addFlush(program, context);
  addCompact(program, context);
  addBulkLoad(program, context);
  addHFile(program, context);
}

function addFlush(program: Command, context: CliContext): void {
  program
    .command('flush [TABLE]')
    .description('bring what is in memory and log into store files, of one table or all')
    .action(async (table: string | undefined, _: unknown, command: Command) => {
      await context.withStore(command.optsWithGlobals<GlobalOptions>(), async (store, printer) => {
        await store.admin.flush(table);
        const what = table === undefined ? 'all tables' : `table ${table}`;
        printer.either({ flushed: true, table }, `Flushed ${what}`);
      });
    });
}

function addCompact(program: Command, context: CliContext): void {
  program
    .command('compact <TABLE>')
    .description('merge store files that the rules choose')
    .option('--major', 'all of each store into one, without what nobody may see any more')
    .action(async (table: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<GlobalOptions & { major?: boolean }>();
      const major = flags.major === true;
      await context.withStore(flags, async (store, printer) => {
        await store.admin.compact(table, { major });
        const after = (await store.files(table)).filter(({ kind }) => kind !== 'history');
        const count = after.length === 1 ? '1 file' : `${after.length} files`;
        printer.either(
          { compacted: true, table, major, files: after.length },
          `Compacted table ${table}: ${count}`,
        );
      });
    });
}

function addBulkLoad(program: Command, context: CliContext): void {
  program
    .command('bulkload <TABLE> <DIR>')
    .description("load HFiles of HBase's tools or ours")
    .option('--move', 'move the files instead of copying them')
    .addHelpText('after', BULKLOAD_HELP)
    .action(async (table: string, dir: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<GlobalOptions & { move?: boolean }>();
      await context.withStore(flags, async (store, printer) => {
        const result = await store.admin.bulkLoad(table, dir, { move: flags.move === true });
        printer.either({ table, ...result }, bulkLoadText(table, result));
      });
    });
}

function bulkLoadText(table: string, result: BulkLoadResult): string {
  const { files, cells, filesAcrossRegions } = result;
  if (files === 0) return `There was nothing to load into table ${table}`;
  const across = filesAcrossRegions === 0 ? '' : `, ${filesAcrossRegions} across regions`;
  return `Loaded ${cells} cell(s) in ${files} file(s)${across} into table ${table}`;
}

interface DumpFlags extends GlobalOptions {
  readonly cells?: boolean;
  readonly blocks?: boolean;
}

function addHFile(program: Command, context: CliContext): void {
  program
    .command('hfile')
    .description('look into HFiles')
    .command('dump <FILE>')
    .description('print trailer, file info and Bloom filters of an HFile')
    .option('--cells', 'its cells too')
    .option('--blocks', 'its data blocks too')
    .action(async (file: string, _: unknown, command: Command) => {
      await dumpHFile(file, command.optsWithGlobals<DumpFlags>(), context);
    });
}

async function dumpHFile(file: string, flags: DumpFlags, context: CliContext): Promise<void> {
  const printer = context.printer(flags);
  const reader = await HFileReader.open(context.io.env.fs, file, new BlockCache(CACHE_BYTES));
  try {
    const description = await describeHFile(reader, { blocks: flags.blocks === true });
    if (printer.json) printer.line(toJson(description));
    else for (const line of hfileText(description).trimEnd().split('\n')) printer.line(line);
    if (flags.cells === true) await dumpCells(reader.cursor({ cacheBlocks: false }), printer);
  } finally {
    await reader.close();
  }
  await printer.flush();
}

async function dumpCells(source: CellSource, printer: Printer): Promise<void> {
  let state = source.seekToFirst();
  for (; state === WAIT; state = source.seekToFirst()) await source.load();
  while (state === READY) {
    printer.line(printer.json ? rawCellJson(source.cell) : rawCellText(source.cell));
    if (!(await printer.flushIfFull())) return;
    state = source.next();
    for (; state === WAIT; state = source.next()) await source.load();
  }
}

const TYPE_NAMES: ReadonlyMap<number, string> = new Map([
  [4, 'Put'],
  [8, 'Delete'],
  [10, 'DeleteFamilyVersion'],
  [12, 'DeleteColumn'],
  [14, 'DeleteFamily'],
]);

/** The parts of a cell as it lies in the file. */
function rawCell(cell: CellView): {
  row: string;
  family: string;
  qualifier: string;
  ts: bigint;
  type: string;
  value: string;
  tags: string;
  tso: bigint;
} {
  const { block, rowAt, rowLength, timestampAt } = cell;
  const text = (at: number, length: number): string =>
    toStringBinary(block.subarray(at, at + length));
  const familyAt = rowAt + rowLength + 1;
  const type = block[timestampAt + 8]!;
  return {
    row: text(rowAt, rowLength),
    family: text(familyAt, block[familyAt - 1]!),
    qualifier: text(cell.qualifierAt, cell.qualifierLength),
    ts: u64(block, timestampAt),
    type: TYPE_NAMES.get(type) ?? String(type),
    value: text(cell.valueAt, cell.valueLength),
    tags: text(cell.tagsAt, cell.tagsLength),
    tso: (BigInt(cell.writeHigh) << 32n) | BigInt(cell.writeLow),
  };
}

function rawCellJson(cell: CellView): string {
  const { tags, ts, ...parts } = rawCell(cell);
  return toJson({ ...parts, ts: new JsonInteger(ts), tags: tags === '' ? undefined : tags });
}

/** As HBase's HFilePrettyPrinter shows cells. */
function rawCellText(cell: CellView): string {
  const { row, family, qualifier, ts, type, value, tags, tso } = rawCell(cell);
  const key = `${row}/${family}:${qualifier}/${ts}/${type}/vlen=${cell.valueLength}/seqid=${tso}`;
  return `K: ${key} V: ${value}${tags === '' ? '' : ` T: ${tags}`}`;
}

/** Times beyond this are no dates (ECMAScript). */
const DATE_MS_MAX = 8_640_000_000_000_000n;

function timeText(ms: bigint): string {
  return ms > DATE_MS_MAX ? String(ms) : `${ms} (${new Date(Number(ms)).toISOString()})`;
}

function tsoText(tso: bigint): string {
  return `${tso} (${new Date(Number(tso >> 18n)).toISOString()})`;
}

function rangeText<T>(from: T, to: T, text: (value: T) => string): string {
  const [first, last] = [text(from), text(to)];
  return first === last ? first : `${first} to ${last}`;
}

/** A file of `stats --files`: the first line is its place, the others what is in it. */
export function fileLines(file: FileDescription): string[] {
  const { table, region, family, kind, level, sizeBytes, cells, flags, firstRow, lastRow } = file;
  const words = flags.length === 0 ? '' : `, ${flags.join(', ')}`;
  const rows =
    firstRow === null || lastRow === null ? 'none' : rangeText(firstRow, lastRow, toStringBinary);
  return [
    `${table} ${region} ${family}: ${file.path}`,
    `  ${kind}, level ${level}, ${sizeBytes} bytes, ${cells} cell(s)${words}`,
    `  rows       ${rows}`,
    `  timestamps ${rangeText(file.minTimestamp, file.maxTimestamp, timeText)}`,
    `  commits    ${rangeText(file.minTso, file.maxTso, tsoText)}`,
    ...(file.dropTso === null ? [] : [`  dropped    ${tsoText(file.dropTso)}`]),
  ];
}
