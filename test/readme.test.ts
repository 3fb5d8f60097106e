/** The README's first lines and the examples of docs/api.md do what they say. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import * as cellar from '../src/index.ts';

type AsyncFunction = (...values: unknown[]) => Promise<void>;
const asyncFunction = Object.getPrototypeOf(async () => undefined) as {
  constructor: new (...texts: string[]) => AsyncFunction;
};

const ROOT = path.resolve(import.meta.dirname, '..');
const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');
const api = readFileSync(path.join(ROOT, 'docs/api.md'), 'utf8');

/** The blocks of JavaScript of a page, as one program without its import, and what its comments say that it prints. */
function programOf(page: string): { code: string; wanted: string[] } {
  const lines = [...page.matchAll(/```js\n([\s\S]*?)```/g)].flatMap((match) =>
    match[1]!.split('\n'),
  );
  expect(lines[0]).toMatch(/^import \{ .* \} from 'cellardb';$/);
  const wanted = lines.flatMap((line) => /console\.log\(.*\); \/\/ (.*)$/.exec(line)?.[1] ?? []);
  return { code: lines.slice(1).join('\n'), wanted };
}

/** Runs a program in this folder; answers what it prints. */
async function run(code: string, folder: string): Promise<string[]> {
  const printed: string[] = [];
  const log = (...values: unknown[]): void => {
    const text = values.map((v) => (typeof v === 'string' ? v : inspect(v))).join(' ');
    printed.push(text.replaceAll(/\s+/g, ' '));
  };
  const names = {
    ...cellar,
    console: { log },
    open: (name?: string, options?: cellar.OpenOptions): Promise<cellar.Connection> =>
      cellar.open(name === undefined ? undefined : path.join(folder, name), options),
  };
  await new asyncFunction.constructor(...Object.keys(names), code)(...Object.values(names));
  return printed;
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'cellar-readme-'));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('the first example prints what its comments say, and runs a second time', async () => {
  const { code, wanted } = programOf(readme);
  expect(wanted.length).toBeGreaterThan(1);
  await inFolder(async (folder) => {
    expect(await run(code, folder)).toEqual(wanted);
    const again = await run(code, folder);
    expect(again).toHaveLength(wanted.length);
    expect(again[0]).toMatch(/^Bergen 2n /);
  });
});

test('the examples of the API print what their comments say', async () => {
  const { code, wanted } = programOf(api);
  expect(wanted.length).toBeGreaterThan(20);
  await inFolder(async (folder) => {
    expect(await run(code, folder)).toEqual(wanted);
  });
});

test('every option of open is on the page of the API', () => {
  const options = readFileSync(path.join(ROOT, 'src/engine/options.ts'), 'utf8');
  const names = [...options.matchAll(/^ {2}readonly (\w+)\?:/gm)].map((match) => match[1]!);
  expect(names.length).toBeGreaterThan(15);
  for (const name of names) expect(api).toContain(`| \`${name}\` |`);
});

test.each([
  { page: 'README.md', text: readme },
  { page: 'docs/api.md', text: api },
])('the links of $page lead somewhere', ({ page, text }) => {
  const targets = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map((m) => m[1]!);
  expect(targets.length).toBeGreaterThan(0);
  for (const target of targets) {
    expect(existsSync(path.join(ROOT, path.dirname(page), target)), target).toBe(true);
  }
});
