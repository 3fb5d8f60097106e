/** Bodies of requests: whole, cut off, or of a connection that is gone before anybody reads. */
import { PassThrough } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import { bodyBytes } from '../../src/server/http_api/request.ts';

/** What `bodyBytes` looks at of a request. */
const requestOf = (body: PassThrough): FastifyRequest => ({ body }) as unknown as FastifyRequest;

test('a body in pieces', async () => {
  const body = new PassThrough();
  const bytes = bodyBytes(requestOf(body), 100);
  body.write('one ');
  body.end('two');
  expect(Buffer.from(await bytes).toString()).toBe('one two');
});

test('a body that is too large', async () => {
  const body = new PassThrough();
  const bytes = bodyBytes(requestOf(body), 5);
  body.end('123456');
  await expect(bytes).rejects.toThrow('the body is larger than 5 bytes');
});

test.each(['before', 'while'])('a connection that ends %s its body is read', async (when) => {
  const body = new PassThrough();
  body.write('half');
  if (when === 'before') {
    body.destroy();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const bytes = bodyBytes(requestOf(body), 100);
  body.destroy();
  await expect(bytes).rejects.toThrow('the connection ended within a request');
});
