/** Filters from their specs: what builders, the filter language and the wire have in common. */
import { compareBytes, equalBytes, toStringBinary } from '../cell/index.ts';
import {
  IllegalArgumentException,
  closest,
  requireObject,
  shown,
  toTimestamp,
} from '../model/index.ts';
import type {
  Bytes,
  CellFilter,
  ColumnPaginationFilterSpec,
  CompareFilterSpec,
  CustomFilterSpec,
  DependentColumnFilterSpec,
  FilterContext,
  FilterInput,
  FilterListSpec,
  FilterMaker,
  FilterSpec,
  FuzzyKey,
  FuzzyRowFilterSpec,
  RowRangeSpec,
  SingleColumnValueFilterSpec,
} from '../model/index.ts';
import { comparisonOf, ownBytes } from './build_comparator.ts';
import {
  FamilyFilter,
  KeyOnlyFilter,
  QualifierFilter,
  TimestampsFilter,
  ValueFilter,
} from './cell_filters.ts';
import {
  ColumnCountGetFilter,
  ColumnOffsetPaginationFilter,
  ColumnPaginationFilter,
  ColumnPrefixFilter,
  ColumnRangeFilter,
  FirstKeyOnlyFilter,
  FirstKeyValueMatchingQualifiersFilter,
  MultipleColumnPrefixFilter,
} from './column_filters.ts';
import {
  ColumnValueFilter,
  DependentColumnFilter,
  SingleColumnValueFilter,
} from './column_value_filters.ts';
import { BaseFilter } from './filter.ts';
import { MustPassAllFilter, MustPassOneFilter } from './filter_list.ts';
import { FuzzyRowFilter } from './fuzzy_row_filter.ts';
import type { FuzzyPattern } from './fuzzy_row_filter.ts';
import { parseFilter } from './language.ts';
import { Meter } from './meter.ts';
import { MultiRowRangeFilter, sortAndMerge } from './multi_row_range_filter.ts';
import {
  FilterAllFilter,
  InclusiveStopFilter,
  PageFilter,
  PrefixFilter,
  RandomRowFilter,
  RowFilter,
} from './row_filters.ts';
import { SkipFilter, WhileMatchFilter } from './wrapper_filters.ts';

/** Lists and wrappers within each other: a deeper spec is refused. */
const DEPTH_MAX = 100;

const TYPES: ReadonlySet<string> = new Set([
  'KeyOnlyFilter',
  'FirstKeyOnlyFilter',
  'FirstKeyValueMatchingQualifiersFilter',
  'FilterAllFilter',
  'PrefixFilter',
  'PageFilter',
  'InclusiveStopFilter',
  'RowFilter',
  'FamilyFilter',
  'QualifierFilter',
  'ValueFilter',
  'DependentColumnFilter',
  'SingleColumnValueFilter',
  'SingleColumnValueExcludeFilter',
  'ColumnValueFilter',
  'ColumnPrefixFilter',
  'MultipleColumnPrefixFilter',
  'ColumnRangeFilter',
  'ColumnPaginationFilter',
  'ColumnCountGetFilter',
  'TimestampsFilter',
  'RandomRowFilter',
  'FuzzyRowFilter',
  'MultiRowRangeFilter',
  'SkipFilter',
  'WhileMatchFilter',
  'FilterList',
  'CustomFilter',
]);

/** The filters that specs name. HBase's, and CustomFilter. */
export const FILTER_TYPES: readonly string[] = [...TYPES];

/**
 * What makes the filters of a read, one for each region. Text is parsed and specs are checked here, once, so that mistakes
 * show before anything is read. Throws IllegalArgumentException.
 */
export function filterMaker(input: FilterInput): FilterMaker {
  if (typeof input === 'function') return (context) => checkFilter(input(context));
  if (typeof input === 'string' || input instanceof Uint8Array) {
    return filterMaker(parseFilter(input));
  }
  if (typeof input !== 'object' || input === null) {
    throw new IllegalArgumentException(`filter must be a filter, not ${shown(input)}`);
  }
  if ('filterCell' in input) {
    const filter = checkFilter(input);
    return () => filter;
  }
  buildFilter(input, { reversed: false, random: () => 0 }, true);
  return (context) => buildFilter(input, context, false);
}

const FILTER_METHODS = [
  'reset',
  'filterAllRemaining',
  'filterRowKey',
  'filterCell',
  'transformCell',
  'nextCellHint',
  'hasFilterRow',
  'filterRowCells',
  'filterRow',
] as const;

/** A filter of the user's own has every method that a scanner calls. Throws IllegalArgumentException. */
function checkFilter(filter: CellFilter): CellFilter {
  if (typeof filter !== 'object' || filter === null) {
    throw new IllegalArgumentException(
      `a function given as a filter must make one, not ${shown(filter)}`,
    );
  }
  for (const name of FILTER_METHODS) {
    if (typeof filter[name] === 'function') continue;
    throw new IllegalArgumentException(`a filter needs the method ${name}`);
  }
  return filter;
}

/**
 * A filter for one scanner. Throws IllegalArgumentException for a spec that HBase would refuse. With `isTrial` functions of
 * the user's own are not called.
 */
function buildFilter(spec: FilterSpec, context: FilterContext, isTrial: boolean): CellFilter {
  const meter = new Meter();
  const filter = new Builder(context, meter, isTrial).build(spec, 0);
  if (filter instanceof BaseFilter) filter.takeWork = () => meter.take();
  return filter;
}

class Builder {
  readonly #context: FilterContext;
  readonly #meter: Meter;
  readonly #isTrial: boolean;

  constructor(context: FilterContext, meter: Meter, isTrial: boolean) {
    this.#context = context;
    this.#meter = meter;
    this.#isTrial = isTrial;
  }

  // eslint-disable-next-line max-lines-per-function -- one flat switch over all filters
  build(spec: FilterSpec, depth: number): CellFilter {
    requireSpec(spec, depth);
    const { reversed } = this.#context;
    switch (spec.type) {
      case 'KeyOnlyFilter':
        return new KeyOnlyFilter(spec.lenAsVal ?? false);
      case 'FirstKeyOnlyFilter':
        return new FirstKeyOnlyFilter();
      case 'FilterAllFilter':
        return new FilterAllFilter();
      case 'FirstKeyValueMatchingQualifiersFilter':
        return new FirstKeyValueMatchingQualifiersFilter(allBytes(spec.qualifiers, 'qualifier'));
      case 'PrefixFilter':
        return new PrefixFilter(bytesOrNull(spec.prefix, 'prefix'), reversed);
      case 'PageFilter':
        return new PageFilter(Number(atLeast0(spec.pageSize, 'pageSize')));
      case 'InclusiveStopFilter':
        return new InclusiveStopFilter(ownBytes(spec.stopRow, 'stopRow'), reversed);
      case 'RowFilter':
      case 'FamilyFilter':
      case 'QualifierFilter':
      case 'ValueFilter':
        return this.#compareFilter(spec);
      case 'DependentColumnFilter':
        return this.#dependentColumn(spec);
      case 'SingleColumnValueFilter':
      case 'SingleColumnValueExcludeFilter':
        return this.#singleColumnValue(spec);
      case 'ColumnValueFilter': {
        const comparison = comparisonOf(spec.operator, spec.comparator, this.#meter);
        return new ColumnValueFilter({ ...columnOf(spec), comparison });
      }
      case 'ColumnPrefixFilter':
        return new ColumnPrefixFilter(ownBytes(spec.prefix, 'prefix'));
      case 'MultipleColumnPrefixFilter':
        return new MultipleColumnPrefixFilter(distinct(allBytes(spec.prefixes, 'prefix')));
      case 'ColumnRangeFilter':
        return new ColumnRangeFilter({
          min: bytesOrNull(spec.min, 'min'),
          minInclusive: spec.minInclusive ?? true,
          max: bytesOrNull(spec.max, 'max'),
          maxInclusive: spec.maxInclusive ?? false,
        });
      case 'ColumnPaginationFilter':
        return columnPagination(spec);
      case 'ColumnCountGetFilter':
        return new ColumnCountGetFilter(Number(atLeast0(spec.limit, 'limit')));
      case 'TimestampsFilter':
        return new TimestampsFilter(
          listOf(spec.timestamps, 'timestamps').map((ts) => toTimestamp(ts, 'timestamp')),
          spec.canHint ?? false,
        );
      case 'RandomRowFilter':
        if (typeof spec.chance !== 'number' || Number.isNaN(spec.chance)) {
          throw new IllegalArgumentException(`chance must be a number, not ${shown(spec.chance)}`);
        }
        return new RandomRowFilter(spec.chance, (below) => this.#context.random(below));
      case 'FuzzyRowFilter':
        return new FuzzyRowFilter(fuzzyPatterns(spec), reversed);
      case 'MultiRowRangeFilter':
        return new MultiRowRangeFilter(
          sortAndMerge(listOf(spec.ranges, 'ranges').map(rangeOf)),
          reversed,
        );
      case 'SkipFilter':
        return new SkipFilter(this.#within(spec.filter, depth));
      case 'WhileMatchFilter':
        return new WhileMatchFilter(this.#within(spec.filter, depth));
      case 'FilterList':
        return this.#list(spec, depth);
      case 'CustomFilter':
        return this.#custom(spec);
    }
  }

  #custom({ make }: CustomFilterSpec): CellFilter {
    if (typeof make !== 'function') {
      throw new IllegalArgumentException(
        `make of a CustomFilter must be a function, not ${shown(make)}`,
      );
    }
    return this.#isTrial ? new FilterAllFilter() : checkFilter(make(this.#context));
  }

  /** HBase does not tell a filter within another of a reversed scan. */
  #within(spec: FilterSpec, depth: number): CellFilter {
    const context = { reversed: false, random: (below: number) => this.#context.random(below) };
    return new Builder(context, this.#meter, this.#isTrial).build(spec, depth + 1);
  }

  #list(spec: FilterListSpec, depth: number): CellFilter {
    const filters = listOf(spec.filters, 'filters').map((filter) => this.build(filter, depth + 1));
    const { reversed } = this.#context;
    switch (spec.operator) {
      case 'MUST_PASS_ALL':
        return new MustPassAllFilter(filters, reversed);
      case 'MUST_PASS_ONE':
        return new MustPassOneFilter(filters, reversed);
      default:
        throw new IllegalArgumentException(
          `operator of a FilterList must be MUST_PASS_ALL or MUST_PASS_ONE, not ${shown(spec.operator)}`,
        );
    }
  }

  #compareFilter(spec: CompareFilterSpec): CellFilter {
    const comparison = comparisonOf(spec.operator, spec.comparator, this.#meter);
    switch (spec.type) {
      case 'RowFilter':
        return new RowFilter(comparison);
      case 'FamilyFilter':
        return new FamilyFilter(comparison);
      case 'QualifierFilter':
        return new QualifierFilter(comparison);
      case 'ValueFilter':
        return new ValueFilter(comparison);
    }
  }

  #dependentColumn(spec: DependentColumnFilterSpec): CellFilter {
    const { operator = 'NO_OP', comparator = null } = spec;
    const comparison = comparator === null ? null : comparisonOf(operator, comparator, this.#meter);
    return new DependentColumnFilter({
      ...columnOf(spec),
      drops: spec.dropDependentColumn ?? false,
      comparison,
    });
  }

  #singleColumnValue(spec: SingleColumnValueFilterSpec): CellFilter {
    if (spec.operator === 'NO_OP') {
      throw new IllegalArgumentException(`Unknown Compare op NO_OP in a ${spec.type}`);
    }
    const comparison = comparisonOf(spec.operator, spec.comparator, this.#meter);
    return new SingleColumnValueFilter(
      { ...columnOf(spec), comparison },
      {
        filterIfMissing: spec.filterIfMissing ?? false,
        latestVersionOnly: spec.latestVersionOnly ?? true,
        excludes: spec.type === 'SingleColumnValueExcludeFilter',
      },
    );
  }
}

function requireSpec(spec: FilterSpec, depth: number): void {
  if (depth > DEPTH_MAX) {
    throw new IllegalArgumentException(`filters are nested deeper than ${DEPTH_MAX}`);
  }
  const type: unknown = typeof spec === 'object' && spec !== null ? spec.type : undefined;
  if (typeof type === 'string' && TYPES.has(type)) return;
  const hint = typeof type === 'string' ? closest(type, TYPES) : null;
  throw new IllegalArgumentException(
    `Unknown filter ${shown(type)}${hint === null ? '' : ` (did you mean '${hint}'?)`}`,
  );
}

function columnOf(spec: { family: Bytes; qualifier: Bytes }): {
  family: Uint8Array;
  qualifier: Uint8Array;
} {
  return {
    family: ownBytes(spec.family, 'family'),
    qualifier: ownBytes(spec.qualifier, 'qualifier'),
  };
}

function bytesOrNull(value: Bytes | null | undefined, what: string): Uint8Array | null {
  return value === null || value === undefined ? null : ownBytes(value, what);
}

function allBytes(values: readonly Bytes[], what: string): Uint8Array[] {
  return listOf(values, `${what}s`).map((value) => ownBytes(value, what));
}

function listOf<T>(values: readonly T[], what: string): readonly T[] {
  if (Array.isArray(values)) return values as readonly T[];
  throw new IllegalArgumentException(`${what} must be an array, not ${shown(values)}`);
}

function distinct(prefixes: Uint8Array[]): Uint8Array[] {
  const sorted = prefixes.sort(compareBytes);
  sorted.forEach((prefix, index) => {
    if (index > 0 && equalBytes(prefix, sorted[index - 1]!)) {
      throw new IllegalArgumentException(
        `prefixes must be distinct: ${toStringBinary(prefix)} comes twice`,
      );
    }
  });
  return sorted;
}

function atLeast0(value: number | bigint, what: string): number | bigint {
  if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) {
    throw new IllegalArgumentException(`${what} must be an integer, not ${shown(value)}`);
  }
  if (value < 0) throw new IllegalArgumentException(`${what} must be positive: ${value}`);
  return value;
}

function columnPagination(spec: ColumnPaginationFilterSpec): CellFilter {
  const limit = Number(atLeast0(spec.limit, 'limit'));
  const columnOffset = bytesOrNull(spec.columnOffset, 'columnOffset');
  if (columnOffset === null) {
    return new ColumnPaginationFilter(limit, Number(atLeast0(spec.offset ?? 0, 'offset')));
  }
  if (spec.offset !== undefined) {
    throw new IllegalArgumentException('offset and columnOffset exclude each other');
  }
  return new ColumnOffsetPaginationFilter(limit, columnOffset);
}

function rangeOf(range: RowRangeSpec): {
  start: Uint8Array;
  startInclusive: boolean;
  stop: Uint8Array;
  stopInclusive: boolean;
} {
  requireObject(range, 'a range of a MultiRowRangeFilter');
  return {
    start: bytesOrNull(range.start, 'start') ?? new Uint8Array(0),
    startInclusive: range.startInclusive ?? true,
    stop: bytesOrNull(range.stop, 'stop') ?? new Uint8Array(0),
    stopInclusive: range.stopInclusive ?? false,
  };
}

const MASK_FIXED = 0xff;
const MASK_ANY = [MASK_FIXED, 0, 2]; // By version.

function fuzzyPatterns(spec: FuzzyRowFilterSpec): FuzzyPattern[] {
  const anyByte = MASK_ANY[spec.maskVersion ?? 2];
  if (anyByte === undefined || anyByte === MASK_FIXED) {
    throw new IllegalArgumentException(
      `maskVersion must be 1 or 2, not ${shown(spec.maskVersion)}`,
    );
  }
  if (!Array.isArray(spec.keys) || spec.keys.length === 0) {
    throw new IllegalArgumentException('a FuzzyRowFilter needs at least one key');
  }
  return (spec.keys as readonly FuzzyKey[]).map((key) => fuzzyPattern(key, anyByte));
}

/** A mask in the wire's coding has nothing but its two bytes; else 0 is fixed and 1 any. HBase: preprocessMask. */
function fuzzyPattern(key: FuzzyKey, anyByte: number): FuzzyPattern {
  requireObject(key, 'a key of a FuzzyRowFilter');
  const bytes = ownBytes(key.pattern, 'pattern');
  if (!Array.isArray(key.mask) && !(key.mask instanceof Uint8Array)) {
    throw new IllegalArgumentException(`mask must be bytes or an array, not ${shown(key.mask)}`);
  }
  const mask: number[] = Array.from(key.mask as ArrayLike<number>);
  const wrong = mask.find((byte) => typeof byte !== 'number');
  if (wrong !== undefined) {
    throw new IllegalArgumentException(`a fuzzy mask has numbers only, not ${shown(wrong)}`);
  }
  if (mask.length !== bytes.length) {
    throw new IllegalArgumentException(
      `Fuzzy pair lengths do not match: (${toStringBinary(bytes)},${toStringBinary(Uint8Array.from(mask))})`,
    );
  }
  const isCoded = mask.every((byte) => byte === MASK_FIXED || byte === anyByte);
  const isFixed = Uint8Array.from(mask, (byte) => {
    if (isCoded) return byte === MASK_FIXED ? 1 : 0;
    if (byte !== 0 && byte !== 1) {
      throw new IllegalArgumentException(`a fuzzy mask has 0 and 1 only, not ${shown(byte)}`);
    }
    return byte === 0 ? 1 : 0;
  });
  return { bytes, isFixed };
}
