/**
 * The rules of the source tree that a type checker cannot hold: imports point down (docs/architecture.md), no cycles
 * between files, only `io` touches the outside world, only `client` and `server` touch sockets.
 */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';

const LAYERS = [
  'io',
  'cell',
  'model',
  'filter',
  'wal',
  'hfile',
  'manifest',
  'tso',
  'region',
  'engine',
  'txn',
  'backup',
  'embedded',
  'wire',
  'client',
  'server',
  'cli',
];
const SRC = path.resolve(import.meta.dirname, '../src');

interface Import {
  readonly file: string;
  readonly target: string;
}

function sourceFiles(): string[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => name.split(path.sep).join('/'));
}

const textOf = (file: string): string => readFileSync(path.join(SRC, file), 'utf8');

function importsOf(file: string): string[] {
  return [...textOf(file).matchAll(/(?:from|import\()\s*['"]([^'"]+)['"]/g)].map((m) => m[1]!);
}

function relativeImports(): Import[] {
  return sourceFiles().flatMap((file) =>
    importsOf(file)
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => ({ file, target: path.posix.join(path.posix.dirname(file), specifier) })),
  );
}

const layerOf = (file: string): string => file.split('/')[0]!;

describe('layers', () => {
  test('every folder is a known layer', () => {
    for (const file of sourceFiles().filter((name) => name.includes('/'))) {
      expect(LAYERS, file).toContain(layerOf(file));
    }
  });

  test('imports point down', () => {
    for (const { file, target } of relativeImports()) {
      if (!file.includes('/')) continue; // src/index.ts stands above all layers.
      expect(
        LAYERS.indexOf(layerOf(target)),
        `${file} imports ${target}, which is above it`,
      ).toBeLessThanOrEqual(LAYERS.indexOf(layerOf(file)));
    }
  });

  test('no cycles between files', () => {
    const edges = new Map<string, string[]>();
    for (const { file, target } of relativeImports()) {
      edges.set(file, [...(edges.get(file) ?? []), target]);
    }
    const done = new Set<string>();
    const visit = (file: string, trail: readonly string[]): void => {
      expect(trail, `cycle: ${[...trail, file].join(' -> ')}`).not.toContain(file);
      if (done.has(file)) return;
      for (const target of edges.get(file) ?? []) visit(target, [...trail, file]);
      done.add(file);
    };
    for (const file of sourceFiles()) visit(file, []);
  });

  test('only io touches files, clock, random and timers; only client and server touch sockets', () => {
    const outside =
      /node:fs|fs-extra|node:worker_threads|\bDate\.now\(|new Date\(\)|Math\.random\(|\bset(?:Timeout|Interval|Immediate)\(|performance\.now\(/;
    const sockets = /node:net|node:tls|node:http|fastify/;
    for (const file of sourceFiles()) {
      const text = textOf(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
      const layer = layerOf(file);
      if (layer !== 'io') expect(text, file).not.toMatch(outside);
      if (!['client', 'server', 'io'].includes(layer)) expect(text, file).not.toMatch(sockets);
    }
  });
});
