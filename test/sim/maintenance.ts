/** Random work of maintenance, from the seed. */
import type { SeededRandom } from '../../src/io/index.ts';
import type { RegionSwitch } from '../../src/model/index.ts';

export type Maintenance =
  | { readonly kind: 'flush' | 'history' | 'normalize' }
  | { readonly kind: 'compact'; readonly major: boolean }
  /** `row` null: every region that can be, in its middle. */
  | { readonly kind: 'split'; readonly row: string | null }
  /** The region at this index (modulo their count) with the next. */
  | { readonly kind: 'merge'; readonly index: number }
  | { readonly kind: 'switch'; readonly name: RegionSwitch; readonly on: boolean }
  /** `name` null: in memory. */
  | { readonly kind: 'pin'; readonly name: string | null }
  | { readonly kind: 'release'; readonly index: number };

/** Draws work of maintenance, with `isRegional` mostly splits and merges; `row` draws a row, `name` a name of its own. */
export function randomMaintenance(
  random: SeededRandom,
  row: () => string,
  name: () => string,
  isRegional: boolean,
): Maintenance {
  const pick = isRegional && random.chance(0.6) ? 70 + random.int(15) : random.int(100);
  if (pick < 40) return { kind: 'flush' };
  if (pick < 62) return { kind: 'compact', major: random.chance(0.5) };
  if (pick < 70) return { kind: 'history' };
  if (pick < 78) return { kind: 'split', row: random.chance(0.25) ? null : row() };
  if (pick < 85) return { kind: 'merge', index: random.int(6) };
  if (pick < 87) return { kind: 'normalize' };
  if (pick < 88) {
    const names: RegionSwitch[] = ['split', 'merge', 'normalizer'];
    return { kind: 'switch', name: names[random.int(3)]!, on: random.chance(0.8) };
  }
  if (pick < 95) return { kind: 'pin', name: random.chance(0.5) ? name() : null };
  return { kind: 'release', index: random.int(20) };
}
