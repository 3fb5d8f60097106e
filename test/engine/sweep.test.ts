/** Files that a crash left in the data folders go at the next open; files that the manifest names stay. */
import { expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import { simEnv } from '../../src/io/index.ts';

test('what no record names is removed after an unclean close', async () => {
  const env = simEnv({ seed: 11 });
  await env.drive(
    (async (): Promise<void> => {
      const connection = await open('/data', { env, blockingSync: false });
      await connection.admin.createTable({ name: 't', families: ['f'] });
      await connection.table('t').put('r', { 'f:q': 'v' });
      await connection.admin.flush('t');
      const [file] = await connection.files('t');
      const folder = `/data/${file!.path.slice(0, file!.path.lastIndexOf('/'))}`;
      const orphan = await env.fs.open(`${folder}/0123456789abcdef0123456789abcdef`, 'create');
      await orphan.write(Buffer.from('half a store file'), 0);
      await orphan.sync();
      await env.fs.syncFolder(folder);
      const after = env.kill();
      await after.drive(
        (async (): Promise<void> => {
          expect(await after.fs.list(folder)).toHaveLength(2);
          const again = await open('/data', { env: after, blockingSync: false });
          expect(await after.fs.list(folder)).toEqual([file!.path.split('/').at(-1)]);
          expect((await again.table('t').get('r'))?.text('f:q')).toBe('v');
          await again.close();
        })(),
      );
    })(),
  );
});
