import { expect, test } from 'vitest';
import {
  BlockViews,
  VIEW_COPY_MAX,
  copyViewed,
  viewOf,
} from '../../../src/region/scan/block_views.ts';

test('every length at every alignment is copied, and nothing beside it', () => {
  // A block that does not begin with its buffer.
  const from = new Uint8Array(VIEW_COPY_MAX + 32).map((_, i) => (i * 37) & 0xff).subarray(5);
  for (let length = 0; length <= VIEW_COPY_MAX; length++) {
    const fromAt = length % 7;
    const toAt = length % 5;
    const to = new Uint8Array(VIEW_COPY_MAX + 16).fill(0xaa);
    const want = Uint8Array.from(to);
    want.set(from.subarray(fromAt, fromAt + length), toAt);
    copyViewed(viewOf(from), fromAt, viewOf(to), toAt, length);
    expect(Buffer.compare(to, want), `${length}`).toBe(0);
  }
});

test('a block has a view from the second time on, until many others came', () => {
  const views = new BlockViews();
  const blocks = Array.from({ length: 100 }, (_, i) => Uint8Array.of(i));
  const seen = (block: Uint8Array): number | undefined => views.of(block)?.getUint8(0);
  expect([blocks[0]!, blocks[1]!].map(seen)).toEqual([undefined, undefined]);
  expect([blocks[0]!, blocks[0]!, blocks[1]!].map(seen)).toEqual([0, 0, 1]);
  for (const block of blocks) views.of(block);
  expect(seen(blocks[0]!)).toBeUndefined();
  expect(seen(blocks[0]!)).toBe(0);
  views.clear();
  expect(seen(blocks[0]!)).toBeUndefined();
});
