/** Files that the ROWCOL Bloom filter rules out have nothing for a get: it answers as from memory, whatever the cache holds. */
import { expect, test } from 'vitest';
import { open } from '../../src/engine/index.ts';
import { seeded, simEnv } from '../../src/io/index.ts';
import { cellsOf } from '../engine/store_support.ts';

const NOW = 1_700_000_000_000;

test.each([64 << 20, 8192, 0])(
  'random gets of columns, %i bytes of cache',
  async (blockCacheBytes) => {
    const random = seeded(blockCacheBytes + 1);
    const env = simEnv({ seed: 4, startMs: NOW });
    const store = await env.drive(
      open('/data', { env, blockingSync: false, autoCompact: false, blockCacheBytes }),
    );
    for (const name of ['files', 'memory']) {
      const families = [{ name: 'f', VERSIONS: 100, BLOOMFILTER: 'ROWCOL' }];
      await env.drive(store.admin.createTable({ name, families }));
    }
    const row = (): string => `r${random.int(4)}`;
    const column = (): string => `f:${['', 'a', 'b', 'c', 'd'][random.int(5)]!}`;
    let ruledOut = 0;
    for (let i = 0; i < 200; i++) {
      const ts = 1 + random.int(50);
      const [at, of] = [row(), column()];
      const pick = random.int(10);
      for (const name of ['files', 'memory']) {
        const table = store.table(name);
        if (pick < 6) await env.drive(table.put(at, { [of]: `v${i}` }, { ts }));
        else if (pick === 6) await env.drive(table.delete(at, { columns: [of], ts }));
        else if (pick === 7) await env.drive(table.delete(at, { families: ['f'], ts }));
        else if (pick === 8) await env.drive(table.delete(at, { familyVersions: ['f'], ts }));
        else await env.drive(table.delete(at, { versions: [of], ts }));
      }
      if (i % 12 === 11) await env.drive(store.admin.flush('files'));
      if (i % 3 !== 0) continue;
      const options = { columns: [...new Set([column(), column()])], versions: 100 };
      const wanted = row();
      const [files, memory] = await env.drive(
        Promise.all(['files', 'memory'].map((name) => store.table(name).get(wanted, options))),
      );
      const text = (result: typeof files): string[] => cellsOf(result ? [result] : []);
      expect(text(files)).toEqual(text(memory));
      const explained = await env.drive(store.table('files').explain({ get: wanted, options }));
      expect(explained.totals.cells.returned).toBe(memory?.size ?? 0);
      ruledOut += explained.regions[0]!.families[0]!.sources.filter(
        (source) => source.ruledOut === 'column Bloom filter',
      ).length;
    }
    expect(ruledOut).toBeGreaterThan(20);
    await env.drive(store.close());
  },
);
