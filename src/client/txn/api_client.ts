/** Calls of a server's HTTP API: JSON both ways, refusals as the exceptions they were. */
import type { Env } from '../../io/index.ts';
import { StoreException } from '../../io/index.ts';
import { TransactionException } from '../../model/index.ts';
import type {
  AbortReason,
  TransactionErrorCode,
  TransactionPhase,
  TransactionStatus,
} from '../../model/index.ts';

export interface ApiCredentials {
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
}

export interface ApiClientOptions {
  /** `http://host:port` of the server. */
  readonly url: string;
  readonly credentials?: ApiCredentials;
  /** Longest time of one call. Default 30000. */
  readonly timeoutMs?: number;
  readonly env: Pick<Env, 'timers'>;
}

/** No answer came, or none that can be understood: what was asked for may have been done or not. */
export class NoAnswerException extends StoreException {
  readonly code: string = 'NoAnswerException';
  readonly retryable: boolean = true;
}

/** The server refused a call that is no transaction's; `status` is HTTP's. */
export class ApiException extends StoreException {
  readonly code: string;
  readonly retryable: boolean;
  readonly status: number;

  constructor(code: string, message: string, status: number, retryable: boolean) {
    super(message);
    this.code = code;
    this.status = status;
    this.retryable = retryable;
  }
}

export type ApiJson = Readonly<Record<string, unknown>>;

const TIMEOUT_MS = 30_000;

export class ApiClient {
  readonly url: string;
  readonly #options: ApiClientOptions;

  constructor(options: ApiClientOptions) {
    this.#options = options;
    this.url = options.url.replace(/\/+$/, '');
  }

  get(path: string, query: ApiJson = {}): Promise<ApiJson> {
    return this.#call('GET', path, query, undefined, 'application/json');
  }

  post(path: string, body: ApiJson): Promise<ApiJson> {
    return this.#call('POST', path, {}, JSON.stringify(body), 'application/json');
  }

  /** A body that is no JSON object, such as the lines of a load. */
  send(path: string, query: ApiJson, body: string): Promise<ApiJson> {
    return this.#call('POST', path, query, body, 'application/x-ndjson');
  }

  /** The lines of a streamed answer; `signal` ends it. Throws as the other calls do. */
  lines(path: string, query: ApiJson, signal: AbortSignal): AsyncGenerator<string> {
    return this.#lines(this.#fetch('GET', path, query, undefined, 'application/json', signal));
  }

  /** As `lines`, of a call with a body. */
  postLines(path: string, body: ApiJson, signal: AbortSignal): AsyncGenerator<string> {
    const text = JSON.stringify(body);
    return this.#lines(this.#fetch('POST', path, {}, text, 'application/json', signal));
  }

  async *#lines(answer: Promise<Response>): AsyncGenerator<string> {
    const response = await answer;
    if (!response.ok) throw refusalOf(response.status, await response.text());
    const decoder = new TextDecoder();
    let rest = '';
    for await (const piece of response.body ?? []) {
      rest += decoder.decode(piece as Uint8Array, { stream: true });
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') yield line;
    }
    if (rest !== '') yield rest;
  }

  async #call(
    method: string,
    path: string,
    query: ApiJson,
    body: string | undefined,
    type: string,
  ): Promise<ApiJson> {
    const stop = new AbortController();
    const { env, timeoutMs = TIMEOUT_MS } = this.#options;
    const timer = env.timers.after(timeoutMs, () => stop.abort(), true);
    let status: number;
    let text: string;
    try {
      const response = await this.#fetch(method, path, query, body, type, stop.signal);
      status = response.status;
      text = await response.text();
    } catch (error) {
      const why = stop.signal.aborted ? `no answer within ${timeoutMs} ms` : String(error);
      throw new NoAnswerException(`${this.url}${path}: ${why}`, { cause: error });
    } finally {
      timer.cancel();
    }
    if (status >= 400) throw refusalOf(status, text);
    return jsonOf(text, `${this.url}${path}`);
  }

  #fetch(
    method: string,
    path: string,
    query: ApiJson,
    body: string | undefined,
    type: string,
    signal: AbortSignal,
  ): Promise<Response> {
    const url = new URL(`${this.url}${path}`);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== null) url.searchParams.set(name, queryText(value));
    }
    return fetch(url, {
      method,
      headers: { ...this.#authorization(), 'content-type': type },
      ...(body === undefined ? {} : { body }),
      signal,
    });
  }

  #authorization(): Record<string, string> {
    const { user, password = '', token } = this.#options.credentials ?? {};
    if (token !== undefined) return { authorization: `Bearer ${token}` };
    if (user === undefined) return {};
    return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
  }
}

function jsonOf(text: string, where: string): ApiJson {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as ApiJson;
  } catch (error) {
    throw new NoAnswerException(`${where}: the answer is no JSON`, { cause: error });
  }
  throw new NoAnswerException(`${where}: the answer is no JSON object`);
}

/** A parameter as it stands in a URL. */
const queryText = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : typeof value === 'bigint'
      ? value.toString()
      : JSON.stringify(value);

/** Codes of the transactions' own refusals, as the server names them. */
const CODES: ReadonlySet<string> = new Set([
  'BAD_REQUEST',
  'BAD_LINE',
  'COUNT_MISMATCH',
  'FENCED',
  'LABEL_ALREADY_EXISTS',
  'NOT_PREPARED',
  'OUTCOME_UNKNOWN',
  'REQUEST_TOO_LARGE',
  'SEQ_CONFLICT',
  'STAGING_FULL',
  'TOO_MANY_PREPARED',
  'TOO_MANY_TRANSACTIONS',
  'TXN_ABORTED',
  'TXN_COMMITTED',
  'TXN_CONFLICT',
  'TXN_DATA_CORRUPT',
  'TXN_ID_MISMATCH',
  'TXN_NOT_FOUND',
  'TXN_SEALED',
  'TXN_TOO_LARGE',
  'UNSUPPORTED_IN_TRANSACTION',
  'WRONG_SERVER',
] satisfies TransactionErrorCode[]);

function refusalOf(status: number, text: string): StoreException {
  let body: ApiJson;
  try {
    body = jsonOf(text, 'the server');
  } catch {
    return new ApiException(
      'HTTP',
      `HTTP status ${status}: ${text.slice(0, 200)}`,
      status,
      status >= 500,
    );
  }
  const code = typeof body['error'] === 'string' ? body['error'] : 'HTTP';
  const message = textOf(body['message']) ?? textOf(body['data']) ?? `HTTP status ${status}`;
  if (!CODES.has(code)) {
    return new ApiException(code, message, status, body['retryable'] === true);
  }
  const known = body['state'] === undefined ? {} : { status: statusOfJson(body) };
  const since = body['records_since'];
  return new TransactionException(code as TransactionErrorCode, message, {
    ...known,
    ...(typeof since === 'string' ? { recordsSince: BigInt(since) } : {}),
    ...(typeof body['line'] === 'number' ? { line: body['line'] } : {}),
    ...(typeof body['column'] === 'number' ? { column: body['column'] } : {}),
    ...(typeof body['server_id'] === 'string' ? { serverId: body['server_id'] } : {}),
  });
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);
const timeOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);
const tsoOf = (value: unknown): bigint | null => (typeof value === 'string' ? BigInt(value) : null);

/** A transaction's status as the API shows it. */
export function statusOfJson(json: ApiJson): TransactionStatus {
  return {
    txnId: tsoOf(json['txn_id']) ?? 0n,
    namespace: textOf(json['namespace']) ?? 'default',
    label: textOf(json['label']) ?? '',
    state: (textOf(json['state']) ?? 'OPEN') as TransactionPhase,
    reason: textOf(json['reason']) as AbortReason | null,
    tso: tsoOf(json['tso']),
    digest: textOf(json['digest']),
    rows: numberOf(json['rows']),
    cells: numberOf(json['cells']),
    bytes: numberOf(json['bytes']),
    isolation: (textOf(json['isolation']) ?? 'blind') as TransactionStatus['isolation'],
    timestamps: (textOf(json['timestamps']) ?? 'commit') as TransactionStatus['timestamps'],
    producer: textOf(json['producer']),
    epoch: timeOf(json['epoch']),
    startTso: tsoOf(json['start_tso']),
    createdMs: numberOf(json['created_at']),
    preparedMs: timeOf(json['prepared_at']),
    finishedMs: timeOf(json['finished_at']),
    expiresMs: timeOf(json['expires_at']),
  };
}
