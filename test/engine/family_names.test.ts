/** Families may have the names of members that every JavaScript object has. */
import { expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import { simEnv } from '../../src/io/index.ts';

test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])('%s', async (name) => {
  const env = simEnv({ seed: 5 });
  const start = (): ReturnType<typeof open> => open('/data', { env, blockingSync: false });
  await env.drive(
    (async (): Promise<void> => {
      let connection = await start();
      await connection.admin.createTable({ name: 't', families: ['f', name] });
      await connection.table('t').put('r', [
        { family: 'f', qualifier: 'a', value: '1' },
        { family: name, qualifier: 'a', value: '2' },
      ]);
      await connection.close();
      connection = await start();
      expect((await connection.table('t').get('r'))?.text([name, 'a'])).toBe('2');
      await connection.admin.flush('t');
      await connection.admin.dropFamily('t', name);
      await connection.close();
      connection = await start();
      expect((await connection.table('t').get('r'))?.size).toBe(1);
      await connection.admin.addFamily('t', name);
      expect((await connection.table('t').get('r'))?.size).toBe(1);
      await connection.table('t').put('r', [{ family: name, qualifier: 'b', value: '3' }]);
      expect((await connection.table('t').get('r'))?.size).toBe(2);
      await connection.close();
    })(),
  );
});
