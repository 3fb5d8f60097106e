/**
 * The bank: accounts in groups of one prefix, and transfers within a group as transactions. Whatever is split, merged, flushed
 * or lost meanwhile, the accounts of a group sum up to the same, in one scan over all regions and as of any moment.
 */
import type { GroupTransaction, Mutation, ReadOptions, TableSpec } from '../../src/model/index.ts';
import { cellsText, counterOf, fromAnswer } from './cells.ts';
import { SimFailure, type GroupRead } from './history.ts';
import { WritingLife } from './life_writes.ts';

export const BANK = 'bank';
const GROUPS = ['A', 'B', 'C', 'D'];
const ACCOUNTS = 4;
const DEPOSIT = 100n;
const COLUMN = 'b:v';
const REVERSED = { reversed: true };

/** Never splits a group, by hand or by itself: by itself often, when its files are no longer tiny. */
export const BANK_TABLE: TableSpec = {
  name: BANK,
  families: [{ name: 'b', VERSIONS: 2, BLOCKSIZE: 1024 }],
  SPLIT_POLICY: 'KeyPrefixRegionSplitPolicy',
  MEMSTORE_FLUSHSIZE: 1000,
  CONFIGURATION: {
    'KeyPrefixRegionSplitPolicy.prefix_length': '1',
    'hbase.table.sanity.checks': 'false',
  },
};

export class BankingLife extends WritingLife {
  /** A transfer, or a look at the sums. */
  async bank(): Promise<void> {
    const { model, random, workload } = this.parts;
    if (model.find(BANK) === null) return;
    if (random.chance(0.4)) return this.#sum();
    const group = workload.pick(GROUPS);
    const [from, to] = [random.int(ACCOUNTS), random.int(ACCOUNTS)];
    await this.#transfer(group, `${group}${from}`, `${group}${to}`, BigInt(random.int(30)));
  }

  async #transfer(group: string, from: string, to: string, amount: bigint): Promise<void> {
    const { journal } = this.parts;
    const { step } = journal;
    const mutations: Mutation[] = [];
    const reads: GroupRead[] = [];
    const rest = { condition: null, batchMs: null, write: null };
    const intent = this.intend(step, BANK, 'transact', mutations, rest, reads);
    journal.note(() => `${step} transfer ${amount} from ${from} to ${to}`);
    const work = async (tx: GroupTransaction): Promise<void> => {
      mutations.length = 0;
      reads.length = 0;
      const read = async (row: string, options: ReadOptions): Promise<bigint | null> => {
        const result = await tx.get(row, options);
        const cells = result?.cells.map(fromAnswer) ?? [];
        reads.push({ row, options, answer: cellsText(cells) });
        return cells[0] === undefined ? null : counterOf(cells[0].value);
      };
      const put = (row: string, value: bigint): void => {
        tx.put(row, { [COLUMN]: value });
        mutations.push({ put: row, values: { [COLUMN]: value } });
      };
      const before = await read(from, {});
      if (before === null) {
        for (let i = 0; i < ACCOUNTS; i++) put(`${group}${i}`, DEPOSIT);
      } else if (from === to) {
        put(from, before);
      } else {
        const other = await read(to, { columns: [COLUMN] });
        put(from, before - amount);
        put(to, (other ?? 0n) + amount);
      }
    };
    try {
      const { tso, attempts } = await this.connection.table(BANK).transact(group, work);
      if (attempts > 1) journal.count('transactions begun again', attempts - 1);
      journal.count('transactions');
      this.done(intent, tso, null);
    } catch (error) {
      this.failed(intent, error);
    }
  }

  async #sum(): Promise<void> {
    const { journal, random, told, moments, workload } = this.parts;
    const { step } = journal;
    const asOf = random.chance(0.5)
      ? undefined
      : random.chance(0.5)
        ? told.acked
        : workload.pick(moments.length > 0 ? moments : [told.acked]);
    journal.note(() => `${step} sum of the bank as of ${asOf}`);
    const sums = new Map<string, bigint>();
    try {
      const options = {
        ...(asOf === undefined ? {} : { asOf }),
        ...(random.chance(0.5) ? REVERSED : {}),
      };
      const scanner = this.connection.table(BANK).scan(options);
      for (
        let batch = await scanner.nextBatch(2);
        batch.length > 0;
        batch = await scanner.nextBatch(2)
      ) {
        if (random.chance(0.3)) await this.parts.env.timers.sleep(random.float() * 3);
        for (const { cells } of batch) {
          const { row, value } = fromAnswer(cells[0]!);
          const group = row.slice(0, 1);
          sums.set(group, (sums.get(group) ?? 0n) + counterOf(value));
        }
      }
    } catch (error) {
      if (this.isOver || !(error instanceof Error)) return;
      const isOfPast = ['SnapshotTooOld', 'TableNotFoundException', 'SnapshotInFuture'];
      if (asOf === undefined || !isOfPast.includes(error.name)) this.checkFault(step, error);
      return;
    }
    if (this.isOver) return;
    journal.count('bank sums');
    for (const [group, sum] of sums) {
      if (sum === DEPOSIT * BigInt(ACCOUNTS)) continue;
      throw new SimFailure(step, `the accounts of ${group} sum up to ${sum} as of ${asOf}`);
    }
  }
}
