/** What there is to know of each filter before using it: docs/filters.md is made of this. */
import type { CellFilter, FilterSpec } from '../model/index.ts';
import { FILTER_TYPES, filterMaker } from './build.ts';
import { BaseFilter } from './filter.ts';
import { languageSection } from './language_catalog.ts';
import { LANGUAGE_FILTERS } from './language_filters.ts';

interface Entry {
  /** One that can be built, to ask it. */
  readonly sample: FilterSpec;
  readonly passes: string;
  /** Where it makes the scanner jump. */
  readonly jumps: string;
  /** What it keeps while a row, or the region, is read. */
  readonly state: string;
  /** For each cell it is asked about, if no other unit is named. */
  readonly cost: string;
}

const NONE = 'none';
const COMPARE = 'one comparison';

const column = { family: 'f', qualifier: 'q', operator: 'EQUAL' } as const;
const comparator = { type: 'BinaryComparator', value: 'v' } as const;
const compared = { operator: 'EQUAL', comparator } as const;

const ENTRIES: Readonly<Record<string, Entry>> = {
  ColumnCountGetFilter: {
    sample: { type: 'ColumnCountGetFilter', limit: 1 },
    passes: 'the newest version of the first columns; a row with more ends the scan of the region',
    jumps: 'next column; ends the scan',
    state: 'row: a count',
    cost: NONE,
  },
  ColumnPaginationFilter: {
    sample: { type: 'ColumnPaginationFilter', limit: 1, columnOffset: 'a' },
    passes: 'the newest version of `limit` columns from the `offset`th, or from `columnOffset`, on',
    jumps: 'next column, next row; to `columnOffset`',
    state: 'row: a count',
    cost: 'none, or one comparison before `columnOffset`; an offset is walked column by column',
  },
  ColumnPrefixFilter: {
    sample: { type: 'ColumnPrefixFilter', prefix: 'a' },
    passes: 'columns with the prefix',
    jumps: 'to the prefix; next row behind it',
    state: NONE,
    cost: COMPARE,
  },
  ColumnRangeFilter: {
    sample: { type: 'ColumnRangeFilter', min: 'a' },
    passes: 'columns of the range, in each family',
    jumps: 'to the start; next row behind the end',
    state: NONE,
    cost: 'two comparisons',
  },
  ColumnValueFilter: {
    sample: { type: 'ColumnValueFilter', ...column, comparator },
    passes: 'only cells of the column whose value compares',
    jumps: 'next column before it; next row behind it',
    state: 'row: whether the column was met',
    cost: 'column and value compared',
  },
  CustomFilter: {
    sample: { type: 'CustomFilter', make: () => new BaseFilterSample() },
    passes: "what the user's own object says",
    jumps: 'as it says',
    state: 'its own',
    cost: 'its own',
  },
  DependentColumnFilter: {
    sample: { type: 'DependentColumnFilter', family: 'f', qualifier: 'q' },
    passes: 'cells with a timestamp of the column (whose value may have to compare)',
    jumps: NONE,
    state: "row: the column's timestamps",
    cost: 'column compared; each kept cell of the row searched for once more',
  },
  FamilyFilter: {
    sample: { type: 'FamilyFilter', ...compared },
    passes: 'families that compare',
    jumps: 'next family',
    state: NONE,
    cost: COMPARE,
  },
  FilterAllFilter: {
    sample: { type: 'FilterAllFilter' },
    passes: 'nothing',
    jumps: 'ends the scan',
    state: NONE,
    cost: NONE,
  },
  FilterList: {
    sample: { type: 'FilterList', operator: 'MUST_PASS_ALL', filters: [] },
    passes: 'what passes all of its filters, or one of them',
    jumps:
      'ALL: the farthest jump; ONE: the nearest, and a hint only if every filter gives one or has left the row',
    state: "its filters'; ONE: where each of them wants to go on",
    cost: 'its filters, ALL up to the first that drops the cell, behind it those that hint',
  },
  FirstKeyOnlyFilter: {
    sample: { type: 'FirstKeyOnlyFilter' },
    passes: 'the first cell of the row',
    jumps: 'next row',
    state: 'row: whether it was met',
    cost: NONE,
  },
  FirstKeyValueMatchingQualifiersFilter: {
    sample: { type: 'FirstKeyValueMatchingQualifiersFilter', qualifiers: [] },
    passes: 'the cells of the row up to the first of these columns; without one, all',
    jumps: 'next row behind it',
    state: 'row: whether one was met',
    cost: 'one comparison for each qualifier',
  },
  FuzzyRowFilter: {
    sample: { type: 'FuzzyRowFilter', keys: [{ pattern: 'a', mask: [0] }] },
    passes: 'rows that agree with a pattern in its fixed bytes, as far as both reach',
    jumps: 'to the next row that may match; ends the scan when there is none',
    state: 'region: the next row of each pattern',
    cost: 'patterns compared until one matches, that of the row before first',
  },
  InclusiveStopFilter: {
    sample: { type: 'InclusiveStopFilter', stopRow: 'r' },
    passes: 'rows up to this one',
    jumps: 'ends the scan',
    state: 'region: whether it was passed',
    cost: 'one comparison a row',
  },
  KeyOnlyFilter: {
    sample: { type: 'KeyOnlyFilter' },
    passes: 'everything, without values or with their lengths instead; tags go too',
    jumps: NONE,
    state: NONE,
    cost: "a copy of each kept cell's key",
  },
  MultiRowRangeFilter: {
    sample: { type: 'MultiRowRangeFilter', ranges: [{ start: 'a' }] },
    passes: 'rows of any range',
    jumps: 'to the next range; ends the scan behind the last',
    state: 'region: the current range',
    cost: 'one or two comparisons a row; a binary search where a range is left',
  },
  MultipleColumnPrefixFilter: {
    sample: { type: 'MultipleColumnPrefixFilter', prefixes: ['a'] },
    passes: 'columns with one of the prefixes (see below)',
    jumps: 'to the next prefix; next row behind the last',
    state: NONE,
    cost: 'a binary search among the prefixes',
  },
  PageFilter: {
    sample: { type: 'PageFilter', pageSize: 1 },
    passes: 'so many rows of each region',
    jumps: 'ends the scan of the region',
    state: 'region: a count',
    cost: NONE,
  },
  PrefixFilter: {
    sample: { type: 'PrefixFilter', prefix: 'a' },
    passes: 'rows with the prefix',
    jumps: 'to the prefix; ends the scan behind it',
    state: 'region: whether it was passed',
    cost: 'one comparison a row',
  },
  QualifierFilter: {
    sample: { type: 'QualifierFilter', ...compared },
    passes: 'cells whose qualifier compares',
    jumps: NONE,
    state: NONE,
    cost: COMPARE,
  },
  RandomRowFilter: {
    sample: { type: 'RandomRowFilter', chance: 1 },
    passes: 'each row with this chance',
    jumps: 'next row',
    state: 'row: the throw',
    cost: 'one random number a row',
  },
  RowFilter: {
    sample: { type: 'RowFilter', ...compared },
    passes: 'rows whose key compares',
    jumps: 'next row, unread',
    state: 'row: the outcome',
    cost: 'one comparison a row',
  },
  SingleColumnValueExcludeFilter: {
    sample: { type: 'SingleColumnValueExcludeFilter', ...column, comparator },
    passes: 'as SingleColumnValueFilter, without the column itself',
    jumps: 'next row once the column has failed',
    state: 'row: whether the column was met and has passed',
    cost: 'column compared, its value once; each kept cell of the row compared once more',
  },
  SingleColumnValueFilter: {
    sample: { type: 'SingleColumnValueFilter', ...column, comparator },
    passes: 'whole rows whose column compares, and those without it unless `filterIfMissing`',
    jumps: 'next row once the column has failed',
    state: 'row: whether the column was met and has passed',
    cost: 'column compared until it is met, its value once',
  },
  SkipFilter: {
    sample: { type: 'SkipFilter', filter: { type: 'FirstKeyOnlyFilter' } },
    passes: 'rows of which the filter within drops nothing',
    jumps: 'as the filter within, without its hints',
    state: 'row: whether something was dropped',
    cost: 'the filter within',
  },
  TimestampsFilter: {
    sample: { type: 'TimestampsFilter', timestamps: [1], canHint: true },
    passes: 'cells with exactly these timestamps',
    jumps:
      'next column below the least; with `canHint` to the next of them, past markers in between',
    state: NONE,
    cost: 'a binary search among the timestamps',
  },
  ValueFilter: {
    sample: { type: 'ValueFilter', ...compared },
    passes: 'cells whose value compares, older versions too',
    jumps: NONE,
    state: NONE,
    cost: COMPARE,
  },
  WhileMatchFilter: {
    sample: { type: 'WhileMatchFilter', filter: { type: 'FirstKeyOnlyFilter' } },
    passes: 'everything until the filter within drops something',
    jumps: 'as the filter within, without its hints; ends the scan',
    state: 'region: whether something was dropped',
    cost: 'the filter within',
  },
};

class BaseFilterSample extends BaseFilter {}

const HEAD = `# Filters

This page is made from the code (\`src/filter/catalog.ts\`) by \`npm run build && node scripts/filter_docs.mjs\`; a test holds
that it is current.

A filter reaches a read as \`filter: …\` of \`get\`, \`getMany\`, \`exists\`, \`scan\` or \`count\`, in three ways: built in TypeScript
(\`prefixFilter('r1')\`, plain data that JSON can carry, see \`filterToJson\`), as text in HBase's filter language
(\`"PrefixFilter('r1') AND KeyOnlyFilter()"\`; \`--filter\` of the commands, \`FILTER =>\` in the shell), or as an object of your own
that implements \`CellFilter\`, best given as a function that makes one for each region.

- **Hint**: whether it gives seek hints. A hint moves the scanner: what lies between is not looked at.
- **Whole rows**: whether it decides on whole rows; such filters and \`batch\` exclude each other.
- **Language**: whether the filter language knows it.

`;

const TAIL = `
## Comparators

| comparator | cost |
|---|---|
| BinaryComparator, BinaryPrefixComparator, BinaryComponentComparator | bytes, up to the first that differs |
| BitComparator | bytes, up to the first with a bit left |
| LongComparator | 8 bytes; a part of another length is an error |
| BigDecimalComparator | digits written out; a part below 5 or above 1,024 bytes is an error |
| NullComparator | none: parts of cells are never null, so it is never equal |
| SubstringComparator | ASCII: bytes in place; else the part is decoded |
| RegexStringComparator | at most the length of the compiled pattern times that of the part |

Regular expressions are Java's, on an engine of our own. Patterns without looking around, back references, atomic groups and
possessive repetitions run in time linear in the text. The others are tried step by step, and a search is given up with an
error (DoNotRetryIOException) after 500,000 steps, or 64 for each character of a longer text. Repetitions are written out; a
pattern of more than 4,000 instructions is refused. What an expression costs counts against the turn of its scan, so that a
costly one does not hold up others. \`\\G\`, \`\\X\`, \`\\N\` and CANON_EQ are refused. JONI is accepted and runs as JAVA.

## As in HBase, if surprising

- PageFilter counts in each region; use \`limit\` for the whole scan.
- The filter sees only what the read selects: a column that is not read counts as missing.
- VERSIONS of the family bind before the filter, the versions asked for after it.
- Of prefixes of MultipleColumnPrefixFilter that begin with one another, the longer hides columns of the shorter behind it.
- FuzzyRowFilter: a row shorter than the pattern matches if its bytes do, but a hint may pass over it.
- SkipFilter and WhileMatchFilter do not hand on hints or whole-row work, SkipFilter not the row key either, and the filter
  within does not know of a reversed scan.
- TimestampsFilter with \`canHint\` may pass over delete markers.

## Not as in HBase

- PrefixFilter compares a row shorter than the prefix by its own bytes only.
- Backwards, hints of prefixes and patterns that end in 0xff lead to the right row.
- From the empty column no hint is followed within its row, since a marker of the family may stand below.
- BinaryComponentComparator takes a part that ends too early as shorter; HBase reads on behind it.
- In the filter language an OR with an AND in it may stand in parentheses.
`;

/** The page, as Markdown. */
export function filtersPage(): string {
  const lines = [
    '| filter | passes | hint | jumps | whole rows | state | cost | language |',
    '|---|---|---|---|---|---|---|---|',
  ];
  for (const type of [...FILTER_TYPES].sort()) {
    const { sample, passes, jumps, state, cost } = ENTRIES[type]!;
    const filter = filterMaker(sample)({ reversed: false, random: () => 0 });
    const cells = [
      type,
      passes,
      yesOrNo(givesHints(filter, type)),
      jumps,
      type === 'FilterList' ? 'if one of its filters' : yesOrNo(filter.hasFilterRow()),
      state,
      cost,
      yesOrNo(LANGUAGE_FILTERS.has(type)),
    ];
    lines.push(`| ${cells.join(' | ')} |`);
  }
  return `${HEAD}${lines.join('\n')}\n${languageSection()}${TAIL}`;
}

const yesOrNo = (value: boolean): string => (value ? 'yes' : 'no');

/** Whether the class has hints of its own to give. */
function givesHints(filter: CellFilter, type: string): boolean {
  if (type === 'CustomFilter') return true;
  return filter.nextCellHint !== BaseFilter.prototype.nextCellHint;
}
