/** Random stores and scans, by seed. */
import type { ScanOptions } from '../../../src/model/index.ts';
import { TYPES, TestStore, seeded } from './support.ts';
import type { Random, TestCell } from './support.ts';

export const NOW = 100_000;

export const pick = <T>(random: Random, values: readonly T[]): T =>
  values[Math.floor(random() * values.length)]!;

/** Mostly puts. Family version markers are left out with NEW_VERSION_BEHAVIOR, where HBase miscounts them. */
function randomType(random: Random, isNew: boolean): number {
  if (random() < 0.65) return TYPES.Put;
  const markers = [TYPES.Delete, TYPES.DeleteColumn, TYPES.DeleteFamily];
  return pick(random, isNew ? markers : [...markers, TYPES.DeleteFamilyVersion]);
}

function randomCells(random: Random, isNew: boolean, columns: readonly string[]): TestCell[] {
  const rows = pick(random, [['r'], ['a', 'b'], ['a', 'aa', 'b', 'ba', 'c', 'd']]);
  const count = 1 + Math.floor(random() * 24);
  const cells: TestCell[] = [];
  for (let write = 1; write <= count; write++) {
    const type = randomType(random, isNew);
    const isFamily = type === TYPES.DeleteFamily || type === TYPES.DeleteFamilyVersion;
    cells.push({
      row: pick(random, rows),
      qualifier: isFamily ? '' : pick(random, columns),
      ts: NOW - 10_000 + 1000 * Math.floor(random() * 8),
      type,
      value: type === TYPES.Put ? `v${write}` : '',
      write,
      ...(random() < 0.1 ? { ttl: pick(random, [1000, 5000, 6000, 100_000]) } : {}),
    });
  }
  return cells;
}

/** Older writes in older layers, or cells dealt at random, as bulk loads do. */
function deal(random: Random, cells: TestCell[]): TestCell[][] {
  const count = 1 + Math.floor(random() * 5);
  const layers: TestCell[][] = Array.from({ length: count }, () => []);
  const isOrdered = random() < 0.5;
  cells.forEach((cell, index) => {
    const age = count - 1 - Math.floor((index * count) / cells.length);
    layers[isOrdered ? age : Math.floor(random() * count)]!.push(cell);
  });
  return layers;
}

function randomStore(random: Random, name: string, columns: readonly string[]): TestStore {
  const isNew = random() < 0.2;
  const store = new TestStore({
    name,
    VERSIONS: pick(random, [1, 2, 3, 100]),
    MIN_VERSIONS: 0,
    ...(random() < 0.3 ? { TTL: pick(random, [5, 6, 7]) } : {}),
    KEEP_DELETED_CELLS: pick(random, ['FALSE', 'FALSE', 'TRUE', 'TTL']),
    NEW_VERSION_BEHAVIOR: isNew,
  });
  const { settings } = store;
  if (random() < 0.3 && settings.ttlSeconds < 100) {
    Object.assign(settings, { minVersions: pick(random, [1, 2]) });
  }
  store.layers = deal(random, randomCells(random, isNew, columns));
  return store;
}

function randomOptions(random: Random, columns: readonly string[]): ScanOptions {
  const raw = random() < 0.2;
  const named = !raw && random() < 0.4;
  const min = NOW - 10_000 + Math.floor(random() * 9) * 1000;
  return {
    ...(named
      ? {
          columns: columns
            .filter(() => random() < 0.4)
            .concat(pick(random, columns))
            .map((column) => `${pick(random, ['f', 'f', 'g'])}:${column}`),
        }
      : random() < 0.2
        ? { families: [pick(random, ['f', 'g'])] }
        : {}),
    versions: pick(random, [1, 1, 2, 3, Infinity]),
    ...(random() < 0.3
      ? { timeRange: { min, max: min + Math.floor(random() * 5) * 1000 + 1 } }
      : {}),
    ...(random() < 0.1 ? { familyTimeRanges: { f: { min: 0, max: min } } } : {}),
    ...(random() < 0.2 ? { storeLimit: pick(random, [0, 1, 2]) } : {}),
    ...(random() < 0.2 ? { storeOffset: pick(random, [1, 2]) } : {}),
    ...(random() < 0.3 ? { start: pick(random, ['a', 'aa', 'b', 'c']) } : {}),
    ...(random() < 0.3 ? { stop: pick(random, ['b', 'ba', 'c', 'd']) } : {}),
    startInclusive: random() < 0.7,
    stopInclusive: random() < 0.3,
    ...(random() < 0.2 ? { limit: pick(random, [1, 2]) } : {}),
    ...(random() < 0.3 ? { batch: pick(random, [1, 2, 3]) } : {}),
    raw,
    reversed: random() < 0.3,
  };
}

export function randomCase(seed: number): {
  random: Random;
  stores: TestStore[];
  options: ScanOptions;
  readPoint: number;
} {
  const random = seeded(seed);
  const many = Array.from({ length: 30 }, (_, index) => `c${String(index).padStart(2, '0')}`);
  const columns = pick(random, [['q'], ['', 'a', 'b'], ['', 'p', 'q', 'qq', 'r'], ['', ...many]]);
  const stores = [randomStore(random, 'f', columns)];
  if (random() < 0.5) stores.push(randomStore(random, 'g', columns));
  const readPoint = random() < 0.3 ? Math.floor(random() * 20) : 2 ** 52;
  return { random, stores, options: randomOptions(random, columns), readPoint };
}
