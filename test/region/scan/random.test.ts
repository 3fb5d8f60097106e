/** Random histories read by the scanner and by the plain model: same answers, whatever the layers, waits and limits. */
import { describe, expect, test } from 'vitest';
import { normalizeScan } from '../../../src/model/index.ts';
import { modelScan } from './model.ts';
import { NOW, pick, randomCase } from './random_cases.ts';
import { runScan } from './support.ts';

const HISTORIES = 2000;

describe('random histories', () => {
  test('the scanner answers as the model does', async () => {
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const { random, stores, options, readPoint } = randomCase(seed);
      const spec = normalizeScan(options);
      const want = modelScan(stores, spec, { nowMs: NOW, readPoint });
      for (const chance of [0, 0.3]) {
        for (const store of stores) Object.assign(store, { waits: random, chance });
        const limits = {
          resultsMax: 1 + Math.floor(random() * 4),
          bytesMax: pick(random, [1, 100, 10_000]),
          examinedMax: pick(random, [1, 5, 1000]),
        };
        const got = await runScan(stores, { spec, readPoint, nowMs: NOW, limits });
        expect(got, `seed ${seed}: ${JSON.stringify(options)}`).toEqual(want);
      }
    }
  });
});
