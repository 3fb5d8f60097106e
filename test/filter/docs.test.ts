/** docs/filters.md is what the code says. REWRITE=1 writes it anew. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { FILTER_TYPES, filtersPage, parseFilter } from '../../src/filter/index.ts';
import { languageExamples } from '../../src/filter/language_catalog.ts';
import { LANGUAGE_FILTERS } from '../../src/filter/language_filters.ts';

const PAGE = path.resolve(import.meta.dirname, '../../docs/filters.md');

test('docs/filters.md is current', () => {
  if (process.env['REWRITE'] === '1') writeFileSync(PAGE, filtersPage());
  expect(readFileSync(PAGE, 'utf8')).toBe(filtersPage());
});

test('every filter is on it', () => {
  for (const type of FILTER_TYPES) expect(filtersPage()).toContain(`| ${type} |`);
});

test('the examples of the language are of every filter it knows, and parse', () => {
  const examples = languageExamples();
  expect([...examples.keys()].sort()).toEqual([...LANGUAGE_FILTERS].sort());
  for (const [type, example] of examples) expect(parseFilter(example)).toMatchObject({ type });
  const together = /--filter "(.*)"/.exec(filtersPage())![1]!;
  expect(() => parseFilter(together)).not.toThrow();
});
