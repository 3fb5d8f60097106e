/**
 * The HTTP door: `/health` for whoever watches over the process, `/metrics` for Prometheus, `/advertise`, and the API.
 * Everything a client can make the server hold is bounded: sizes, times, connections.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply } from 'fastify';
import { StoreConnection } from '../embedded/index.ts';
import { StoreException } from '../io/index.ts';
import type { Env } from '../io/index.ts';
import type { Connection } from '../model/index.ts';
import { addAdvertiseRoutes } from './advertise.ts';
import type { Advertiser } from './advertise.ts';
import type { Door } from './door.ts';
import { foreignPageOf } from './foreign_pages.ts';
import { addApi, transactionMetricsText } from './http_api/index.ts';
import { Authenticator } from './http_api/index.ts';
import type { ApiOptions } from './http_api/index.ts';
import type { HttpLimits } from './http_limits.ts';
import { METRICS_CONTENT_TYPE, metricsText } from './metrics.ts';
import { ProcessWatch } from './process_figures.ts';

export interface HttpServerOptions {
  readonly connection: Connection;
  readonly env: Pick<Env, 'clock' | 'timers'>;
  readonly limits: HttpLimits;
  /** Of /api/…: who may call it, and what it answers. */
  readonly api?: ApiOptions;
  /** What clients are told can be changed here. Absent: it cannot. */
  readonly advertiser?: Advertiser;
  /** Absent: nothing is logged. */
  readonly logger?: FastifyBaseLogger;
}

/** A running HTTP server. It does not listen: connections are handed to it. */
export class HttpServer implements Door {
  readonly #app: FastifyInstance;
  readonly #watch: ProcessWatch;
  readonly #sockets: Sockets;
  readonly #options: HttpServerOptions;

  private constructor(parts: HttpServerParts, options: HttpServerOptions) {
    this.#app = parts.app;
    this.#watch = parts.watch;
    this.#sockets = parts.sockets;
    this.#options = options;
  }

  static async start(options: HttpServerOptions): Promise<HttpServer> {
    const watch = new ProcessWatch(options.env.clock);
    const app = await makeApp(options);
    const sockets = new Sockets(app.server);
    if (new Authenticator(options.api?.auth).isOpen) refuseForeignPages(app, options.advertiser);
    addRoutes(app, options.connection, watch);
    const { connection } = options;
    if (connection instanceof StoreConnection)
      addApi(app, connection, options.env, options.api ?? {});
    if (options.advertiser !== undefined) addAdvertiseRoutes(app, options.advertiser);
    try {
      await app.ready();
    } catch (error) {
      watch.close();
      await app.close();
      throw error;
    }
    return new HttpServer({ app, watch, sockets }, options);
  }

  accept(socket: Socket): void {
    this.#app.server.emit('connection', socket);
    socket.resume();
  }

  /** Takes no more requests, lets running ones finish for a bounded time, closes the other connections. */
  async close(): Promise<void> {
    this.#watch.close();
    const closed = this.#app.close();
    this.#sockets.closeQuiet();
    const { env, limits } = this.#options;
    const timer = env.timers.after(limits.closeTimeoutMs, () => {
      this.#app.server.closeAllConnections();
    });
    await closed;
    timer.cancel();
  }
}

interface HttpServerParts {
  readonly app: FastifyInstance;
  readonly watch: ProcessWatch;
  readonly sockets: Sockets;
}

/** The open connections, and which of them a request runs on: Node takes one that never sent any for busy. */
class Sockets {
  readonly #open = new Set<Socket>();
  readonly #busy = new Set<Socket>();

  constructor(server: Server) {
    server.on('connection', (socket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
    });
    server.on('request', (request, response) => {
      const { socket } = request;
      this.#busy.add(socket);
      response.once('close', () => this.#busy.delete(socket));
    });
  }

  /** Closes those on which nothing runs. */
  closeQuiet(): void {
    for (const socket of this.#open) if (!this.#busy.has(socket)) socket.destroy();
  }
}

async function makeApp({ limits, logger }: HttpServerOptions): Promise<FastifyInstance> {
  // At the first connection, see LazyHttpDoor: imported above it would be loaded at the start where all is one file.
  const { LogController, fastify } = await import('fastify');
  return fastify({
    bodyLimit: limits.bodyBytesMax,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    http: { maxHeaderSize: limits.headerBytesMax, headersTimeout: limits.headersTimeoutMs },
    forceCloseConnections: 'idle',
    logController: new LogController({ disableRequestLogging: true }),
    ...(logger === undefined ? { logger: false } : { loggerInstance: logger }),
  });
}

/** Whoever may look at the server's health may do so from anywhere. */
const OPEN_PATHS: ReadonlySet<string> = new Set(['/health', '/metrics']);

function refuseForeignPages(app: FastifyInstance, advertiser: Advertiser | undefined): void {
  app.addHook('onRequest', (request, reply, done) => {
    const advertised = advertiser?.advertised?.host ?? null;
    const reason = OPEN_PATHS.has(request.url) ? null : foreignPageOf(request.raw, advertised);
    if (reason === null) return done();
    void reply.code(403).send({ error: 'AccessDeniedException', message: reason });
  });
}

function addRoutes(app: FastifyInstance, connection: Connection, watch: ProcessWatch): void {
  app.get('/health', (_request, reply) => sendHealth(reply, connection));
  app.get('/metrics', (_request, reply) =>
    reply
      .header('content-type', METRICS_CONTENT_TYPE)
      .header('cache-control', 'no-store')
      .send(
        metricsText(connection.status(), watch.read()) +
          (connection instanceof StoreConnection ? transactionMetricsText(connection) : ''),
      ),
  );
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send({
      error: 'NotFound',
      message: `nothing at ${request.method} ${request.url.slice(0, 200)}; there are /health, /metrics, /advertise and /api/…`,
    }),
  );
  app.setErrorHandler((error, request, reply) => {
    const known = error as { statusCode?: number };
    const status = known.statusCode ?? (error instanceof StoreException ? 503 : 500);
    if (status >= 500) request.log.error(error, 'request failed');
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    return reply.code(status).send({ error: name, message });
  });
}

/** 200 while the store takes writes, 503 with the reason when it does not any more. */
function sendHealth(reply: FastifyReply, connection: Connection): FastifyReply {
  const { fatal, data, durability, readPoint, tables } = connection.status();
  return reply
    .code(fatal === null ? 200 : 503)
    .header('cache-control', 'no-store')
    .send({
      status: fatal === null ? 'ok' : 'read-only',
      reason: fatal,
      data,
      durability,
      tables,
      readPoint: readPoint.toString(),
    });
}
