/** A two-phase transaction in the hand of its writer: the verbs with the name filled in. */
import { requireObject, requireText } from '../model/index.ts';
import type {
  CommitRequestOptions,
  LoadOperation,
  LoadOptions,
  LoadResult,
  PrepareOptions,
  RollbackAnswer,
  RollbackOptions,
  Transaction,
  TransactionAnswer,
  TransactionName,
  TransactionOptions,
  TransactionStatus,
  Transactions,
} from '../model/index.ts';

export class TransactionHandle implements Transaction {
  readonly label: string;
  readonly #transactions: Transactions;
  readonly #options: TransactionOptions;
  #txnId = 0n;
  #nextSeq = 0;

  constructor(transactions: Transactions, options: TransactionOptions) {
    requireObject(options, 'Options of transaction');
    requireText('label', options.label);
    this.#transactions = transactions;
    this.#options = options;
    this.label = options.label;
  }

  get txnId(): bigint {
    return this.#txnId;
  }

  get #name(): TransactionName {
    const { label, namespace } = this.#options;
    return {
      label,
      ...(namespace === undefined ? {} : { namespace }),
      ...(this.#txnId === 0n ? {} : { txnId: this.#txnId }),
    };
  }

  async begin(): Promise<TransactionAnswer> {
    const answer = await this.#transactions.begin(this.#options);
    this.#txnId = answer.txnId;
    return answer;
  }

  load(
    operations: readonly LoadOperation[],
    { seq, ...options }: LoadOptions & { readonly seq?: number } = {},
  ): Promise<LoadResult> {
    const number = seq ?? this.#nextSeq;
    this.#nextSeq = Math.max(this.#nextSeq, number + 1);
    return this.#transactions.load(this.#name, number, operations, options);
  }

  prepare(options?: PrepareOptions): Promise<TransactionAnswer> {
    return this.#transactions.prepare(this.#name, options);
  }

  commit(options?: CommitRequestOptions): Promise<TransactionAnswer> {
    return this.#transactions.commit(this.#name, options);
  }

  rollback(options?: RollbackOptions): Promise<RollbackAnswer> {
    return this.#transactions.rollback(this.#name, options);
  }

  status(): Promise<TransactionStatus> {
    return this.#transactions.status(this.#name);
  }
}
