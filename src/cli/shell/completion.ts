/** What the Tab key offers: commands at the start of a line, tables within quotes, constants elsewhere. */
import { FAMILY_ATTRIBUTES, TABLE_ATTRIBUTES } from '../../model/index.ts';
import { SHELL_COMMANDS } from './interpreter.ts';

const CONSTANTS: readonly string[] = [
  ...new Set([
    'NAME',
    'COLUMN',
    'COLUMNS',
    'STARTROW',
    'STOPROW',
    'ROWPREFIXFILTER',
    'LIMIT',
    'REVERSED',
    'RAW',
    'TIMESTAMP',
    'TIMERANGE',
    'SPLITS',
    'NUMREGIONS',
    'SPLITALGO',
    'METHOD',
    'CONFIGURATION',
    'METADATA',
    ...FAMILY_ATTRIBUTES.map((attribute) => attribute.name),
    ...TABLE_ATTRIBUTES.map((attribute) => attribute.name),
  ]),
];

/** Completions of the last word of `line`, and that word, as node:readline wants them. */
export function complete(line: string, tables: readonly string[]): [string[], string] {
  const quoted = /(['"])([^'"]*)$/.exec(line);
  const isWithinQuotes = quoted !== null && isOddQuote(line);
  if (isWithinQuotes) {
    const part = quoted[2]!;
    const quote = quoted[1]!;
    const names = tables.filter((name) => name.startsWith(part));
    return [names.map((name) => `${name}${quote}`), part];
  }
  const word = /[A-Za-z_]*$/.exec(line)![0];
  const isFirst = line.slice(0, line.length - word.length).trim() === '';
  const words = isFirst ? SHELL_COMMANDS.map((command) => command.name) : CONSTANTS;
  return [words.filter((candidate) => candidate.startsWith(word)), word];
}

function isOddQuote(line: string): boolean {
  let open = '';
  for (const character of line) {
    if (open === '') open = character === "'" || character === '"' ? character : '';
    else if (character === open) open = '';
  }
  return open !== '';
}
