/** What the routes of the HTTP API share. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { StoreConnection } from '../../embedded/index.ts';
import type { Env } from '../../io/index.ts';
import type { Answer } from './answers.ts';
import type { ApiAuth, Authenticator, Caller } from './auth.ts';

export interface ApiOptions {
  readonly auth?: ApiAuth;
  /** /api/tso answers 200 whatever happened, with the code in the body, as Doris does. */
  readonly dorisStatusCodes?: boolean;
  /** The server whose oracle /api/tso shows, unless `local=true`: its URL. */
  readonly tsoMasterUrl?: string;
}

/** What the routes share. */
export interface ApiParts {
  readonly connection: StoreConnection;
  readonly env: Pick<Env, 'clock' | 'timers'>;
  readonly options: ApiOptions;
  readonly authenticator: Authenticator;
  /** The caller. Throws HttpRefusal 401; 403 where an administrator is asked for and he is none. */
  callerOf(request: FastifyRequest, needsAdmin: boolean): Caller;
  /** Adds a route that takes POST and PUT, or GET, and answers JSON. */
  add(
    app: FastifyInstance,
    methods: readonly ('GET' | 'POST' | 'PUT')[],
    path: string,
    handler: (request: FastifyRequest, caller: Caller) => Promise<Answer>,
  ): void;
}

export function sendAnswer(reply: FastifyReply, { status, body }: Answer): FastifyReply {
  return reply
    .code(status)
    .header('content-type', 'application/json; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(JSON.stringify(body));
}
