/** The oracle's state in the manifest, and without a folder in memory (an in-memory manifest). */
import { type Manifest, put } from '../manifest/index.ts';
import type { OraclePersistence } from './oracle.ts';

export function inManifest(manifest: Manifest): OraclePersistence {
  return {
    load: () => manifest.oracle,
    save: (record) => manifest.commit([put('oracle', record)]),
  };
}
