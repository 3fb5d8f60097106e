/** Programs that start from compiled code: it is used when it fits, and whatever is wrong with it harms nobody. */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  PROGRAM_HEAD,
  PROGRAM_TAIL,
  codePath,
  runCompiled,
} from '../../src/io/compiled_program.ts';
import type { CompiledProgram } from '../../src/io/compiled_program.ts';

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'cellar-compiled-'));
  file = path.join(dir, 'program.cjs');
});
afterEach(() => rmSync(dir, { recursive: true }));

const asProgram = (id: string, module: string): string =>
  `/*${id}*/${PROGRAM_HEAD}${module}${PROGRAM_TAIL}`;

const program = (id: string, answer: number): string =>
  asProgram(
    id,
    `exports.answer = () => ${answer}; exports.dirname = __dirname; exports.join = require('node:path').join;`,
  );

interface Exports {
  readonly answer: () => number;
  readonly dirname: string;
  readonly join: (...parts: string[]) => string;
}

function run(): CompiledProgram & { readonly exports: Exports } {
  const started = runCompiled(file);
  expect(started).not.toBeNull();
  return started as CompiledProgram & { readonly exports: Exports };
}

/** Runs the program and has it leave its code. */
function keep(worth = 1): void {
  const started = run();
  started.exports.answer();
  started.keepCode(worth);
}

test('the second run starts from the code of the first', () => {
  writeFileSync(file, program('0123456789ab', 42));
  const first = run();
  expect(first.isFromCode).toBe(false);
  expect(first.exports.answer()).toBe(42);
  expect(first.exports.dirname).toBe(dir);
  expect(first.exports.join('a', 'b')).toBe(path.join('a', 'b'));
  first.keepCode(1);
  expect(readdirSync(dir).sort()).toEqual(['program.cjs', path.basename(codePath(file))]);
  const second = run();
  expect(second.isFromCode).toBe(true);
  expect(second.exports.answer()).toBe(42);
});

test('modules are imported from where the program lies, with compiled code and without', async () => {
  writeFileSync(path.join(dir, 'beside.mjs'), 'export const beside = 7;');
  const text = asProgram(
    '0123456789ab',
    "exports.load = () => __import('./beside.mjs'); exports.fs = __import('node:fs');",
  );
  writeFileSync(file, text);
  for (const isFromCode of [false, true]) {
    const started = runCompiled(file)!;
    expect(started.isFromCode).toBe(isFromCode);
    const exports = started.exports as { load(): Promise<unknown>; fs: Promise<unknown> };
    expect(await exports.load()).toMatchObject({ beside: 7 });
    expect(await exports.fs).toHaveProperty('readFileSync');
    started.keepCode(1);
  }
});

test('another build of the same length does not run as the old one', () => {
  writeFileSync(file, program('0123456789ab', 42));
  keep();
  writeFileSync(file, program('ba9876543210', 43));
  const other = run();
  expect(other.isFromCode).toBe(false);
  expect(other.exports.answer()).toBe(43);
  other.keepCode(1);
  expect(run().isFromCode).toBe(true);
});

test('code is replaced by what is worth more only', () => {
  writeFileSync(file, program('0123456789ab', 42));
  keep(1);
  const short = readFileSync(codePath(file));
  const again = run();
  again.keepCode(1);
  expect(readFileSync(codePath(file))).toEqual(short);
  again.keepCode(2);
  expect(readFileSync(codePath(file)).readUInt32BE(4)).toBe(2);
  run().keepCode(1);
  expect(readFileSync(codePath(file)).readUInt32BE(4)).toBe(2);
});

test.each([
  { name: 'the mark', at: 0 },
  { name: 'the id', at: 8 },
  { name: 'the sum', at: 24 },
  { name: 'the first byte of the code', at: 56 },
  { name: 'the last byte of the code', at: -1 },
])('damage in $name: the program runs, and leaves sound code', ({ at }) => {
  writeFileSync(file, program('0123456789ab', 42));
  keep();
  const code = readFileSync(codePath(file));
  code[at < 0 ? code.length + at : at]! ^= 1;
  writeFileSync(codePath(file), code);
  const started = run();
  expect(started.isFromCode).toBe(false);
  expect(started.exports.answer()).toBe(42);
  started.keepCode(1);
  expect(run().isFromCode).toBe(true);
});

test('code that ends early is not used, wherever it ends', () => {
  writeFileSync(file, program('0123456789ab', 42));
  keep();
  const code = readFileSync(codePath(file));
  for (let size = 0; size < code.length; size += size < 60 ? 1 : 23) {
    writeFileSync(codePath(file), code.subarray(0, size));
    expect(run().isFromCode).toBe(false);
  }
});

test('where code can be neither read nor written the program runs all the same', () => {
  writeFileSync(file, program('0123456789ab', 42));
  mkdirSync(path.join(codePath(file), 'in the way'), { recursive: true });
  const started = run();
  expect(started.isFromCode).toBe(false);
  expect(started.exports.answer()).toBe(42);
  started.keepCode(1);
  expect(readdirSync(dir)).toHaveLength(2);
});

test('no program is null, and what a program throws is thrown', () => {
  expect(runCompiled(file)).toBeNull();
  writeFileSync(file, "/*0123456789ab*/throw new RangeError('as it likes');");
  expect(() => runCompiled(file)).toThrow(RangeError);
});
