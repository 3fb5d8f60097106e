/** `onHidden` of a put names the marker that hides it already. */
import { expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import { memoryEnv } from '../../src/io/index.ts';
import type { HiddenPut } from '../../src/model/index.ts';

test('puts below markers are told, with the marker that hides most', async () => {
  await using connection = await open('/hidden', { env: memoryEnv(), blockingSync: false });
  await connection.admin.createTable({
    name: 't',
    families: ['f', { name: 'n', NEW_VERSION_BEHAVIOR: true }],
  });
  const table = connection.table('t');
  await table.delete('r', { ts: 5, columns: ['f:a', 'n:a'] });
  const last = await table.delete('r', { ts: 9, versions: ['f:b'] });
  const told: HiddenPut[] = [];
  const onHidden = (hidden: HiddenPut): void => void told.push(hidden);
  await table.put('r', { 'f:a': 'x', 'f:c': 'x', 'n:a': 'x' }, { ts: 5, onHidden });
  await table.put('r', { 'f:a': 'x', 'f:b': 'x' }, { ts: 9, onHidden });
  await table.put('r', { 'f:b': 'x' }, { ts: 10, onHidden });
  await connection.admin.flush('t');
  const family = await table.delete('r', { ts: 20, families: ['f'] });
  await table.put('r', { 'f:a': 'x' }, { ts: 4, onHidden });
  await table.put('r', { 'f:a': 'x' }, { onHidden });
  expect(
    told.map(({ family: name, qualifier, ts, marker }) => [
      `${name}:${Buffer.from(qualifier).toString()}`,
      Number(ts),
      marker.type,
      Number(marker.ts),
      marker.tso === last ? 'last' : marker.tso === family ? 'family' : '',
    ]),
  ).toEqual([
    ['f:a', 5, 'DeleteColumn', 5, ''],
    ['f:b', 9, 'Delete', 9, 'last'],
    ['f:a', 4, 'DeleteFamily', 20, 'family'],
  ]);
});
