/** docs/filters.md is what the code says. REWRITE=1 writes it anew. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { FILTER_TYPES, filtersPage } from '../../src/filter/index.ts';

const PAGE = path.resolve(import.meta.dirname, '../../docs/filters.md');

test('docs/filters.md is current', () => {
  if (process.env['REWRITE'] === '1') writeFileSync(PAGE, filtersPage());
  expect(readFileSync(PAGE, 'utf8')).toBe(filtersPage());
});

test('every filter is on it', () => {
  for (const type of FILTER_TYPES) expect(filtersPage()).toContain(`| ${type} |`);
});
