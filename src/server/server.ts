/** A store behind network doors. So far HTTP only; the others are added to the same object. */
import type { FastifyBaseLogger } from 'fastify';
import type { Env } from '../io/index.ts';
import type { Connection } from '../model/index.ts';
import { HTTP_HOST, HTTP_LIMITS, HTTP_PORT, HttpServer } from './http.ts';
import type { HttpLimits } from './http.ts';

export interface ServerOptions {
  /** The store to serve. It stays the caller's: close it after the server. */
  readonly connection: Connection;
  readonly env: Pick<Env, 'clock' | 'timers'>;
  readonly http?: {
    /** Default 127.0.0.1. */
    readonly host?: string;
    /** Default 16030; 0 takes any free port. */
    readonly port?: number;
    readonly limits?: Partial<HttpLimits>;
  };
  /** pino or alike. Absent: nothing is logged. */
  readonly logger?: FastifyBaseLogger;
}

/** Where the server listens, by door. */
export interface ServerAddresses {
  readonly http: string;
}

export interface RunningServer extends AsyncDisposable {
  readonly addresses: ServerAddresses;
  /** Lets running requests finish and stops listening. Idempotent; the store stays open. */
  close(): Promise<void>;
}

/** A store that can tell whoever finds its folder locked where it can be reached. */
export interface Announcing {
  /** Writes the address beside the lock of the data folder; null takes it away. */
  setAddress(address: string | null): Promise<void>;
}

/** Starts a server; any number of them in one process. Throws `BindException` if a port is not to be had. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { connection, env, logger } = options;
  const { host = HTTP_HOST, port = HTTP_PORT, limits } = options.http ?? {};
  const http = await HttpServer.start({
    connection,
    env,
    host,
    port,
    limits: { ...HTTP_LIMITS, ...limits },
    ...(logger === undefined ? {} : { logger }),
  });
  try {
    await announce(connection, http.address);
  } catch (error) {
    await http.close();
    throw error;
  }
  return new ListeningServer(connection, http);
}

class ListeningServer implements RunningServer {
  readonly addresses: ServerAddresses;
  readonly #connection: Connection;
  readonly #http: HttpServer;
  #closing: Promise<void> | null = null;

  constructor(connection: Connection, http: HttpServer) {
    this.#connection = connection;
    this.#http = http;
    this.addresses = { http: http.address };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    try {
      await announce(this.#connection, null);
    } finally {
      await this.#http.close();
    }
  }
}

async function announce(connection: Connection, address: string | null): Promise<void> {
  if (isAnnouncing(connection)) await connection.setAddress(address);
}

function isAnnouncing(connection: Connection): connection is Connection & Announcing {
  return 'setAddress' in connection && typeof connection.setAddress === 'function';
}
