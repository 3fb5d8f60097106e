/** In which order increments and appends answer their new cells: by column within one, and as given between several. */
import { expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';

const columnsOf = (answer: {
  readonly result: { readonly cells: readonly { qualifier: Uint8Array }[] } | null;
}): string[] => answer.result!.cells.map(({ qualifier }) => Buffer.from(qualifier).toString());

test('a qualifier that begins another comes before it, and mutations keep their order', async () => {
  await using store = await open();
  await store.admin.createTable({ name: 't', families: ['f'] });
  const table = store.table('t');
  const one = await table.increment('r', { 'f:n1': 1, 'f:': 1, 'f:n': 1, 'f:\x7f': 1 });
  expect(columnsOf(one)).toEqual(['', 'n', 'n1', '\x7f']);
  const several = await table.mutateRow('r', [
    { append: 'r', values: { 'f:s': 'x' } },
    { increment: 'r', amounts: { 'f:n1': 1, 'f:': 1 } },
  ]);
  expect(columnsOf(several)).toEqual(['s', '', 'n1']);
});
