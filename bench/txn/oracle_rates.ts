/** Stamps a second: in the process, and over HTTP beside a bare server of the same framework. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { fastify } from 'fastify';
import { product } from './product.ts';

const HTTP_ROUNDS = 4;

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

/** Of one server: calls a second, and its own time. */
interface Rate {
  calls: number;
  seconds: number;
  cpuMicros: number;
}

/**
 * `POST /api/tso` at 32 connections, and the same of a server that does nothing, in turns. The client is a process of its own, so
 * that its work counts for neither.
 */
export async function httpRates(dir: string, seconds: number): Promise<Record<string, number>> {
  const bare = fastify();
  bare.post('/', async () => ({ code: 0 }));
  await bare.listen({ port: 0, host: '127.0.0.1' });
  const address = bare.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const connection = await (await product()).open(dir);
  const server = await (await product()).startServer({ connection, http: { port: 0 } });
  const own = Number(new URL(server.addresses.http!).port);
  const limit: Rate = { calls: 0, seconds: 0, cpuMicros: 0 };
  const ours: Rate = { calls: 0, seconds: 0, cpuMicros: 0 };
  await count(port, '/', seconds / 4);
  await count(own, '/api/tso', seconds / 4);
  for (let round = 0; round < HTTP_ROUNDS; round++) {
    await measure(limit, port, '/', seconds / HTTP_ROUNDS);
    await measure(ours, own, '/api/tso', seconds / HTTP_ROUNDS);
  }
  await server.close();
  await connection.close();
  await bare.close();
  const rateOf = ({ calls, seconds: took }: Rate): number => calls / took;
  const cpuOf = ({ calls, cpuMicros }: Rate): number => Number((cpuMicros / calls).toFixed(1));
  return {
    httpBarePerSecond: Math.round(rateOf(limit)),
    httpTsoPerSecond: Math.round(rateOf(ours)),
    httpShareOfBare: Number((rateOf(ours) / rateOf(limit)).toFixed(3)),
    httpBareCpuMicros: cpuOf(limit),
    httpTsoCpuMicros: cpuOf(ours),
  };
}

async function measure(rate: Rate, port: number, where: string, seconds: number): Promise<void> {
  const before = process.cpuUsage();
  const { calls, tookSeconds } = await count(port, where, seconds);
  const { user, system } = process.cpuUsage(before);
  rate.calls += calls;
  rate.seconds += tookSeconds;
  rate.cpuMicros += user + system;
}

/** Calls of a child that keeps 32 connections busy. */
async function count(
  port: number,
  where: string,
  seconds: number,
): Promise<{ calls: number; tookSeconds: number }> {
  const script = fileURLToPath(new URL('./http_client.js', import.meta.url));
  const child = spawn(process.execPath, [script, String(port), where, String(seconds)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (part: Buffer) => (text += part.toString()));
  const status = await new Promise((resolve) => child.on('close', resolve));
  if (status !== 0) throw new Error(`the client ended with status ${String(status)}`);
  return JSON.parse(text) as { calls: number; tookSeconds: number };
}
