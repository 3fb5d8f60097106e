/** `GET` and `POST /api/config`: the knobs, and changes of those that may change. For administrators. */
import type { FastifyInstance } from 'fastify';
import type { ApiParts } from './parts.ts';
import { badRequest, flagOf, jsonBody, textOf } from './request.ts';

const BODY_BYTES_MAX: number = 64 * 1024;

export function addConfigRoutes(app: FastifyInstance, parts: ApiParts): void {
  parts.add(app, ['GET'], '/api/config', async (request) => {
    parts.callerOf(request, true);
    return { status: 200, body: { status: 'OK', knobs: parts.connection.knobs() } };
  });
  parts.add(app, ['POST', 'PUT'], '/api/config', async (request) => {
    const caller = parts.callerOf(request, true);
    const body = await jsonBody(request, BODY_BYTES_MAX);
    const name = textOf(body, 'name');
    if (name === undefined || body['value'] === undefined)
      throw badRequest('name and value are missing');
    await parts.connection.setKnob(name, body['value'], { keep: flagOf(body, 'keep') });
    const { logger } = parts.connection.server;
    logger.warn({ who: caller.name, knob: name, value: body['value'] }, 'a knob was changed');
    const knob = parts.connection.knobs().find((one) => one.name === name);
    return { status: 200, body: { status: 'OK', ...knob } };
  });
}
