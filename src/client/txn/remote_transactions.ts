/** The verbs of two-phase transactions on a server, over its HTTP API. */
import { toBytes } from '../../cell/index.ts';
import { IllegalArgumentException } from '../../model/index.ts';
import type {
  CommitRequestOptions,
  FenceAnswer,
  LoadOperation,
  LoadOptions,
  LoadResult,
  PrepareOptions,
  RollbackAnswer,
  RollbackOptions,
  TransactionAnswer,
  TransactionFilter,
  TransactionName,
  TransactionOptions,
  TransactionStatus,
  Transactions,
  Value,
} from '../../model/index.ts';
import { statusOfJson } from './api_client.ts';
import type { ApiClient, ApiJson } from './api_client.ts';

export class RemoteTransactions implements Transactions {
  readonly serverId: string;
  readonly #client: ApiClient;

  private constructor(client: ApiClient, serverId: string) {
    this.#client = client;
    this.serverId = serverId;
  }

  /** Asks the server who it is. With `serverId` it must be that one: throws WRONG_SERVER. */
  static async connect(client: ApiClient, serverId?: string): Promise<RemoteTransactions> {
    const query = { limit: 1, ...(serverId === undefined ? {} : { server_id: serverId }) };
    const answer = await client.get('/api/transaction/list', query);
    return new RemoteTransactions(client, String(answer['server_id']));
  }

  get #server(): ApiJson {
    return { server_id: this.serverId };
  }

  async begin(options: TransactionOptions): Promise<TransactionAnswer> {
    const { label, namespace, timeoutMs, idleTimeoutMs, preparedTimeoutMs } = options;
    const answer = await this.#client.post('/api/transaction/begin', {
      ...this.#server,
      label,
      namespace,
      timeout: secondsOf(timeoutMs),
      idle_transaction_timeout: secondsOf(idleTimeoutMs),
      prepared_timeout: secondsOf(preparedTimeoutMs),
      isolation: options.isolation,
      timestamps: options.timestamps,
      producer: options.producer,
      epoch: options.epoch,
      request_id: options.requestId,
    });
    return answerOf(answer);
  }

  async load(
    name: TransactionName,
    seq: number,
    operations: readonly LoadOperation[],
    options: LoadOptions = {},
  ): Promise<LoadResult> {
    const query = {
      ...this.#server,
      ...nameOf(name),
      seq,
      table: options.table,
      epoch: options.epoch,
      abort_on_error: options.abortOnError,
    };
    const body = operations.map(lineOf).join('\n');
    const answer = await this.#client.send('/api/transaction/load', query, body);
    return {
      seq,
      rows: Number(answer['rows']),
      cells: Number(answer['cells']),
      bytes: Number(answer['bytes']),
      duplicate: answer['duplicate'] === true,
    };
  }

  async prepare(name: TransactionName, options: PrepareOptions = {}): Promise<TransactionAnswer> {
    const answer = await this.#client.post('/api/transaction/prepare', {
      ...this.#server,
      ...nameOf(name),
      prepared_timeout: secondsOf(options.preparedTimeoutMs),
      expect: options.expect,
      epoch: options.epoch,
    });
    return answerOf(answer);
  }

  async commit(
    name: TransactionName,
    options: CommitRequestOptions = {},
  ): Promise<TransactionAnswer> {
    const answer = await this.#client.post('/api/transaction/commit', {
      ...this.#server,
      ...nameOf(name),
      one_phase: options.onePhase,
    });
    return answerOf(answer);
  }

  async rollback(name: TransactionName, options: RollbackOptions = {}): Promise<RollbackAnswer> {
    const answer = await this.#client.post('/api/transaction/rollback', {
      ...this.#server,
      ...nameOf(name),
      tombstone: options.tombstone,
    });
    const notFound = answer['not_found'] === true;
    return {
      notFound,
      already: answer['already'] === true,
      empty: answer['empty'] === true,
      status: notFound ? null : statusOfJson(answer),
    };
  }

  async status(name: TransactionName): Promise<TransactionStatus> {
    const query = { ...this.#server, ...nameOf(name) };
    return statusOfJson(await this.#client.get('/api/transaction/status', query));
  }

  async list(filter: TransactionFilter = {}): Promise<TransactionStatus[]> {
    const answer = await this.#client.get('/api/transaction/list', {
      ...this.#server,
      ...filter,
      after: filter.after === undefined ? undefined : String(filter.after),
    });
    return (answer['transactions'] as ApiJson[]).map(statusOfJson);
  }

  async fence(producer: string): Promise<FenceAnswer> {
    const answer = await this.#client.post('/api/transaction/fence', { ...this.#server, producer });
    return { epoch: Number(answer['epoch']), aborted: answer['aborted'] as string[] };
  }
}

function answerOf(json: ApiJson): TransactionAnswer {
  const already = json['already'] === true;
  return { ...statusOfJson(json), already, empty: json['empty'] === true };
}

/** Whole seconds, as the API counts; a part of one counts as one. */
const secondsOf = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : Math.ceil(ms / 1000);

function nameOf({ label, namespace, txnId }: TransactionName): ApiJson {
  return { label, namespace, ...(txnId === undefined ? {} : { txn_id: String(txnId) }) };
}

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');

function valueBytes(value: Value): Uint8Array {
  if (typeof value !== 'bigint') return toBytes(value);
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}

/** The line of a load. Throws IllegalArgumentException for what a line cannot say. */
export function lineOf(operation: LoadOperation): string {
  const { table } = operation;
  if ('put' in operation) {
    const { values, options } = operation;
    if (Array.isArray(values)) {
      throw new IllegalArgumentException(
        'over HTTP values are given as { "family:qualifier": value }',
      );
    }
    const put = Object.fromEntries(
      Object.entries(values as Readonly<Record<string, Value>>).map(([column, value]) => [
        column,
        base64(valueBytes(value)),
      ]),
    );
    const ts = options?.ts === undefined ? undefined : String(options.ts);
    return JSON.stringify({
      row: base64(toBytes(operation.put)),
      table,
      put,
      ts,
      ttl: options?.ttl,
    });
  }
  const { spec = {} } = operation;
  if ((spec.versions?.length ?? 0) + (spec.familyVersions?.length ?? 0) > 0) {
    throw new IllegalArgumentException('over HTTP whole rows, families and columns are deleted');
  }
  const columns = (spec.columns ?? []).map((column) =>
    typeof column === 'string'
      ? column
      : `${column[0]}:${Buffer.from(toBytes(column[1])).toString('utf8')}`,
  );
  const names = [...(spec.families ?? []).map((family) => `${family}:`), ...columns];
  const ts = spec.ts === undefined ? undefined : String(spec.ts);
  return JSON.stringify({
    row: base64(toBytes(operation.delete)),
    table,
    delete: names.length === 0 ? true : names,
    ts,
  });
}
