/**
 * The HTTP door. So far: `/health` for whoever watches over the process, `/metrics` for Prometheus.
 * Everything a client can make the server hold is bounded: sizes, times, connections.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { LogController, fastify } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply } from 'fastify';
import { StoreConnection } from '../embedded/index.ts';
import { StoreException } from '../io/index.ts';
import type { Env } from '../io/index.ts';
import type { Connection } from '../model/index.ts';
import { addAdvertiseRoutes } from './advertise.ts';
import type { Advertiser } from './advertise.ts';
import type { Door } from './door.ts';
import { bindException } from './errors.ts';
import { addApi } from './http_api/index.ts';
import type { ApiOptions } from './http_api/index.ts';
import { METRICS_CONTENT_TYPE, metricsText } from './metrics.ts';
import { ProcessWatch } from './process_figures.ts';

/** The default port, HBase's own range (16000 master, 16020 region server). */
export const HTTP_PORT = 16030;
/** Only this machine, unless told otherwise: the endpoint asks nobody who they are. */
export const HTTP_HOST = '127.0.0.1';

/** What one client, or all together, may take. */
export interface HttpLimits {
  readonly bodyBytesMax: number;
  readonly headerBytesMax: number;
  readonly connectionsMax: number;
  /** Milliseconds for a whole request to arrive. */
  readonly requestTimeoutMs: number;
  /** Milliseconds for the headers to arrive. */
  readonly headersTimeoutMs: number;
  /** Milliseconds that a connection may stand idle between two requests. */
  readonly keepAliveTimeoutMs: number;
  /** Milliseconds that running requests get to finish when the server closes. */
  readonly closeTimeoutMs: number;
}

export const HTTP_LIMITS: HttpLimits = {
  bodyBytesMax: 1024 * 1024,
  headerBytesMax: 16 * 1024,
  connectionsMax: 1024,
  requestTimeoutMs: 30_000,
  headersTimeoutMs: 10_000,
  keepAliveTimeoutMs: 72_000,
  closeTimeoutMs: 5_000,
};

export interface HttpServerOptions {
  readonly connection: Connection;
  readonly env: Pick<Env, 'clock' | 'timers'>;
  readonly host: string;
  /** 0: any free port; null: it does not listen, connections are handed to it. */
  readonly port: number | null;
  readonly limits: HttpLimits;
  /** Of /api/…: who may call it, and what it answers. */
  readonly api?: ApiOptions;
  /** What clients are told can be changed here. Absent: it cannot. */
  readonly advertiser?: Advertiser;
  /** Absent: nothing is logged. */
  readonly logger?: FastifyBaseLogger;
}

/** A running HTTP server. */
export class HttpServer implements Door {
  /** For example `http://127.0.0.1:16030`; empty if it does not listen. */
  readonly address: string;
  readonly #app: FastifyInstance;
  readonly #watch: ProcessWatch;
  readonly #sockets: Sockets;
  readonly #options: HttpServerOptions;

  private constructor(parts: HttpServerParts, options: HttpServerOptions) {
    this.#app = parts.app;
    this.#watch = parts.watch;
    this.#sockets = parts.sockets;
    this.#options = options;
    this.address = options.port === null ? '' : addressOf(parts.app, options.host);
  }

  /** Starts to listen. Throws `BindException` naming host and port if it may not or cannot. */
  static async start(options: HttpServerOptions): Promise<HttpServer> {
    const watch = new ProcessWatch(options.env.clock);
    const app = makeApp(options);
    const sockets = new Sockets(app.server);
    addRoutes(app, options.connection, watch);
    const { connection } = options;
    if (connection instanceof StoreConnection) addApi(app, connection, options.env, options.api ?? {});
    if (options.advertiser !== undefined) addAdvertiseRoutes(app, options.advertiser);
    try {
      if (options.port === null) await app.ready();
      else await app.listen({ host: options.host, port: options.port });
    } catch (error) {
      watch.close();
      await app.close();
      const { host, port } = options;
      throw bindException(error, { host, port: port ?? 0 });
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

function makeApp({ limits, logger }: HttpServerOptions): FastifyInstance {
  const app = fastify({
    bodyLimit: limits.bodyBytesMax,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    http: { maxHeaderSize: limits.headerBytesMax, headersTimeout: limits.headersTimeoutMs },
    forceCloseConnections: 'idle',
    logController: new LogController({ disableRequestLogging: true }),
    ...(logger === undefined ? { logger: false } : { loggerInstance: logger }),
  });
  app.server.maxConnections = limits.connectionsMax;
  return app;
}

function addRoutes(app: FastifyInstance, connection: Connection, watch: ProcessWatch): void {
  app.get('/health', (_request, reply) => sendHealth(reply, connection));
  app.get('/metrics', (_request, reply) =>
    reply
      .header('content-type', METRICS_CONTENT_TYPE)
      .header('cache-control', 'no-store')
      .send(metricsText(connection.status(), watch.read())),
  );
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send({
      error: 'NotFound',
      message: `nothing at ${request.method} ${request.url.slice(0, 200)}; there are /health, /metrics and /advertise`,
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

function addressOf(app: FastifyInstance, host: string): string {
  const bound = app.server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
