/** `/api/transaction/*` (transactions.md section 4). */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { TransactionException } from '../../model/index.ts';
import type {
  LoadResult,
  TransactionFilter,
  TransactionOptions,
  TransactionPhase,
} from '../../model/index.ts';
import { given, shownAnswer, shownError, shownRollback, shownStatus } from './answers.ts';
import type { Answer } from './answers.ts';
import type { ApiParts } from './parts.ts';
import type { Caller } from './auth.ts';
import { parseLines } from './load_lines.ts';
import {
  badRequest,
  bigintOf,
  bodyBytes,
  checkServer,
  flagOf,
  headerParameters,
  jsonBody,
  nameOf,
  numberOf,
  secondsOf,
  textOf,
} from './request.ts';
import type { Parameters } from './request.ts';
import { starrocksAnswer } from './starrocks.ts';

const BODY_BYTES_MAX: number = 4 * 1024 * 1024;
const ITEMS_MAX = 10_000;
const PHASES: ReadonlySet<string> = new Set(['OPEN', 'PREPARED', 'COMMITTED', 'ABORTED']);
/** The binary form of a load: KeyValues, each behind its u32 length. */
const CELLS_TYPE = 'application/octet-stream';

type Verb = (parameters: Parameters, caller: Caller) => Promise<Answer>;

export function addTransactionRoutes(app: FastifyInstance, parts: ApiParts): void {
  const { transactions } = parts.connection;
  const verb = (name: string, run: Verb, takesItems: boolean = false): void => {
    parts.add(app, ['POST', 'PUT'], `/api/transaction/${name}`, async (request, caller) => {
      const header = headerParameters(request);
      const isStarRocks = Object.keys(header).length > 0;
      const query = request.query as Parameters;
      const body = await jsonBody(request, BODY_BYTES_MAX);
      const parameters = { ...header, ...query, ...body };
      const { items } = body;
      if (takesItems && items !== undefined) return runItems(items, parameters, run, caller);
      const answer = await answerOf(() => run(parameters, caller));
      return isStarRocks ? starrocksAnswer(answer, parameters) : answer;
    });
  };
  verb('fence', async (parameters) => {
    checkServer(parameters, transactions.serverId);
    const { epoch, aborted } = await transactions.fence(textOf(parameters, 'producer') ?? '');
    return { status: 200, body: { status: 'OK', epoch, aborted } };
  });
  verb('begin', async (parameters) => {
    checkServer(parameters, transactions.serverId);
    return shownAnswer(await transactions.begin(beginOf(parameters)), transactions.serverId);
  });
  verb('prepare', async (parameters) => {
    checkServer(parameters, transactions.serverId);
    const answer = await transactions.prepare(nameOf(parameters), prepareOf(parameters));
    return shownAnswer(answer, transactions.serverId);
  });
  const commit: Verb = async (parameters, caller) => {
    checkServer(parameters, transactions.serverId);
    const onePhase = flagOf(parameters, 'one_phase');
    const answer = await transactions.commit(nameOf(parameters), { onePhase });
    parts.connection.server.logger.debug(
      { who: caller.name, label: answer.label, tso: String(answer.tso) },
      'commit over HTTP',
    );
    return shownAnswer(answer, transactions.serverId);
  };
  verb('commit', commit, true);
  const rollback: Verb = async (parameters) => {
    checkServer(parameters, transactions.serverId);
    const tombstone = flagOf(parameters, 'tombstone');
    return shownRollback(await transactions.rollback(nameOf(parameters), { tombstone }));
  };
  verb('rollback', rollback, true);
  parts.add(app, ['POST', 'PUT'], '/api/transaction/load', (request) => load(parts, request));
  addQuestions(app, parts);
}

/** What changes nothing. */
function addQuestions(app: FastifyInstance, parts: ApiParts): void {
  const { transactions } = parts.connection;
  parts.add(app, ['GET'], '/api/transaction/status', async (request) => {
    const query = request.query as Parameters;
    checkServer(query, transactions.serverId);
    const status = await transactions.status(nameOf(query));
    return {
      status: 200,
      body: { status: 'OK', ...shownStatus(status), server_id: transactions.serverId },
    };
  });
  parts.add(app, ['GET'], '/api/transaction/list', async (request) => {
    const query = request.query as Parameters;
    checkServer(query, transactions.serverId);
    const filter = filterOf(query);
    const found = await transactions.list(filter);
    const last = found.at(-1);
    const more = last !== undefined && found.length === (filter.limit ?? 100);
    return {
      status: 200,
      body: {
        status: 'OK',
        transactions: found.map(shownStatus),
        ...(more ? { next_after: String(last.txnId) } : {}),
        server_id: transactions.serverId,
      },
    };
  });
}

async function answerOf(run: () => Promise<Answer>): Promise<Answer> {
  try {
    return await run();
  } catch (error) {
    return shownError(error);
  }
}

/** Each item answered by itself, in order; together they are not atomic. */
async function runItems(
  items: unknown,
  common: Parameters,
  run: Verb,
  caller: Caller,
): Promise<Answer> {
  if (!Array.isArray(items) || items.length > ITEMS_MAX) {
    throw badRequest(`items is a list of at most ${ITEMS_MAX}`);
  }
  const answers: unknown[] = [];
  for (const item of items as unknown[]) {
    if (typeof item !== 'object' || item === null) throw badRequest('an item is an object');
    const answer = await answerOf(() => run({ ...common, ...(item as Parameters) }, caller));
    answers.push({ code: answer.status, ...answer.body });
  }
  return { status: 200, body: { status: 'OK', items: answers } };
}

export function beginOf(parameters: Parameters): TransactionOptions {
  const epoch = numberOf(parameters, 'epoch');
  return {
    label: textOf(parameters, 'label') ?? '',
    ...given({
      namespace: textOf(parameters, 'namespace') ?? textOf(parameters, 'db'),
      timeoutMs: secondsOf(parameters, 'timeout'),
      idleTimeoutMs: secondsOf(parameters, 'idle_transaction_timeout'),
      preparedTimeoutMs: secondsOf(parameters, 'prepared_timeout'),
      isolation: textOf(parameters, 'isolation'),
      timestamps: textOf(parameters, 'timestamps'),
      producer: textOf(parameters, 'producer'),
      epoch,
      requestId: textOf(parameters, 'request_id'),
    }),
  };
}

function prepareOf(parameters: Parameters): {
  preparedTimeoutMs?: number;
  expect?: { rows?: number; cells?: number };
  epoch?: number;
} {
  const { expect } = parameters;
  if (expect !== undefined && (typeof expect !== 'object' || expect === null)) {
    throw badRequest('expect is an object such as {"rows":4}');
  }
  const wanted = (expect ?? {}) as Parameters;
  const preparedTimeoutMs = secondsOf(parameters, 'prepared_timeout');
  const rows = numberOf(wanted, 'rows');
  const cells = numberOf(wanted, 'cells');
  const epoch = numberOf(parameters, 'epoch');
  return {
    ...(preparedTimeoutMs === undefined ? {} : { preparedTimeoutMs }),
    ...(epoch === undefined ? {} : { epoch }),
    expect: {
      ...(rows === undefined ? {} : { rows }),
      ...(cells === undefined ? {} : { cells }),
    },
  };
}

export function filterOf(query: Parameters): TransactionFilter {
  const state = textOf(query, 'state');
  if (state !== undefined && !PHASES.has(state)) {
    throw badRequest(`state is one of ${[...PHASES].join(', ')}`);
  }
  const namespace = textOf(query, 'namespace');
  const prefix = textOf(query, 'prefix');
  const limit = numberOf(query, 'limit');
  const after = bigintOf(query, 'after');
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(state === undefined ? {} : { state: state as TransactionPhase }),
    ...(prefix === undefined ? {} : { prefix }),
    ...(limit === undefined ? {} : { limit }),
    ...(after === undefined ? {} : { after }),
  };
}

/** The body is lines of JSON, or cells; everything else is in the query or in headers. */
async function load(parts: ApiParts, request: FastifyRequest): Promise<Answer> {
  const header = headerParameters(request);
  const isStarRocks = Object.keys(header).length > 0;
  const parameters = { ...header, ...(request.query as Parameters) };
  const { transactions } = parts.connection;
  const answer = await answerOf(async () => {
    checkServer(parameters, transactions.serverId);
    const result = await loadBody(parts, request, parameters);
    return { status: 200, body: { status: 'OK', ...result } };
  });
  const { body } = answer;
  const withState =
    answer.status >= 400 && body['state'] === undefined
      ? { ...answer, body: { ...body, ...(await stateOf(parts, parameters)) } }
      : answer;
  return isStarRocks ? starrocksAnswer(withState, parameters) : withState;
}

async function loadBody(
  parts: ApiParts,
  request: FastifyRequest,
  parameters: Parameters,
): Promise<LoadResult> {
  const { transactions } = parts.connection;
  const encoding = textOf(parameters, 'encoding') ?? 'base64';
  if (encoding !== 'base64' && encoding !== 'utf8') throw badRequest('encoding is base64 or utf8');
  const seq = numberOf(parameters, 'seq') ?? 0;
  const table = textOf(parameters, 'table');
  const epoch = numberOf(parameters, 'epoch');
  const options = {
    ...(table === undefined ? {} : { table }),
    ...(epoch === undefined ? {} : { epoch }),
    abortOnError: flagOf(parameters, 'abort_on_error'),
  };
  const name = nameOf(parameters);
  // Base64 and the names of members take about as much again as the cells.
  const bytesMax = transactions.knobs.txn_max_request_bytes * 2 + 1024;
  const body = await bodyBytes(request, bytesMax);
  const isCells = request.headers['content-type']?.startsWith(CELLS_TYPE) === true;
  if (isCells) return transactions.loadCells(name, seq, body, options);
  return transactions.load(name, seq, parseLines(body, encoding), options);
}

/** A refused load says how the transaction stands. */
async function stateOf(parts: ApiParts, parameters: Parameters): Promise<Parameters> {
  try {
    const { state } = await parts.connection.transactions.status(nameOf(parameters));
    return { state };
  } catch (error) {
    if (error instanceof TransactionException) return {};
    throw error;
  }
}
