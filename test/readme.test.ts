/** The README's first lines do what they say. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import * as cellar from '../src/index.ts';

type AsyncFunction = (...values: unknown[]) => Promise<void>;
const asyncFunction = Object.getPrototypeOf(async () => undefined) as {
  constructor: new (...texts: string[]) => AsyncFunction;
};

const readme = readFileSync(path.resolve(import.meta.dirname, '../README.md'), 'utf8');

test('the first example runs and prints what its comments say', async () => {
  const code = /```js\n([\s\S]*?)```/.exec(readme)![1]!;
  const [first, ...rest] = code.split('\n');
  expect(first).toBe("import { open } from 'cellardb';");
  const wanted = rest.flatMap((line) => /console\.log\(.*\); \/\/ (.*)$/.exec(line)?.[1] ?? []);
  const printed: string[] = [];
  const log = (...values: unknown[]): void => {
    printed.push(values.map((v) => (typeof v === 'string' ? v : inspect(v))).join(' '));
  };
  const folder = mkdtempSync(path.join(tmpdir(), 'cellar-readme-'));
  try {
    const open = (name: string): Promise<cellar.Connection> => cellar.open(path.join(folder, name));
    await new asyncFunction.constructor('open', 'console', rest.join('\n'))(open, { log });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  expect(printed).toEqual(wanted);
  expect(printed.length).toBeGreaterThan(1);
});

test('its links lead somewhere', () => {
  const targets = [...readme.matchAll(/\]\((?!https?:)([^)#]+)/g)].map((m) => m[1]!);
  expect(targets.length).toBeGreaterThan(3);
  for (const target of targets) {
    expect(() => readFileSync(path.resolve(import.meta.dirname, '..', target))).not.toThrow();
  }
});
