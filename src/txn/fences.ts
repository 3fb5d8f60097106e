/** Producers' epochs: a new one shuts out whoever has an older. Durable, ever growing. */
import type { RegionServer } from '../engine/index.ts';
import { TransactionException } from '../model/index.ts';
import { commitTransaction } from './commit_step.ts';
import { fenceRow, u64Bytes } from './ledger.ts';
import type { Ledger } from './ledger.ts';
import { checkProducer } from './requests.ts';

/** Epochs kept in memory, so that a load does not look them up. */
const KNOWN_MAX = 10_000;

export class Fences {
  readonly #server: RegionServer;
  readonly #ledger: Ledger;
  readonly #known = new Map<string, number>();

  constructor(server: RegionServer, ledger: Ledger) {
    this.#server = server;
    this.#ledger = ledger;
  }

  async #current(producer: string): Promise<number> {
    const known = this.#known.get(producer);
    if (known !== undefined) return known;
    const epoch = await this.#ledger.epoch(producer);
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    // A fence may have been quicker.
    const now = Math.max(epoch, this.#known.get(producer) ?? 0);
    this.#known.set(producer, now);
    return now;
  }

  /** A new epoch, on the disk when this settles. One at a time for each producer. */
  async raise(producer: string): Promise<number> {
    checkProducer(producer);
    const epoch = (await this.#current(producer)) + 1;
    await commitTransaction(this.#server, this.#ledger, {
      puts: [{ row: fenceRow(producer), columns: { 'r:e': u64Bytes(BigInt(epoch)) } }],
      groups: [],
      txnId: 0n,
      label: null,
      isFresh: false,
      isDistinct: true,
      // From the step on nobody passes with an older one, whether the answer arrives or not.
      applied: () => this.#known.set(producer, epoch),
    });
    return epoch;
  }

  /** Throws FENCED if the producer has a newer epoch. Without an epoch nothing is checked. */
  async check(producer: string | null, epoch: number | null): Promise<void> {
    if (producer === null || epoch === null) return;
    const current = await this.#current(producer);
    if (epoch >= current) return;
    throw new TransactionException(
      'FENCED',
      `producer ${producer} has epoch ${current}: who comes with ${epoch} is shut out`,
    );
  }
}
