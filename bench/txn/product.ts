/** The built product: its workers start from `dist`, so that is what is measured. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { open } from '../../src/embedded/index.ts';
import type { startServer } from '../../src/server/index.ts';
import { ROOT } from '../engine/peers.ts';

export interface Product {
  readonly open: typeof open;
  readonly startServer: typeof startServer;
}

export async function product(): Promise<Product> {
  const load = async (file: string): Promise<Partial<Product>> =>
    (await import(pathToFileURL(path.join(ROOT, 'dist', file)).href)) as Partial<Product>;
  const { open } = await load('embedded/index.js');
  const { startServer } = await load('server/index.js');
  if (open === undefined || startServer === undefined) throw new Error('build the project first');
  return { open, startServer };
}
