/** docs/cases.md names a test for every case of the three lists, and every test that it names is there. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '..');
/** The numbers of the reports; the list has gaps. */
const REPORTS: readonly number[] = [
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 27, 28, 31,
  32, 33, 34, 35, 36, 37, 38, 40, 41, 42, 43, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57,
  58, 59, 60, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 76, 77, 78, 79, 80, 82, 83, 84,
  85, 86, 87, 89, 90, 91, 92,
];

interface Row {
  readonly cases: string;
  readonly file: string;
  readonly name: string;
}

const rows: readonly Row[] = readFileSync(path.join(ROOT, 'docs/cases.md'), 'utf8')
  .split('\n')
  .map((line) => /^\| (.+?) \| (test\/\S+) \| (.+) \|$/.exec(line))
  .filter((match) => match !== null)
  .map(([, cases, file, name]) => ({ cases: cases!, file: file!, name: name! }));

const linesOf = (file: string): number =>
  readFileSync(path.join(ROOT, file), 'utf8').trimEnd().split('\n').length;

/** The numbers of one list that the document has: `semantics 1-8` counts as eight. */
function numbered(list: string): Set<number> {
  const found = new Set<number>();
  for (const { cases } of rows) {
    const match = new RegExp(`^${list}(\\d+)(?:-(\\d+))?$`).exec(cases);
    if (match === null) continue;
    const from = Number(match[1]);
    for (let at = from; at <= Number(match[2] ?? from); at++) found.add(at);
  }
  return found;
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

test('no case is missing, and none is made up', () => {
  const sorted = (list: string): number[] => [...numbered(list)].sort((a, b) => a - b);
  expect(sorted('')).toEqual(REPORTS);
  expect(sorted('semantics ')).toEqual(upTo(linesOf('test/engine/testdata/semantics_cases.txt')));
  expect(sorted('filters ')).toEqual(upTo(linesOf('test/filter/testdata/outcomes')));
});

test('every test that is named is there', () => {
  expect(rows.length).toBeGreaterThan(100);
  const missing = rows.filter(({ file, name }) => {
    const full = path.join(ROOT, file);
    if (!existsSync(full)) return true;
    // Others than test files are named as a whole; so are tests that are made from each line of a file.
    if (!file.endsWith('.test.ts') || name === 'each line by name') return false;
    return !readFileSync(full, 'utf8').includes(name);
  });
  expect(missing).toEqual([]);
});
