/** `GET` and `POST /api/tso` in the envelope that Doris uses. The four integers are written as exact JSON integers. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { StoreException } from '../../io/index.ts';
import { StoreClosedException, TransactionException } from '../../model/index.ts';
import { formatTso } from '../../tso/index.ts';
import type { OracleSnapshot } from '../../tso/index.ts';
import { HttpRefusal } from './answers.ts';
import type { ApiParts } from './parts.ts';
import { badRequest, jsonBody, numberOf } from './request.ts';

const COUNT_MAX = 10_000;
const BODY_BYTES_MAX = 64 * 1024;
const FORWARD_TIMEOUT_MS = 5_000;

/** The envelope as text. */
interface Envelope {
  readonly status: number;
  readonly text: string;
}

export function addTsoRoutes(app: FastifyInstance, parts: ApiParts): void {
  const route = (
    method: 'GET' | 'POST',
    handler: (request: FastifyRequest) => Promise<Envelope>,
  ): void => {
    app.route({
      method,
      url: '/api/tso',
      handler: async (request, reply) => {
        let envelope: Envelope;
        try {
          parts.callerOf(request, true);
          envelope = await handler(request);
        } catch (error) {
          envelope = failure(error);
        }
        return send(reply, envelope, parts.options.dorisStatusCodes === true);
      },
    });
  };
  route('GET', async (request) => {
    const { tsoMasterUrl } = parts.options;
    const query = request.query as Readonly<Record<string, unknown>>;
    if (tsoMasterUrl !== undefined && query['local'] !== 'true') {
      return forward(parts, tsoMasterUrl, request);
    }
    const { oracle } = parts.connection.server;
    parts.connection.server.checkOpen();
    return { status: 200, text: success(snapshotText(oracle.snapshot())) };
  });
  route('POST', async (request) => {
    const body = await jsonBody(request, BODY_BYTES_MAX);
    const count = numberOf(body, 'count') ?? 1;
    if (count < 1 || count > COUNT_MAX) throw badRequest(`count is from 1 to ${COUNT_MAX}`);
    const { server } = parts.connection;
    server.checkOpen();
    const { first, last } = await server.oracle.allocate(count);
    return { status: 200, text: success(`{"first":"${first}","last":"${last}"}`) };
  });
}

function send(reply: FastifyReply, { status, text }: Envelope, isDoris: boolean): FastifyReply {
  if (status === 401) reply.header('www-authenticate', 'Basic realm="cellar"');
  return reply
    .code(isDoris ? 200 : status)
    .header('content-type', 'application/json; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(text);
}

const success = (data: string): string => `{"code":0,"msg":"success","data":${data}}`;

/** `data` of the snapshot; see transactions.md section 1. */
export function snapshotText(snapshot: OracleSnapshot): string {
  const { currentTso, committedTso, initialized, reason, serverId } = snapshot;
  return (
    `{"window_end_physical_time":${snapshot.windowEndPhysicalTime},"current_tso":${currentTso},` +
    `"current_tso_physical_time":${snapshot.currentTsoPhysicalTime},` +
    `"current_tso_logical_counter":${snapshot.currentTsoLogicalCounter},` +
    `"current_tso_text":"${currentTso}","current_tso_time":${JSON.stringify(formatTso(currentTso))},` +
    `"committed_tso":"${committedTso}",` +
    `"initialized":${initialized},"reason":${JSON.stringify(reason)},"server_id":${JSON.stringify(serverId)}}`
  );
}

function failure(error: unknown): Envelope {
  const message = error instanceof Error ? error.message : String(error);
  const status = statusOf(error);
  return {
    status,
    text: JSON.stringify({ code: status, msg: wordOf(status), data: message }),
  };
}

function statusOf(error: unknown): number {
  if (error instanceof HttpRefusal) return error.statusCode;
  if (error instanceof TransactionException) return 400;
  if (error instanceof StoreClosedException) return 503;
  return error instanceof StoreException && error.retryable ? 503 : 500;
}

function wordOf(status: number): string {
  switch (status) {
    case 400:
      return 'Bad Request';
    case 401:
      return 'Unauthorized';
    case 403:
      return 'Forbidden';
    case 502:
      return 'Bad Gateway';
    case 503:
      return 'Service Unavailable';
    case 504:
      return 'Gateway Timeout';
    default:
      return 'Internal Server Error';
  }
}

/** Asks the master, with the caller's own credentials, and adds its address. */
async function forward(
  parts: ApiParts,
  master: string,
  request: FastifyRequest,
): Promise<Envelope> {
  const stop = new AbortController();
  const timer = parts.env.timers.after(FORWARD_TIMEOUT_MS, () => stop.abort());
  const { authorization } = request.headers;
  try {
    const response = await fetch(new URL('/api/tso?local=true', master), {
      headers: authorization === undefined ? {} : { authorization },
      signal: stop.signal,
    });
    const text = await response.text();
    const at = text.indexOf('"data":{');
    if (!response.ok || at < 0) return { status: response.ok ? 502 : response.status, text };
    const address = JSON.stringify(new URL(master).host);
    const cut = at + '"data":{'.length;
    return {
      status: 200,
      text: `${text.slice(0, cut)}"master_fe_addr":${address},${text.slice(cut)}`,
    };
  } catch (error) {
    const status = stop.signal.aborted ? 504 : 502;
    const message = error instanceof Error ? error.message : String(error);
    throw new HttpRefusal(
      status,
      'FORWARD_FAILED',
      `${master} could not be asked: ${message}`,
      true,
    );
  } finally {
    timer.cancel();
  }
}
