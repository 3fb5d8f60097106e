/**
 * Filters in commands: the JSON of src/model/filter_spec.ts with bytes as strings (one character a byte), and how they are
 * given to each side: with the rows of a case, as HBase's filter language, as a spec of Cellar's.
 */
import type { FilterSpec } from '../../src/model/index.ts';

export interface FilterJson {
  readonly type: string;
  readonly [member: string]: unknown;
}

type Members = Record<string, unknown>;

const asMembers = (value: unknown): Members => value as Members;
/** A member that is text, a number or a flag. */
const plain = (value: unknown, absent: string | boolean = ''): string =>
  String((value as string | number | boolean | undefined) ?? absent);

/** The filter with the rows it names below the case's prefix. `end` is the first row behind them. */
export function placedFilter(filter: FilterJson, prefix: string, end: string): FilterJson {
  const placed: Members & { type: string } = { ...filter };
  switch (filter.type) {
    case 'PrefixFilter':
      placed['prefix'] = prefix + String(filter['prefix']);
      break;
    case 'InclusiveStopFilter':
      placed['stopRow'] = prefix + String(filter['stopRow']);
      break;
    case 'RowFilter':
      placed['comparator'] = placedComparator(asMembers(filter['comparator']), prefix);
      break;
    case 'FuzzyRowFilter':
      placed['keys'] = (filter['keys'] as Members[]).map(({ pattern, mask }) => ({
        pattern: prefix + String(pattern),
        mask: [...Array.from(prefix, () => 0), ...(mask as number[])],
      }));
      break;
    case 'MultiRowRangeFilter':
      placed['ranges'] = (filter['ranges'] as Members[]).map((range) => ({
        ...range,
        start: prefix + plain(range['start']),
        stop: range['stop'] === undefined ? end : prefix + plain(range['stop']),
      }));
      break;
    case 'SkipFilter':
    case 'WhileMatchFilter':
      placed['filter'] = placedFilter(filter['filter'] as FilterJson, prefix, end);
      break;
    case 'FilterList':
      placed['filters'] = (filter['filters'] as FilterJson[]).map((one) =>
        placedFilter(one, prefix, end),
      );
      break;
  }
  return placed;
}

function placedComparator(comparator: Members, prefix: string): Members {
  switch (comparator['type']) {
    case 'BinaryComparator':
    case 'BinaryPrefixComparator':
      return { ...comparator, value: prefix + String(comparator['value']) };
    case 'BinaryComponentComparator':
      return { ...comparator, offset: Number(comparator['offset']) + prefix.length };
    default:
      return comparator;
  }
}

// ---- Cellar's specs --------------------------------------------------------------------------------------------------------

const BYTES = ['prefix', 'stopRow', 'family', 'qualifier', 'min', 'max', 'columnOffset', 'start'];
const BYTE_MEMBERS: ReadonlySet<string> = new Set([...BYTES, 'stop']);
const BYTE_COMPARATORS: ReadonlySet<unknown> = new Set([
  'BinaryComparator',
  'BinaryPrefixComparator',
  'BinaryComponentComparator',
  'BitComparator',
]);

/** The filter as Cellar takes it. */
export function specOf(filter: FilterJson): FilterSpec {
  return revived(filter, '') as FilterSpec;
}

function revived(value: unknown, name: string): unknown {
  if (typeof value === 'string') return BYTE_MEMBERS.has(name) ? bytesOf(value) : value;
  if (Array.isArray(value)) {
    const isBytes = name === 'qualifiers' || name === 'prefixes';
    return value.map((item) => revived(item, isBytes ? 'prefix' : ''));
  }
  if (typeof value !== 'object' || value === null) return value;
  const members = asMembers(value);
  const made = Object.fromEntries(
    Object.entries(members).map(([key, member]) => [key, revived(member, key)]),
  );
  if (BYTE_COMPARATORS.has(members['type'])) made['value'] = bytesOf(String(members['value']));
  if ('mask' in members) made['pattern'] = bytesOf(String(members['pattern']));
  if (members['type'] === 'LongComparator') made['value'] = BigInt(String(members['value']));
  return made;
}

const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'latin1');

// ---- HBase's filter language -----------------------------------------------------------------------------------------------

const OPERATORS: Readonly<Record<string, string>> = {
  LESS: '<',
  LESS_OR_EQUAL: '<=',
  EQUAL: '=',
  NOT_EQUAL: '!=',
  GREATER_OR_EQUAL: '>=',
  GREATER: '>',
};
const COMPARATORS: Readonly<Record<string, string>> = {
  BinaryComparator: 'binary',
  BinaryPrefixComparator: 'binaryprefix',
  RegexStringComparator: 'regexstring',
  SubstringComparator: 'substring',
};

/** The filter in HBase's language; null if that has no words for it. */
export function textOf(filter: FilterJson): string | null {
  const { type } = filter;
  switch (type) {
    case 'KeyOnlyFilter':
      return filter['lenAsVal'] === true ? null : 'KeyOnlyFilter()';
    case 'FirstKeyOnlyFilter':
      return 'FirstKeyOnlyFilter()';
    case 'PrefixFilter':
    case 'ColumnPrefixFilter':
      return `${type}(${quoted(filter['prefix'])})`;
    case 'MultipleColumnPrefixFilter':
      return `${type}(${(filter['prefixes'] as unknown[]).map(quoted).join(', ')})`;
    case 'PageFilter':
      return `${type}(${Number(filter['pageSize'])})`;
    case 'ColumnCountGetFilter':
      return `${type}(${Number(filter['limit'])})`;
    case 'ColumnPaginationFilter':
      return filter['offset'] === undefined
        ? null
        : `${type}(${Number(filter['limit'])}, ${Number(filter['offset'])})`;
    case 'InclusiveStopFilter':
      return `${type}(${quoted(filter['stopRow'])})`;
    case 'TimestampsFilter':
      return filter['canHint'] === true
        ? null
        : `${type}(${(filter['timestamps'] as number[]).join(', ')})`;
    case 'ColumnRangeFilter':
      return filter['min'] === undefined || filter['max'] === undefined
        ? null
        : `${type}(${quoted(filter['min'])}, ${plain(filter['minInclusive'], true)}, ${quoted(filter['max'])}, ${plain(filter['maxInclusive'], false)})`;
    case 'RowFilter':
    case 'FamilyFilter':
    case 'QualifierFilter':
    case 'ValueFilter':
      return call(type, comparisonText(filter));
    case 'ColumnValueFilter':
      return call(type, columnText(filter), comparisonText(filter));
    case 'SingleColumnValueFilter':
    case 'SingleColumnValueExcludeFilter':
      return call(
        type,
        columnText(filter),
        comparisonText(filter),
        `${plain(filter['filterIfMissing'], false)}, ${plain(filter['latestVersionOnly'], true)}`,
      );
    case 'DependentColumnFilter': {
      const drops = plain(filter['dropDependentColumn'], false);
      if (filter['comparator'] === undefined) return call(type, columnText(filter), drops);
      return call(type, columnText(filter), drops, comparisonText(filter));
    }
    case 'SkipFilter':
    case 'WhileMatchFilter': {
      const within = textOf(filter['filter'] as FilterJson);
      return within === null ? null : `${type === 'SkipFilter' ? 'SKIP' : 'WHILE'} ${within}`;
    }
    case 'FilterList':
      return listText(filter);
    default:
      return null;
  }
}

function listText(filter: FilterJson): string | null {
  // `(A OR SKIP B)` is refused by HBase's parser: "Mismatched parenthesis".
  const filters = (filter['filters'] as FilterJson[]).map((one) =>
    one.type === 'SkipFilter' || one.type === 'WhileMatchFilter' ? null : textOf(one),
  );
  // The parser makes no list of one or none.
  if (filters.length < 2 || filters.includes(null)) return null;
  return `(${filters.join(filter['operator'] === 'MUST_PASS_ALL' ? ' AND ' : ' OR ')})`;
}

const quoted = (value: unknown): string => `'${String(value).replaceAll("'", "''")}'`;
const columnText = (filter: FilterJson): string =>
  `${quoted(filter['family'])}, ${quoted(filter['qualifier'])}`;

function call(name: string, ...parts: (string | null)[]): string | null {
  return parts.includes(null) ? null : `${name}(${parts.join(', ')})`;
}

function comparisonText(filter: FilterJson): string | null {
  const comparator = asMembers(filter['comparator']);
  const name = COMPARATORS[String(comparator['type'])];
  const operator = OPERATORS[String(filter['operator'])];
  if (name === undefined || operator === undefined || comparator['flags'] !== undefined)
    return null;
  const value = String(comparator['value'] ?? comparator['pattern']);
  return `${operator}, ${quoted(`${name}:${value}`)}`;
}

// ---- What a filter is made of ----------------------------------------------------------------------------------------------

/** Its kinds, comparators and operators, those within it included. */
export function partsOf(filter: FilterJson): string[] {
  const parts = [filter.type];
  const { operator } = filter;
  if (typeof operator === 'string') parts.push(`${filter.type} ${operator}`);
  const comparator = filter['comparator'];
  if (comparator !== undefined) parts.push(String(asMembers(comparator)['type']));
  if (filter['filter'] !== undefined) parts.push(...partsOf(filter['filter'] as FilterJson));
  for (const one of (filter['filters'] ?? []) as FilterJson[]) parts.push(...partsOf(one));
  return parts;
}

/** Whether it ends the scan at a row whose key it does not want. */
export function endsByRow(filter: FilterJson): boolean {
  const within = [filter['filter'] ?? [], filter['filters'] ?? []].flat() as FilterJson[];
  const parts = within.flatMap(partsOf);
  return (
    (filter.type === 'WhileMatchFilter' && parts.includes('RowFilter')) || within.some(endsByRow)
  );
}

/** Filters with less in them. */
export function smallerFilters(filter: FilterJson): FilterJson[] {
  const within = filter['filter'] as FilterJson | undefined;
  const smaller: FilterJson[] = [];
  if (within !== undefined) {
    smaller.push(within, ...smallerFilters(within).map((less) => ({ ...filter, filter: less })));
  }
  const filters = filter['filters'] as FilterJson[] | undefined;
  if (filters === undefined) return smaller;
  smaller.push(...filters);
  for (const [i, one] of filters.entries()) {
    smaller.push({ ...filter, filters: filters.toSpliced(i, 1) });
    for (const less of smallerFilters(one)) {
      smaller.push({ ...filter, filters: filters.with(i, less) });
    }
  }
  return smaller;
}
