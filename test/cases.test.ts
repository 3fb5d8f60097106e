/** Cases with Apache HBase's answers (test/diff/README.md), run on Cellar alone. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { replay } from './diff/case_file.ts';
import type { CaseFile } from './diff/case_file.ts';

const FOLDER = path.join(import.meta.dirname, 'cases');
const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));

describe('cases with the answers of Apache HBase', () => {
  test('there are some', () => {
    expect(names.length).toBeGreaterThan(0);
  });

  test.each(names)('%s', async (name) => {
    const file = JSON.parse(readFileSync(path.join(FOLDER, name), 'utf8')) as CaseFile;
    expect(await replay(file)).toEqual([]);
  });
});
