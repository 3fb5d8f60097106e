/** What is no filter is refused by a typed error that says what is wrong, whatever a caller without types passes. */
import { expect, test } from 'vitest';
import { filterMaker } from '../../src/filter/index.ts';
import { IllegalArgumentException } from '../../src/model/index.ts';
import type { FilterInput } from '../../src/model/index.ts';

const CONTEXT = { reversed: false, random: (): number => 0 };
const bare = Object.create(null) as object;

const malformed: readonly (readonly [string, unknown, string])[] = [
  ['a list without filters', { type: 'FilterList', operator: 'MUST_PASS_ALL' }, 'filters must be'],
  [
    'a list of nothing',
    { type: 'FilterList', operator: 'MUST_PASS_ONE', filters: [null] },
    'filter',
  ],
  ['a list without operator', { type: 'FilterList', filters: [] }, 'operator of a FilterList'],
  [
    'an operator that is a symbol',
    { type: 'FilterList', operator: Symbol('x'), filters: [] },
    'symbol',
  ],
  ['ranges missing', { type: 'MultiRowRangeFilter' }, 'ranges must be an array'],
  ['a range that is none', { type: 'MultiRowRangeFilter', ranges: [null] }, 'a range'],
  ['fuzzy keys missing', { type: 'FuzzyRowFilter' }, 'at least one key'],
  ['a fuzzy key that is none', { type: 'FuzzyRowFilter', keys: [null] }, 'a key'],
  ['a fuzzy key without mask', { type: 'FuzzyRowFilter', keys: [{ pattern: 'a' }] }, 'mask'],
  [
    'a mask of symbols',
    { type: 'FuzzyRowFilter', keys: [{ pattern: 'ab', mask: [Symbol('m')] }] },
    'symbol',
  ],
  ['timestamps missing', { type: 'TimestampsFilter' }, 'timestamps must be an array'],
  [
    'a timestamp that is a symbol',
    { type: 'TimestampsFilter', timestamps: [Symbol('t')] },
    'symbol',
  ],
  ['a bare object', bare, 'Unknown filter'],
  ['a bare type', { type: bare }, 'Unknown filter'],
  ['a bare prefix', { type: 'PrefixFilter', prefix: bare }, 'prefix'],
  ['a bare operator', { type: 'RowFilter', operator: bare, comparator: null }, 'object'],
  [
    'a bare comparator',
    { type: 'RowFilter', operator: 'EQUAL', comparator: bare },
    'Unknown comparator',
  ],
  ['a page size that is a symbol', { type: 'PageFilter', pageSize: Symbol('p') }, 'symbol'],
  ['a wrapper around nothing', { type: 'SkipFilter' }, 'Unknown filter'],
  ['a filter without methods', { filterCell: () => 0 }, 'needs the method'],
  ['a function that makes none', () => 1, 'must make one'],
  ['a function that makes nothing', () => undefined, 'must make one'],
  ['a custom filter without make', { type: 'CustomFilter' }, 'make of a CustomFilter'],
  ['a number', 5, 'must be a filter'],
  ['nothing', null, 'must be a filter'],
];

test.each(malformed)('%s', (_name, input, text) => {
  const make = (): unknown => filterMaker(input as FilterInput)(CONTEXT);
  expect(make).toThrow(IllegalArgumentException);
  expect(make).toThrow(text);
});
