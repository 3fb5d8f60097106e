/** Transactions that are too large for memory: their cells lie in files until they are decided. */
import type { RegionServer } from '../engine/index.ts';
import type { TransactionCommit } from './commit_step.ts';
import type { TransactionKnobs } from './knobs.ts';
import type { Txn } from './txn.ts';

export class Stager {
  readonly #server: RegionServer;
  readonly #knobs: () => TransactionKnobs;

  constructor(server: RegionServer, knobs: () => TransactionKnobs) {
    this.#server = server;
    this.#knobs = knobs;
  }

  isLarge(txn: Txn): boolean {
    return false;
  }
  async spillIfLarge(txn: Txn): Promise<void> {}
  async seal(txn: Txn): Promise<void> {}
  async link(txn: Txn, commit: Omit<TransactionCommit, 'groups'>): Promise<void> {}
  async discard(txn: Txn): Promise<void> {}
  async recover(txns: readonly Txn[]): Promise<void> {}
  async close(): Promise<void> {}
}
