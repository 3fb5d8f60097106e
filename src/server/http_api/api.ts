/**
 * The HTTP API: /api/tso, /api/transaction/*, /api/xa/*, /api/changes (transactions.md sections 1, 4 and 6). Bodies are read
 * as streams, each within its limit; answers are JSON with true statuses.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { StoreConnection } from '../../embedded/index.ts';
import type { Env } from '../../io/index.ts';
import { HttpRefusal, shownError } from './answers.ts';
import type { Answer } from './answers.ts';
import { Authenticator } from './auth.ts';
import type { ApiAuth, Caller } from './auth.ts';
import { addChangesRoute } from './changes.ts';
import { addTransactionRoutes } from './transactions.ts';
import { addTsoRoutes } from './tso.ts';
import { addXaRoutes } from './xa.ts';

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

/** JSON with the members as they are; the values that are `RawJson` stand in it as their text. */
export function jsonText(body: unknown): string {
  return JSON.stringify(body);
}

export function sendAnswer(reply: FastifyReply, { status, body }: Answer): FastifyReply {
  return reply
    .code(status)
    .header('content-type', 'application/json; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(jsonText(body));
}

/** Adds the API to an app, in a scope of its own. */
export function addApi(
  app: FastifyInstance,
  connection: StoreConnection,
  env: Pick<Env, 'clock' | 'timers'>,
  options: ApiOptions,
): void {
  const authenticator = new Authenticator(options.auth);
  const parts: ApiParts = {
    connection,
    env,
    options,
    authenticator,
    callerOf: (request, needsAdmin) => {
      const caller = authenticator.callerOf(request.headers.authorization);
      if (caller === null) {
        throw new HttpRefusal(401, 'UNAUTHORIZED', 'user and password, or a token, are missing or wrong');
      }
      if (needsAdmin && !caller.isAdmin) {
        throw new HttpRefusal(403, 'FORBIDDEN', `${caller.name} is no administrator`);
      }
      return caller;
    },
    add: (scope, methods, path, handler) => {
      scope.route({
        method: [...methods],
        url: path,
        handler: async (request, reply) => {
          let answer: Answer;
          try {
            answer = await handler(request, parts.callerOf(request, false));
          } catch (error) {
            answer = shownError(error);
            if (answer.status >= 500) request.log.error(error, 'request failed');
            if (answer.status === 401) reply.header('www-authenticate', 'Basic realm="cellar"');
          }
          return sendAnswer(reply, answer);
        },
      });
    },
  };
  void app.register(async (scope) => {
    // Bodies are the handlers' to read, of whatever type they say they are.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    addTsoRoutes(scope, parts);
    addTransactionRoutes(scope, parts);
    addXaRoutes(scope, parts);
    addChangesRoute(scope, parts);
  });
}
