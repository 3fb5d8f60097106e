/**
 * `open` as users have it: the engine with what the layers above it add (transactions, the change feed, backups) on one
 * connection. Lies below `server` and `cli`, which serve and drive such a connection.
 */
import { EmbeddedConnection, openServer } from '../engine/index.ts';
import type { OpenOptions } from '../engine/index.ts';

export class StoreConnection extends EmbeddedConnection {}

/**
 * Opens a store: in `dir` (made if absent), or in memory without one. See `openServer` for the errors. The connection
 * must be closed.
 */
export async function open(dir?: string, options?: OpenOptions): Promise<StoreConnection> {
  return new StoreConnection(await openServer(dir, options));
}
