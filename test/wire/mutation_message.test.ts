/** Mutations from the wire as KeyValues, and what is refused of them. */
import { describe, expect, test } from 'vitest';
import { MUTATE_DELETE, MUTATE_PUT } from '../../src/engine/index.ts';
import type { ByteMutation } from '../../src/engine/index.ts';
import { StoreException } from '../../src/io/index.ts';
import { CellBlock, ProtoReader, readMutation } from '../../src/wire/index.ts';
import {
  DELETE,
  PUT,
  cellBlock,
  cellTexts,
  message,
  nested,
  writeMutation,
} from '../server/rpc/messages.ts';
import type { MutationFields } from '../server/rpc/messages.ts';

const NO_GROUP = { high: 0, low: 0 };

function read(bytes: Uint8Array, block: Uint8Array | null = null): ByteMutation {
  return readMutation(new ProtoReader(bytes), new CellBlock(block), NO_GROUP);
}

const bytesOf = (fields: MutationFields): Uint8Array => message((w) => writeMutation(w, fields));
const texts = ({ cells, from, to }: ByteMutation): string[] => cellTexts(cells.subarray(from, to));

test('columns become cells; without a timestamp they ask for LATEST', () => {
  const put = read(bytesOf({ type: PUT, row: 'r', values: { 'f:a': '1', 'g:': '2' } }));
  expect(put.type).toBe(MUTATE_PUT);
  expect(texts(put)).toEqual(['r/f:a@9223372036854775807=1', 'r/g:@9223372036854775807=2']);
  const old = read(bytesOf({ type: PUT, row: 'r', values: { 'f:a': '1' }, ts: 7n }));
  expect(texts(old)).toEqual(['r/f:a@7=1']);
});

test('kinds of deletes become types of cells', () => {
  const types = [0, 1, 2, 3].map((deleteType) =>
    texts(read(bytesOf({ type: DELETE, row: 'r', values: { 'f:a': '' }, ts: 1n, deleteType }))),
  );
  expect(types.flat()).toEqual([8, 12, 14, 10].map((type) => `r/f:a@1= type ${type}`));
  const row = read(bytesOf({ type: DELETE, row: 'r', ts: 9n }));
  expect(row).toMatchObject({
    type: MUTATE_DELETE,
    from: 0,
    to: 0,
    timestampHigh: 0,
    timestampLow: 9,
  });
});

test('cells of the block, as many as each mutation says', () => {
  const block = new CellBlock(cellBlock('a/f:q@1=1', 'a/f:r@1=2', 'b/f:q@1=3'));
  const first = readMutation(
    new ProtoReader(bytesOf({ type: PUT, row: 'a', cellCount: 2 })),
    block,
    NO_GROUP,
  );
  const second = readMutation(
    new ProtoReader(bytesOf({ type: PUT, row: 'b', cellCount: 1 })),
    block,
    NO_GROUP,
  );
  expect([texts(first), texts(second)]).toEqual([['a/f:q@1=1', 'a/f:r@1=2'], ['b/f:q@1=3']]);
});

test('attributes, nonces and options', () => {
  const ttl = Buffer.alloc(8);
  ttl.writeBigInt64BE(5000n);
  const attributes = { _ttl: ttl, _rr_: Uint8Array.of(0), other: Uint8Array.of(1) };
  const read1 = readMutation(
    new ProtoReader(bytesOf({ type: PUT, row: 'r', attributes, nonce: 5n })),
    new CellBlock(null),
    { high: 1, low: 2 },
  );
  expect(read1).toMatchObject({ ttlMs: 5000, returnResults: false });
  expect(Buffer.from(read1.nonce!).toString('hex')).toBe('00000001000000020000000000000005');
});

describe('refused', () => {
  const tagged = (tags: Uint8Array): Uint8Array =>
    message((w) => {
      w.bytes(1, Buffer.from('r'));
      w.uint32(2, PUT);
      nested(w, 3, (column) => {
        column.bytes(1, Buffer.from('f'));
        nested(column, 2, (q) => {
          q.bytes(2, Buffer.from('v'));
          q.bytes(5, tags);
        });
      });
    });

  test.each<[string, Uint8Array, Uint8Array | null, string]>([
    ['no row', bytesOf({ type: PUT, row: '' }), null, 'Row length is 0'],
    ['a row too long', bytesOf({ type: PUT, row: 'r'.repeat(32768) }), null, 'Row length 32768'],
    ['an unknown type', bytesOf({ type: 9, row: 'r' }), null, 'Unknown mutation type 9'],
    ['no cell block', bytesOf({ type: PUT, row: 'r', cellCount: 1 }), null, 'no cells'],
    [
      'another row',
      bytesOf({ type: PUT, row: 'r', cellCount: 1 }),
      cellBlock('s/f:q@1=v'),
      "doesn't match",
    ],
    [
      'a put in a delete',
      bytesOf({ type: DELETE, row: 'r', cellCount: 1 }),
      cellBlock('r/f:q@1=v'),
      'A cell of type 4',
    ],
    ['broken tags', tagged(Uint8Array.of(0, 9, 1)), null, 'a tag reaches past the tags'],
    ['a TTL of two bytes', tagged(Uint8Array.of(0, 3, 8, 1, 2)), null, 'a TTL tag'],
  ])('%s', (_what, bytes, block, why) => {
    expect(() => read(bytes, block)).toThrow(why);
  });

  test('every truncation of message and block is read or refused by name', () => {
    const whole = bytesOf({ type: PUT, row: 'r', values: { 'f:q': 'v', 'g:r': 'w' }, ts: 3n });
    const withCells = bytesOf({ type: PUT, row: 'r', cellCount: 2 });
    const block = cellBlock('r/f:q@1=v', 'r/f:r@1=w');
    const attempts: (() => ByteMutation)[] = [];
    for (let n = 0; n < whole.length; n++) attempts.push(() => read(whole.subarray(0, n)));
    for (let n = 0; n < block.length; n++)
      attempts.push(() => read(withCells, block.subarray(0, n)));
    for (let at = 0; at < block.length; at++) {
      const changed = Buffer.from(block);
      changed[at] = changed[at]! ^ 0xff;
      attempts.push(() => read(withCells, changed));
    }
    for (const attempt of attempts) {
      try {
        attempt();
      } catch (error) {
        expect(error).toBeInstanceOf(StoreException);
      }
    }
  });
});
