/** `GET /api/changes`: the change feed as lines of JSON, streamed as fast as the client takes them. */
import { Readable } from 'node:stream';
import { createGzip, constants } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { FEED_FORMATS, FEED_MODES, FeedFormatter, changesOf } from '../../backup/feed/index.ts';
import type { ChangesOptions, FormatOptions } from '../../backup/feed/index.ts';
import { shownError } from './answers.ts';
import { sendAnswer } from './parts.ts';
import type { ApiParts } from './parts.ts';
import { badRequest, bigintOf, flagOf, numberOf, textOf } from './request.ts';
import type { Parameters } from './request.ts';

/** Lines are sent in pieces of about so many characters. */
const PIECE_LENGTH: number = 64 * 1024;
const HEARTBEAT_MS = 1_000;

export function addChangesRoute(app: FastifyInstance, parts: ApiParts): void {
  app.get('/api/changes', async (request, reply) => {
    try {
      parts.callerOf(request, false);
      return await send(parts, request, reply);
    } catch (error) {
      const answer = shownError(error);
      if (answer.status === 401) reply.header('www-authenticate', 'Basic realm="cellar"');
      return sendAnswer(reply, answer);
    }
  });
}

async function send(
  parts: ApiParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const query = request.query as Parameters;
  const stop = new AbortController();
  request.raw.socket.once('close', () => stop.abort());
  const options = changesOptionsOf(query, stop.signal);
  const { server } = parts.connection;
  const formatter = new FeedFormatter(formatOptionsOf(query, server.manifest.store.serverId));
  const page: Page = { next: null, tells: formatter.tellsProgress };
  const pieces = piecesOf(parts, options, formatter, numberOf(query, 'limit'), page);
  // What is wrong with the request shows at the first step, while a status can still be sent.
  const first = await pieces.next();
  reply.header('content-type', 'application/x-ndjson; charset=utf-8');
  reply.header('cache-control', 'no-store');
  // For every format: where the next page begins.
  reply.trailer('x-next-from-tso', (_reply, _payload, done) => {
    done(null, page.next === null ? '' : String(page.next));
  });
  const lines = Readable.from(withFirst(first, pieces), { objectMode: false });
  const takesGzip = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
  if (!takesGzip) return reply.send(lines);
  reply.header('content-encoding', 'gzip');
  const gzip = createGzip({ flush: constants.Z_SYNC_FLUSH });
  lines.once('error', (error) => gzip.destroy(error));
  return reply.send(lines.pipe(gzip));
}

export function changesOptionsOf(query: Parameters, signal: AbortSignal): ChangesOptions {
  const from = bigintOf(query, 'from_tso');
  const to = bigintOf(query, 'to_tso');
  const table = textOf(query, 'table');
  const follow = flagOf(query, 'follow');
  const heartbeat = query['heartbeat'] === undefined ? undefined : numberOf(query, 'heartbeat');
  return {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(table === undefined ? {} : { tables: table.split(',') }),
    follow,
    signal,
    heartbeatMs: heartbeat ?? (follow ? HEARTBEAT_MS : 0),
  };
}

function formatOptionsOf(query: Parameters, serverId: string): FormatOptions {
  const format = textOf(query, 'format') ?? 'cell';
  const mode = textOf(query, 'mode') ?? 'DETAIL';
  const encoding = textOf(query, 'encoding') ?? 'base64';
  const wrapped = textOf(query, 'wrap') ?? 'cell';
  const knownFormat = FEED_FORMATS.find((one) => one === format);
  const knownMode = FEED_MODES.find((one) => one === mode);
  const knownWrapped = FEED_FORMATS.find((one) => one === wrapped);
  if (knownFormat === undefined) throw badRequest(`format is one of ${FEED_FORMATS.join(', ')}`);
  if (knownMode === undefined) throw badRequest(`mode is one of ${FEED_MODES.join(', ')}`);
  if (encoding !== 'base64' && encoding !== 'utf8') throw badRequest('encoding is base64 or utf8');
  if (knownWrapped === undefined || knownWrapped === 'cloudevents') {
    throw badRequest('wrap is cell, debezium or doris');
  }
  if (knownMode === 'MIN_DELTA' && flagOf(query, 'follow')) {
    throw badRequest('MIN_DELTA is of a window: it cannot follow');
  }
  return {
    format: knownFormat,
    mode: knownMode,
    encoding,
    wrapped: knownWrapped,
    heartbeats: query['heartbeat'] !== undefined,
    serverId,
  };
}

/** How far a page came. */
interface Page {
  next: bigint | null;
  /** Lines that are no changes may stand in it. */
  readonly tells: boolean;
}

/** Lines in pieces; a page ends after the commit that reaches `limit` lines, and says where to go on. */
async function* piecesOf(
  parts: ApiParts,
  options: ChangesOptions,
  formatter: FeedFormatter,
  limit: number | undefined,
  page: Page,
): AsyncGenerator<string, void, void> {
  let text = '';
  let count = 0;
  let isWhole = true;
  for await (const change of changesOf(parts.connection.server, options)) {
    const lines = formatter.lines(change);
    for (const line of lines) text += `${line}\n`;
    count += lines.length;
    if (change.kind === 'commit') {
      isWhole = change.isLast;
      if (isWhole) page.next = change.tso + 1n;
    } else if (change.kind === 'watermark') page.next = change.tso;
    const isFull = isWhole && limit !== undefined && count >= limit;
    if (text.length >= PIECE_LENGTH || (options.follow === true && text !== '') || isFull) {
      yield text;
      text = '';
    }
    if (isFull) break;
  }
  if (page.next !== null && page.tells && options.follow !== true) {
    text += `{"next_from_tso":"${page.next}"}\n`;
  }
  if (text !== '') yield text;
}

async function* withFirst(
  first: IteratorResult<string, void>,
  rest: AsyncGenerator<string, void, void>,
): AsyncGenerator<string, void, void> {
  try {
    if (first.done === true) return;
    yield first.value;
    yield* rest;
  } finally {
    await rest.return();
  }
}
