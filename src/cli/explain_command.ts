/** `cellar explain`: what a get or scan looks at, what it leaves alone, and why; on a folder or the server that has it open. */
import type { Command } from 'commander';
import { fromStringBinary, toStringBinary } from '../cell/index.ts';
import type {
  BlockCounts,
  BlocksRead,
  CellCounts,
  ExplainTarget,
  FamilyExplanation,
  HiddenCells,
  ReadExplanation,
  RegionExplanation,
  SourceExplanation,
} from '../model/index.ts';
import { addTargetOptions } from './api_target.ts';
import type { TargetOptions } from './api_target.ts';
import { UsageError } from './context.ts';
import type { CliContext } from './context.ts';
import { addScanOptions, readOptionsOf, scanOptionsOf } from './read_options.ts';
import type { ScanFlags } from './read_options.ts';
import { runOrAsk } from './task.ts';

const HELP = `
With a ROW it is a get, else a scan; the options are those of get and scan. The read is really done, its results are counted.
  cellar explain people alice info:name --data DIR
  cellar explain people --prefix a --filter "ColumnPrefixFilter('addr_')" --data DIR
Blocks are counted once each: from the cache + from the disk.`;

type ExplainFlags = ScanFlags & TargetOptions;

/** Adds the command to the program. */
export function addExplainCommand(program: Command, context: CliContext): void {
  addTargetOptions(
    addScanOptions(
      program
        .command('explain <TABLE> [ROW] [COLUMN...]')
        .description('print which regions, files, blocks and cells a read looks at, and why'),
    ),
  )
    .addHelpText('after', HELP)
    .action(
      async (
        table: string,
        row: string | undefined,
        columns: string[],
        _: unknown,
        command: Command,
      ) => {
        const flags = command.optsWithGlobals<ExplainFlags>();
        const target = targetOf(row, columns, flags);
        const task = { task: 'explain', table, target } as const;
        const explanation = await runOrAsk(context, flags, task, 'Explaining');
        if (explanation === null) return;
        const printer = context.printer(flags);
        printer.either({ ...explanation }, explanationLines(explanation));
        await printer.flush();
      },
    );
}

function targetOf(
  row: string | undefined,
  columns: readonly string[],
  flags: ExplainFlags,
): ExplainTarget {
  if (row === undefined) return { scan: scanOptionsOf(flags) };
  const ofScans = ['start', 'stop', 'prefix', 'reversed', 'limit', 'raw', 'columns'] as const;
  const wrong = ofScans.find((name) => flags[name] !== undefined);
  if (wrong !== undefined) throw new UsageError(`--${wrong} is of scans: leave the row out`);
  return { get: fromStringBinary(row), options: readOptionsOf(flags, columns) };
}

/** An explanation for people. */
export function explanationLines(explanation: ReadExplanation): string[] {
  const { table, operation, totals, elapsedMs, waitedMs, readPoint, regions } = explanation;
  const { regionsRead, regionsRuledOut, filesRead, filesRuledOut } = totals;
  return [
    `${operation} of table ${table}: ${totals.rowsReturned} row(s), ${totals.cells.returned} cell(s) in ` +
      `${elapsedMs.toFixed(1)} ms, ${waitedMs.toFixed(1)} ms of them for the disk`,
    `read point ${readPoint}`,
    `regions    ${regionsRead} read, ${regionsRuledOut} ruled out${reasonsText(regions)}`,
    `files      ${filesRead} read, ${filesRuledOut} ruled out${reasonsText(filesOf(regions))}`,
    `blocks     ${blocksText(totals.blocks)}`,
    `moves      ${movesText(totals)}`,
    `cells      ${cellsText(totals.cells)}`,
    ...regions.filter(({ ruledOut }) => ruledOut === null).flatMap(regionLines),
  ];
}

const filesOf = (regions: readonly RegionExplanation[]): SourceExplanation[] =>
  regions
    .flatMap(({ families }) => families)
    .flatMap(({ sources }) => sources)
    .filter(({ path }) => path !== null);

/** ` (2 key range, 1 TTL)`, or nothing. */
function reasonsText(items: readonly { readonly ruledOut: string | null }[]): string {
  const counts = new Map<string, number>();
  for (const { ruledOut } of items) {
    if (ruledOut !== null) counts.set(ruledOut, (counts.get(ruledOut) ?? 0) + 1);
  }
  const texts = [...counts].map(([reason, count]) => `${count} ${reason}`);
  return texts.length === 0 ? '' : ` (${texts.join(', ')})`;
}

function blocksText({ data, index, bloom }: BlocksRead): string {
  const one = (what: string, counts: BlockCounts): string =>
    `${what} ${counts.fromCache} from cache (${counts.fromCacheBytes} bytes), ` +
    `${counts.fromDisk} from disk (${counts.fromDiskBytes} bytes)`;
  return [one('data', data), one('index', index), one('Bloom', bloom)].join('; ');
}

function movesText({ seeks, steps, lazySeeksSaved, hints }: ReadExplanation['totals']): string {
  return `${seeks} seek(s), ${steps} step(s), ${lazySeeksSaved} lazy seek(s) saved, ${hintsText(hints)}`;
}

const hintsText = ({ given, followed }: FamilyExplanation['hints']): string =>
  `${given} hint(s), ${followed} followed`;

const HIDDEN_WORDS: Readonly<Record<keyof HiddenCells, string>> = {
  marker: 'by markers',
  versions: 'versions too many',
  ttl: 'expired',
  timeRange: 'outside the time range',
  filter: 'by the filter',
  readPoint: 'committed later',
  column: 'of other columns',
  duplicate: 'written again',
  storeLimit: 'outside the store limit',
};

function cellsText({ lookedAt, returned, markers, hidden }: CellCounts): string {
  const texts = [`${returned} returned`];
  if (markers > 0) texts.push(`${markers} marker(s)`);
  for (const name of Object.keys(HIDDEN_WORDS) as (keyof HiddenCells)[]) {
    if (hidden[name] > 0) texts.push(`${hidden[name]} ${HIDDEN_WORDS[name]}`);
  }
  return `${lookedAt} looked at: ${texts.join(', ')}`;
}

function regionLines(region: RegionExplanation): string[] {
  const { encodedName, startKey, endKey, rowsLookedAt, rowsDropped, families } = region;
  return [
    '',
    `region ${encodedName} [${toStringBinary(startKey)}, ${toStringBinary(endKey)}): ` +
      `${rowsLookedAt} row(s) looked at, ${rowsDropped} dropped`,
    ...families.flatMap(familyLines),
  ];
}

const HEADINGS = ['SOURCE', 'CELLS', 'BYTES', 'SEEKS', 'STEPS', 'DATA', 'INDEX', 'BLOOM', 'NOTE'];

function familyLines(family: FamilyExplanation): string[] {
  const { sources, cells, hints, lazySeeksSaved } = family;
  const onDemand = family.onDemand ? ', read on demand' : '';
  const rows = [HEADINGS, ...sources.map(sourceRow)];
  const widths = HEADINGS.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  return [
    `  family ${family.family}${onDemand}: ${cellsText(cells)}; ${hintsText(hints)}; ` +
      `${lazySeeksSaved} lazy seek(s) saved`,
    ...rows.map((row) =>
      `    ${row.map((text, at) => (at === 0 ? text.padEnd(widths[0]!) : text.padStart(at < 8 ? widths[at]! : 0))).join('  ')}`.trimEnd(),
    ),
  ];
}

function sourceRow(source: SourceExplanation): string[] {
  const { kind, path, cells, sizeBytes, seeks, steps, blocks, opened, ruledOut } = source;
  const count = ({ fromCache, fromDisk }: BlockCounts): string =>
    fromCache + fromDisk === 0 ? '-' : `${fromCache}+${fromDisk}`;
  const note = ruledOut === null ? (opened ? 'opened' : '') : `ruled out: ${ruledOut}`;
  return [
    path ?? kind,
    String(cells),
    String(sizeBytes),
    String(seeks),
    String(steps),
    count(blocks.data),
    count(blocks.index),
    count(blocks.bloom),
    note,
  ];
}
