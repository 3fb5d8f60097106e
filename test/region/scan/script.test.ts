/**
 * Runs the scripts of testdata: commands, `----`, what they print. REWRITE=1 rewrites the answers. A block's last command
 * may read; each read is also made from sources that wait at random, and from small batches, and must not differ.
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { fromStringBinary } from '../../../src/cell/index.ts';
import { normalizeScan } from '../../../src/model/index.ts';
import type { ScanOptions, TimeRange } from '../../../src/model/index.ts';
import type { CompactionKind } from '../../../src/region/scan/index.ts';
import { TYPES, TestStore, compareTestCells, runScan, seeded } from './support.ts';
import type { TestCell } from './support.ts';

const FOLDER = path.join(import.meta.dirname, 'testdata');
const MARKERS: Readonly<Record<string, number>> = {
  put: TYPES.Put,
  'delete-version': TYPES.Delete,
  'delete-column': TYPES.DeleteColumn,
  'delete-family': TYPES.DeleteFamily,
  'delete-family-version': TYPES.DeleteFamilyVersion,
};

interface Command {
  readonly name: string;
  readonly words: readonly string[];
  readonly options: ReadonlyMap<string, string>;
}

function parse(line: string): Command {
  const [name = '', ...rest] = line.trim().split(/\s+/);
  const isOption = (word: string): boolean => /^[A-Za-z_:]+=/.test(word);
  const options = rest.filter(isOption).map((word): [string, string] => {
    const at = word.indexOf('=');
    return [word.slice(0, at), word.slice(at + 1)];
  });
  return { name, words: rest.filter((word) => !isOption(word)), options: new Map(options) };
}

/** `[min,max)` as in the commands: `5..8`. */
function range(text: string): TimeRange {
  const [min, max] = text.split('..');
  return { min: Number(min), max: Number(max) };
}

class Script {
  #stores: TestStore[] = [];
  #write = 0;
  #nowMs = 1_000_000;
  #readPoint = 2 ** 52;

  async run(line: string): Promise<string[]> {
    const command = parse(line);
    const { name, words, options } = command;
    switch (name) {
      case 'families':
        this.#stores = [];
        this.#write = 0;
        return [];
      case 'family':
        this.#stores.push(new TestStore({ name: words[0]!, ...Object.fromEntries(options) }));
        this.#stores.sort((a, b) => (a.settings.name < b.settings.name ? -1 : 1));
        return [];
      case 'now':
        this.#nowMs = Number(words[0]);
        return [];
      case 'read-point':
        this.#readPoint = words[0] === 'latest' ? 2 ** 52 : Number(words[0]);
        return [];
      case 'flush':
      case 'minor':
      case 'major':
        return this.#compact(name, command);
      case 'scan':
        return this.#scan(command);
      default:
        this.#change(command);
        return [];
    }
  }

  #change({ name, words, options }: Command): void {
    const type = MARKERS[name];
    if (type === undefined) throw new Error(`no command ${name}`);
    const [row, column = ''] = words;
    const [family, qualifier = ''] = column.split(':');
    const store = this.#stores.find((candidate) => candidate.settings.name === family);
    const ttl = options.get('ttl');
    const cell: TestCell = {
      row: Buffer.from(fromStringBinary(row!)).toString('latin1'),
      qualifier,
      ts: Number(options.get('ts')),
      type,
      value: options.get('value') ?? '',
      write: options.has('same') ? this.#write : ++this.#write,
      ...(ttl === undefined ? {} : { ttl: Number(ttl) }),
    };
    const memory = store!.layers[0]!;
    // Equal full keys within one commit: the later replaces the earlier.
    const equal = memory.findIndex((other) => compareTestCells(other, cell) === 0);
    if (equal >= 0) memory.splice(equal, 1);
    memory.push(cell);
  }

  /** A flush takes the first layer, the others all of them. Prints what was dropped. */
  #compact(kind: CompactionKind, { options }: Command): string[] {
    const dropped: string[] = [];
    for (const store of this.#stores) {
      const files = kind === 'flush' ? store.layers.slice(1) : [];
      if (kind === 'flush') store.layers = store.layers.slice(0, 1);
      const smallest = Number(options.get('smallest') ?? 2 ** 52);
      const cells = store.compact({
        kind,
        readHigh: Math.floor(smallest / 2 ** 32),
        readLow: smallest % 2 ** 32,
        nowMs: this.#nowMs,
        purgeDeletesAfterMs: Number(options.get('purge') ?? 0),
      });
      store.layers.push(...files);
      const names = Object.entries(TYPES);
      for (const cell of cells) {
        const type = names.find(([, code]) => code === cell.type)![0];
        dropped.push(
          `${cell.row}/${store.settings.name}:${cell.qualifier}@${cell.ts}/${type}=${cell.value}`,
        );
      }
    }
    return dropped.length === 0 ? [] : [`dropped ${dropped.join(' ')}`];
  }

  async #scan({ words, options }: Command): Promise<string[]> {
    const given = (name: string): string | undefined => options.get(name);
    const number = (name: string): object =>
      given(name) === undefined ? {} : { [name]: Number(given(name)) };
    const text = (name: string): object =>
      given(name) === undefined ? {} : { [name]: fromStringBinary(given(name)!) };
    const ranges = ['f', 'g']
      .filter((family) => options.has(`range:${family}`))
      .map((family) => [family, range(given(`range:${family}`)!)]);
    const scan: ScanOptions = {
      ...text('start'),
      ...text('stop'),
      ...text('prefix'),
      ...number('limit'),
      ...number('batch'),
      ...number('storeLimit'),
      ...number('storeOffset'),
      ...number('ts'),
      versions: Number(given('versions') ?? 1),
      ...(options.has('range') ? { timeRange: range(given('range')!) } : {}),
      ...(ranges.length > 0
        ? { familyTimeRanges: Object.fromEntries(ranges) as Record<string, TimeRange> }
        : {}),
      ...(options.has('columns') ? { columns: given('columns')!.split(',') } : {}),
      ...(options.has('families') ? { families: given('families')!.split(',') } : {}),
      startInclusive: !words.includes('after-start'),
      stopInclusive: words.includes('with-stop'),
      raw: words.includes('raw'),
      reversed: words.includes('reversed'),
    };
    const spec = normalizeScan(scan);
    const run = { spec, nowMs: this.#nowMs, readPoint: this.#readPoint };
    const answers = await runScan(this.#stores, run);
    const random = seeded(answers.length + 1);
    for (const store of this.#stores) Object.assign(store, { waits: random, chance: 0.4 });
    const limits = { resultsMax: 1, bytesMax: 1, examinedMax: 1 };
    expect(await runScan(this.#stores, { ...run, limits })).toEqual(answers);
    for (const store of this.#stores) store.waits = null;
    if (answers.length === 0) return ['(empty)'];
    return answers.map(({ text: shown, partial }) => (partial ? `${shown} …` : shown));
  }
}

/** Blocks are separated by empty lines: comments and commands, `----`, answers. */
async function runBlocks(text: string): Promise<string> {
  const script = new Script();
  const blocks: string[] = [];
  for (const block of text.trimEnd().split(/\n\n+/)) {
    const commands = block.split('\n----')[0]!;
    const printed: string[] = [];
    for (const line of commands.split('\n')) {
      if (line.startsWith('#')) continue;
      for (const part of line.split(' | ')) printed.push(...(await script.run(part)));
    }
    blocks.push(printed.length === 0 ? commands : `${commands}\n----\n${printed.join('\n')}`);
  }
  return `${blocks.join('\n\n')}\n`;
}

test.each(readdirSync(FOLDER))('%s', async (name) => {
  const file = path.join(FOLDER, name);
  const want = readFileSync(file, 'utf8');
  const got = await runBlocks(want);
  if (process.env['REWRITE'] === '1') writeFileSync(file, got);
  else expect(got).toBe(want);
});
