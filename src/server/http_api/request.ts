/** A request's parameters, from the query, the JSON body and, as StarRocks's clients send them, headers. */
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { TransactionException } from '../../model/index.ts';
import type { TransactionName } from '../../model/index.ts';
import { HttpRefusal } from './answers.ts';

export type Parameters = Readonly<Record<string, unknown>>;

/** Header → parameter. */
const HEADERS: readonly (readonly [header: string, parameter: string])[] = [
  ['label', 'label'],
  ['db', 'namespace'],
  ['table', 'table'],
  ['timeout', 'timeout'],
  ['idle_transaction_timeout', 'idle_transaction_timeout'],
  ['prepared_timeout', 'prepared_timeout'],
];

/** Parameters that came as headers. */
export function headerParameters(request: FastifyRequest): Parameters {
  const found: Record<string, unknown> = {};
  for (const [header, parameter] of HEADERS) {
    const value = request.headers[header];
    if (typeof value === 'string' && value !== '') found[parameter] = value;
  }
  return found;
}

/**
 * Reads the whole body. Rejects with REQUEST_TOO_LARGE, and with the connection's error if it ends in between. (By events: an
 * iterator over the stream costs a small request a tenth of its time.)
 */
export function bodyBytes(request: FastifyRequest, bytesMax: number): Promise<Uint8Array> {
  const stream = request.body as IncomingMessage | undefined;
  if (stream === undefined || stream === null) return Promise.resolve(new Uint8Array(0));
  return new Promise((resolve, reject) => {
    const ended = (): Error => new Error('the connection ended within a request');
    // Nothing more would be heard of it.
    if (stream.destroyed && !stream.readableEnded) {
      reject(ended());
      return;
    }
    const parts: Uint8Array[] = [];
    let size = 0;
    const take = (part: Uint8Array): void => {
      size += part.length;
      if (size <= bytesMax) {
        parts.push(part);
        return;
      }
      // The rest is thrown away: whoever sends it is to read the answer.
      parts.length = 0;
      stream.off('data', take).resume();
      const message = `the body is larger than ${bytesMax} bytes`;
      reject(new TransactionException('REQUEST_TOO_LARGE', message));
    };
    stream
      .on('data', take)
      .once('end', () => resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts, size)))
      .once('error', reject)
      // Behind each whole request, too: an error made there for nothing would cost as much as the request.
      .once('close', () => {
        if (!stream.readableEnded) reject(ended());
      });
  });
}

/** The JSON object of a body; empty for none. */
export async function jsonBody(request: FastifyRequest, bytesMax: number): Promise<Parameters> {
  const bytes = await bodyBytes(request, bytesMax);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8').trim();
  if (text === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw badRequest(`the body is no JSON: ${error instanceof Error ? error.message : ''}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest('the body is a JSON object');
  }
  return value as Parameters;
}

export function badRequest(message: string): TransactionException {
  return new TransactionException('BAD_REQUEST', message);
}

/** A text parameter; undefined: not given. */
export function textOf(parameters: Parameters, name: string): string | undefined {
  const value = parameters[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  throw badRequest(`${name} must be text`);
}

/** A whole number, also as text. */
export function numberOf(parameters: Parameters, name: string): number | undefined {
  const value = parameters[name];
  if (value === undefined || value === null || value === '') return undefined;
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isSafeInteger(number) && number >= 0) return number;
  throw badRequest(`${name} must be a whole number, not ${JSON.stringify(value)}`);
}

/** A 64-bit number as decimal text (a JSON number only where it is exact). */
export function bigintOf(parameters: Parameters, name: string): bigint | undefined {
  const value = parameters[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string' && /^\d{1,19}$/.test(value)) return BigInt(value);
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  throw badRequest(`${name} must be a decimal number as text, not ${JSON.stringify(value)}`);
}

export function flagOf(parameters: Parameters, name: string): boolean {
  const value = parameters[name];
  if (value === undefined || value === null) return false;
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw badRequest(`${name} must be true or false`);
}

/** Milliseconds of a parameter in seconds. */
export function secondsOf(parameters: Parameters, name: string): number | undefined {
  const seconds = numberOf(parameters, name);
  return seconds === undefined ? undefined : seconds * 1000;
}

/** Whom a verb is about. */
export function nameOf(parameters: Parameters): TransactionName {
  const label = textOf(parameters, 'label');
  const txnId = bigintOf(parameters, 'txn_id');
  const namespace = textOf(parameters, 'namespace') ?? textOf(parameters, 'db');
  if (label === undefined && txnId === undefined) throw badRequest('label or txn_id is missing');
  return {
    ...(label === undefined ? {} : { label }),
    ...(txnId === undefined ? {} : { txnId }),
    ...(namespace === undefined ? {} : { namespace }),
  };
}

/** Refuses verbs for another server: a transaction is pinned to the one that began it. */
export function checkServer(parameters: Parameters, serverId: string): void {
  const wanted = textOf(parameters, 'server_id');
  if (wanted === undefined || wanted === serverId) return;
  throw new TransactionException(
    'WRONG_SERVER',
    `this is server ${serverId}, the transaction is of server ${wanted}`,
    { serverId },
  );
}

/** Refuses a method or path that is none. */
export function refuse(status: number, error: string, message: string): HttpRefusal {
  return new HttpRefusal(status, error, message);
}
