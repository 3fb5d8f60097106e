/** Rounds keep out of what HBase does wrong: rules that docs/differential.md states, each as narrow as it says there. */
import { expect, test } from 'vitest';
import { seeded } from '../../src/io/index.ts';
import { leavesEmptyColumn, showsExpired } from './avoided.ts';
import { isRead } from './commands.ts';
import type { ScanCommand } from './commands.ts';
import { Generator } from './generate.ts';

const ROUNDS = Array.from({ length: 60 }, (_, seed) => new Generator(seeded(seed)).round(8));

test('MIN_VERSIONS is 1 at most beside NEW_VERSION_BEHAVIOR, and beside nothing else', () => {
  const families = ROUNDS.flatMap((round) => round.families);
  expect(families.filter(showsExpired)).toEqual([]);
  const minimums = (isNew: boolean): Set<unknown> =>
    new Set(
      families
        .filter((family) => 'NEW_VERSION_BEHAVIOR' in family === isNew)
        .map((family) => family['MIN_VERSIONS'] ?? '0'),
    );
  expect(minimums(true)).toEqual(new Set(['0', '1']));
  expect(minimums(false)).toEqual(new Set(['0', '1', '2']));
});

test('raw scans leave no empty column early where cases have one, and do so elsewhere', () => {
  const kinds = new Set<string>();
  for (const round of ROUNDS) {
    for (const one of round.cases) {
      const commands = one.flat();
      const hasEmpty = commands.some(
        (command) => command.op === 'put' && command.cells.some(({ q }) => q === ''),
      );
      const scans = commands.filter(
        (command): command is ScanCommand => isRead(command) && command.op === 'scan',
      );
      for (const scan of scans) {
        if (scan.raw !== 1 || scan.columns !== undefined) continue;
        kinds.add(`${hasEmpty ? 'empty' : 'named'} ${scan.versions === 100 ? 'all' : 'some'}`);
        if (leavesEmptyColumn(scan, hasEmpty)) expect(scan.versions).toBe(100);
      }
    }
  }
  expect(kinds).toEqual(new Set(['empty all', 'named all', 'named some']));
});
