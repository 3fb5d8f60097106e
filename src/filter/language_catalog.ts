/** Filters of the language: what stands in their parentheses, and one of each. The examples are parsed by a test. */
import { LANGUAGE_FILTERS } from './language_filters.ts';

interface Form {
  readonly signature: string;
  readonly example: string;
}

const FORMS: Readonly<Record<string, Form>> = {
  ColumnCountGetFilter: {
    signature: 'limit',
    example: 'ColumnCountGetFilter(3)',
  },
  ColumnPaginationFilter: {
    signature: 'limit, offset',
    example: 'ColumnPaginationFilter(10, 20)',
  },
  ColumnPrefixFilter: {
    signature: "'prefix'",
    example: "ColumnPrefixFilter('addr_')",
  },
  ColumnRangeFilter: {
    signature: "'min', minInclusive, 'max', maxInclusive",
    example: "ColumnRangeFilter('a', true, 'f', false)",
  },
  ColumnValueFilter: {
    signature: "'family', 'qualifier', operator, 'comparator'",
    example: "ColumnValueFilter('info', 'mag', >=, 'binary:5')",
  },
  DependentColumnFilter: {
    signature: "'family', 'qualifier'[, dropDependentColumn[, operator, 'comparator']]",
    example: "DependentColumnFilter('info', 'mag', false, =, 'binary:5.1')",
  },
  FamilyFilter: {
    signature: "operator, 'comparator'",
    example: "FamilyFilter(=, 'binary:info')",
  },
  FirstKeyOnlyFilter: {
    signature: '',
    example: 'FirstKeyOnlyFilter()',
  },
  InclusiveStopFilter: {
    signature: "'row'",
    example: "InclusiveStopFilter('r9')",
  },
  KeyOnlyFilter: {
    signature: '',
    example: 'KeyOnlyFilter()',
  },
  MultipleColumnPrefixFilter: {
    signature: "'prefix', …",
    example: "MultipleColumnPrefixFilter('addr_', 'tel_')",
  },
  PageFilter: {
    signature: 'rows',
    example: 'PageFilter(25)',
  },
  PrefixFilter: {
    signature: "'prefix'",
    example: "PrefixFilter('r1')",
  },
  QualifierFilter: {
    signature: "operator, 'comparator'",
    example: "QualifierFilter(=, 'regexstring:^mag')",
  },
  RowFilter: {
    signature: "operator, 'comparator'",
    example: "RowFilter(<=, 'binaryprefix:r5')",
  },
  SingleColumnValueExcludeFilter: {
    signature:
      "'family', 'qualifier', operator, 'comparator'[, filterIfMissing, latestVersionOnly]",
    example: "SingleColumnValueExcludeFilter('info', 'city', =, 'binary:Oslo')",
  },
  SingleColumnValueFilter: {
    signature:
      "'family', 'qualifier', operator, 'comparator'[, filterIfMissing, latestVersionOnly]",
    example: "SingleColumnValueFilter('info', 'city', =, 'substring:os', true, true)",
  },
  TimestampsFilter: {
    signature: 'timestamp, …',
    example: 'TimestampsFilter(1000, 2000)',
  },
  ValueFilter: {
    signature: "operator, 'comparator'",
    example: "ValueFilter(!=, 'regexstringnocase:^error')",
  },
};

const HEAD = `
## The language

\`\`\`
expression := term (OR term)*
term       := factor (AND factor)*
factor     := (SKIP | WHILE) factor | Name(arguments) | (expression)
\`\`\`

AND binds closer than OR; SKIP and WHILE stand for SkipFilter and WhileMatchFilter. Names and keywords are case-sensitive. Arguments are
strings in single quotes (\`''\` within is one quote; \`--filter\` also takes \`\\xNN\` for a byte), integers, \`true\` and \`false\`,
and operators: \`<\` \`<=\` \`=\` \`!=\` \`>\` \`>=\`. What is in brackets may be left out.

A comparator is a string with a prefix:

| prefix | comparator | operators |
|---|---|---|
| \`binary:\` | BinaryComparator: the whole part | all |
| \`binaryprefix:\` | BinaryPrefixComparator: its beginning | all |
| \`substring:\` | SubstringComparator: anywhere, whatever the case | \`=\` \`!=\` |
| \`regexstring:\` | RegexStringComparator: found anywhere | \`=\` \`!=\` |
| \`regexstringnocase:\` | the same, whatever the case | \`=\` \`!=\` |

A part compares as it stands in the text: \`ValueFilter(>, 'binary:b')\` passes values above b.

| filter and arguments | for example |
|---|---|
`;

/** The section on the filter language, as Markdown. */
export function languageSection(): string {
  const rows = [...LANGUAGE_FILTERS].sort().map((type) => {
    const { signature, example } = FORMS[type]!;
    return `| ${type}(${signature}) | \`${example}\` |\n`;
  });
  return `${HEAD}${rows.join('')}
Together, on the command line:

\`\`\`sh
cellar scan quakes --filter "PrefixFilter('9q') AND (PageFilter(5) OR SKIP ValueFilter(!=, 'binary:'))"
\`\`\`
`;
}

/** An example of each filter of the language, by its name. */
export function languageExamples(): ReadonlyMap<string, string> {
  return new Map(Object.entries(FORMS).map(([type, form]) => [type, form.example]));
}
