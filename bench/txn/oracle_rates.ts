/** Stamps a second: in the process, and over HTTP beside a bare server of the same framework. */
import { Agent, request } from 'node:http';
import { fastify } from 'fastify';
import { product } from './product.ts';

const CONNECTIONS = 32;

/** `allocate(1)` one after the other, each giving a bigint. */
export async function allocations(dir: string, seconds: number): Promise<Record<string, number>> {
  const connection = await (await product()).open(dir);
  const { oracle } = connection.server;
  let count = 0;
  let last = 0n;
  const start = performance.now();
  const end = start + seconds * 1000;
  while (performance.now() < end) {
    for (let i = 0; i < 1000; i++) {
      const { first } = await oracle.allocate(1);
      if (first <= last) throw new Error('stamps grow');
      last = first;
    }
    count += 1000;
  }
  const rate = (count / (performance.now() - start)) * 1000;
  await connection.close();
  return { allocationsPerSecond: Math.round(rate) };
}

/** `POST /api/tso` at 32 connections, and the same of a server that does nothing. */
export async function httpRates(dir: string, seconds: number): Promise<Record<string, number>> {
  const bare = fastify();
  bare.post('/', async () => ({ code: 0 }));
  await bare.listen({ port: 0, host: '127.0.0.1' });
  const address = bare.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const connection = await (await product()).open(dir);
  const server = await (await product()).startServer({ connection, http: { port: 0 } });
  const own = new URL(server.addresses.http!);
  await rateOf(port, '/', seconds / 4);
  const limit = await rateOf(port, '/', seconds);
  await rateOf(Number(own.port), '/api/tso', seconds / 4);
  const rate = await rateOf(Number(own.port), '/api/tso', seconds);
  await server.close();
  await connection.close();
  await bare.close();
  return {
    httpBarePerSecond: Math.round(limit),
    httpTsoPerSecond: Math.round(rate),
    httpShareOfBare: Number((rate / limit).toFixed(3)),
  };
}

async function rateOf(port: number, where: string, seconds: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const end = performance.now() + seconds * 1000;
  let count = 0;
  const one = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const call = request(
        {
          port,
          host: '127.0.0.1',
          path: where,
          method: 'POST',
          agent,
          headers: { 'content-type': 'application/json', 'content-length': 2 },
        },
        (response) => {
          response.resume();
          response.on('end', resolve);
        },
      );
      call.on('error', reject);
      call.end('{}');
    });
  const start = performance.now();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (performance.now() < end) {
        await one();
        count++;
      }
    }),
  );
  const rate = (count / (performance.now() - start)) * 1000;
  agent.destroy();
  return rate;
}
