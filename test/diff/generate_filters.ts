/** Random filters of every kind, over the rows, columns, values and times of a case. */
import type { SeededRandom } from '../../src/io/index.ts';
import { partsOf } from './filters.ts';
import type { FilterJson } from './filters.ts';

export interface FilterWords {
  readonly random: SeededRandom;
  readonly rows: readonly string[];
  readonly families: readonly string[];
  readonly qualifiers: readonly string[];
  readonly times: readonly number[];
  /** Values that may be stored. */
  readonly values: readonly string[];
  /** All values are 8 bytes. */
  readonly isNumeric: boolean;
  /** The length of the shortest row: HBase reads behind the end of those shorter than a prefix. */
  readonly prefixLengthMax: number;
}

const OPERATORS = ['LESS', 'LESS_OR_EQUAL', 'EQUAL', 'NOT_EQUAL', 'GREATER_OR_EQUAL', 'GREATER'];
const LEAVES = [
  'KeyOnlyFilter',
  'FirstKeyOnlyFilter',
  'FirstKeyValueMatchingQualifiersFilter',
  'PrefixFilter',
  'PageFilter',
  'InclusiveStopFilter',
  'RowFilter',
  'RowFilter',
  'FamilyFilter',
  'QualifierFilter',
  'QualifierFilter',
  'ValueFilter',
  'ValueFilter',
  'DependentColumnFilter',
  'SingleColumnValueFilter',
  'SingleColumnValueFilter',
  'SingleColumnValueExcludeFilter',
  'ColumnValueFilter',
  'ColumnPrefixFilter',
  'MultipleColumnPrefixFilter',
  'ColumnRangeFilter',
  'ColumnRangeFilter',
  'ColumnPaginationFilter',
  'ColumnCountGetFilter',
  'TimestampsFilter',
  'RandomRowFilter',
  'FuzzyRowFilter',
  'MultiRowRangeFilter',
] as const;
/** HBase's wrappers do not ask them about the row, and they have nothing to say about cells then. */
const ROW_STATE = ['MultiRowRangeFilter'];
type Leaf = (typeof LEAVES)[number];
const DEPTH_MAX = 3;

type Members = Record<string, unknown>;

export class FilterGenerator {
  readonly #words: FilterWords;
  readonly #random: SeededRandom;

  constructor(words: FilterWords) {
    this.#words = words;
    this.#random = words.random;
  }

  filter(depth: number = 0): FilterJson {
    const random = this.#random;
    const isNode = depth < DEPTH_MAX && random.chance(depth === 0 ? 0.45 : 0.25);
    if (!isNode) return this.#leaf(this.#pick(LEAVES));
    const kind = random.int(10);
    if (kind < 2) {
      const type = kind === 0 ? 'SkipFilter' : 'WhileMatchFilter';
      return { type, filter: this.filterWithout(ROW_STATE, depth + 1) };
    }
    const operator = random.chance(0.5) ? 'MUST_PASS_ALL' : 'MUST_PASS_ONE';
    const count = random.chance(0.05) ? 0 : 1 + random.int(3);
    const filters = Array.from({ length: count }, () =>
      this.filterWithout(['FuzzyRowFilter'], depth + 1),
    );
    return { type: 'FilterList', operator, filters };
  }

  /** A filter without these kinds and comparators in it. */
  filterWithout(kinds: readonly string[], depth: number = 0): FilterJson {
    for (;;) {
      const filter = this.filter(depth);
      if (!partsOf(filter).some((part) => kinds.includes(part))) return filter;
    }
  }

  #pick<T>(of: readonly T[]): T {
    return of[this.#random.int(of.length)]!;
  }

  #leaf(type: Leaf): FilterJson {
    const random = this.#random;
    switch (type) {
      case 'KeyOnlyFilter':
        return random.chance(0.5) ? { type } : { type, lenAsVal: true };
      case 'FirstKeyOnlyFilter':
        return { type };
      case 'FirstKeyValueMatchingQualifiersFilter':
        return { type, qualifiers: this.#distinct(() => this.#qualifier()) };
      case 'PrefixFilter':
        return { type, prefix: this.#row().slice(0, this.#words.prefixLengthMax) };
      case 'PageFilter':
        return { type, pageSize: random.int(3) };
      case 'InclusiveStopFilter':
        return { type, stopRow: this.#row() };
      case 'RowFilter':
        return { type, ...this.#comparison(() => this.#row()) };
      case 'FamilyFilter':
        return { type, ...this.#comparison(() => this.#pick(this.#words.families), true) };
      case 'QualifierFilter':
        return { type, ...this.#comparison(() => this.#qualifier()) };
      case 'ValueFilter':
        return { type, ...this.#valueComparison() };
      case 'DependentColumnFilter':
        return {
          type,
          ...this.#column(),
          ...(random.chance(0.5) ? { dropDependentColumn: true } : {}),
          ...(random.chance(0.5) ? this.#valueComparison() : {}),
        };
      case 'SingleColumnValueFilter':
      case 'SingleColumnValueExcludeFilter':
        return {
          type,
          ...this.#column(),
          ...this.#valueComparison(),
          ...(random.chance(0.5) ? { filterIfMissing: true } : {}),
          ...(random.chance(0.3) ? { latestVersionOnly: false } : {}),
        };
      case 'ColumnValueFilter':
        return { type, ...this.#column(), ...this.#valueComparison() };
      case 'ColumnPrefixFilter':
        return { type, prefix: this.#cut(this.#qualifier()) };
      case 'MultipleColumnPrefixFilter':
        return { type, prefixes: this.#distinct(() => this.#cut(this.#qualifier())) };
      case 'ColumnRangeFilter':
        return {
          type,
          ...(random.chance(0.8) ? { min: this.#qualifier() } : {}),
          ...(random.chance(0.8) ? { max: this.#qualifier() } : {}),
          minInclusive: random.chance(0.5),
          maxInclusive: random.chance(0.5),
        };
      case 'ColumnPaginationFilter':
        return random.chance(0.3)
          ? { type, limit: 1 + random.int(3), columnOffset: this.#qualifier() }
          : { type, limit: random.int(4), offset: random.int(3) };
      case 'ColumnCountGetFilter':
        return { type, limit: random.int(4) };
      case 'TimestampsFilter':
        return { type, timestamps: this.#distinct(() => this.#pick(this.#words.times)) };
      case 'RandomRowFilter':
        return { type, chance: random.chance(0.5) ? 2 : -1 };
      case 'FuzzyRowFilter':
        return { type, keys: this.#distinct(() => this.#row()).map((row) => this.#fuzzy(row)) };
      case 'MultiRowRangeFilter':
        return { type, ranges: this.#ranges() };
    }
  }

  #row(): string {
    return this.#pick(this.#words.rows);
  }

  #qualifier(): string {
    return this.#pick(this.#words.qualifiers);
  }

  #column(): { family: string; qualifier: string } {
    return { family: this.#pick(this.#words.families), qualifier: this.#qualifier() };
  }

  /** A text, or a prefix of it. */
  #cut(text: string): string {
    return this.#random.chance(0.3) ? text.slice(0, this.#random.int(text.length + 1)) : text;
  }

  #distinct<T>(make: () => T): T[] {
    const made = new Set<T>();
    for (let count = 1 + this.#random.int(3); count > 0; count--) made.add(make());
    return [...made];
  }

  #fuzzy(row: string): Members {
    return { pattern: row, mask: Array.from(row, () => (this.#random.chance(0.4) ? 1 : 0)) };
  }

  /** HBase refuses a range whose start lies behind its stop. */
  #ranges(): Members[] {
    return Array.from({ length: 1 + this.#random.int(2) }, () => {
      const [start, stop] = [this.#row(), this.#row()].sort() as [string, string];
      return {
        ...(this.#random.chance(0.8) ? { start } : {}),
        ...(this.#random.chance(0.8) ? { stop } : {}),
        // An empty range is refused.
        startInclusive: true,
        stopInclusive: start === stop || this.#random.chance(0.5),
      };
    });
  }

  /** `isWhole`: words are as long as what they are compared with, where HBase looks behind the end of shorter ones. */
  #comparison(word: () => string, isWhole = false): Members {
    const random = this.#random;
    const operator = this.#pick(OPERATORS);
    const equality = random.chance(0.6) ? 'EQUAL' : 'NOT_EQUAL';
    switch (random.int(9)) {
      case 0:
        return {
          operator,
          comparator: { type: 'BinaryPrefixComparator', value: this.#cut(word()) },
        };
      case 1: {
        const value = isWhole ? word() : '';
        const comparator = { type: 'BinaryComponentComparator', value, offset: 0 };
        return { operator, comparator };
      }
      case 2:
        return {
          operator: equality,
          comparator: { type: 'RegexStringComparator', pattern: this.#pattern() },
        };
      case 3:
        return {
          operator: equality,
          comparator: { type: 'SubstringComparator', value: this.#pick(['a', 'B', 'v1', '', 'x']) },
        };
      case 4:
        return {
          operator: equality,
          comparator: {
            type: 'BitComparator',
            value: word(),
            bitOperator: this.#pick(['AND', 'OR', 'XOR']),
          },
        };
      case 5:
        return random.chance(0.7)
          ? { operator, comparator: { type: 'BinaryComparator', value: word() } }
          : { operator: equality, comparator: { type: 'NullComparator' } };
      default:
        return { operator, comparator: { type: 'BinaryComparator', value: word() } };
    }
  }

  #pattern(): string {
    return this.#pick([
      'a',
      '^a',
      'b$',
      '[ab]',
      'v\\d',
      'v[1-3]$',
      '.',
      '^$',
      'A|b',
      'x|y',
      '(a|b)b*',
    ]);
  }

  #valueComparison(): Members {
    if (this.#words.isNumeric && this.#random.chance(0.6)) {
      const operator = this.#pick(OPERATORS);
      return this.#random.chance(0.6)
        ? { operator, comparator: { type: 'LongComparator', value: this.#pick(['5', '0', '-1']) } }
        : {
            operator,
            comparator: { type: 'BigDecimalComparator', value: this.#pick(['5', '0', '-10']) },
          };
    }
    return this.#comparison(() => this.#pick(this.#words.values));
  }
}
