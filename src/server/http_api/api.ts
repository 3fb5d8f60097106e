/**
 * The HTTP API: /api/tso, /api/transaction/*, /api/xa/*, /api/changes (transactions.md sections 1, 4 and 6). Bodies are read
 * as streams, each within its limit; answers are JSON with true statuses.
 */
import type { FastifyInstance } from 'fastify';
import type { StoreConnection } from '../../embedded/index.ts';
import type { Env } from '../../io/index.ts';
import { HttpRefusal, shownError } from './answers.ts';
import type { Answer } from './answers.ts';
import { Authenticator } from './auth.ts';
import { addChangesRoute } from './changes.ts';
import { addConfigRoutes } from './config.ts';
import { sendAnswer } from './parts.ts';
import type { ApiOptions, ApiParts } from './parts.ts';
import { addTaskRoute } from './tasks.ts';
import { addTransactionRoutes } from './transactions.ts';
import { addTsoRoutes } from './tso.ts';
import { addXaRoutes } from './xa.ts';

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
        throw new HttpRefusal(
          401,
          'UNAUTHORIZED',
          'user and password, or a token, are missing or wrong',
        );
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
    addConfigRoutes(scope, parts);
    addTaskRoute(scope, parts);
  });
}
