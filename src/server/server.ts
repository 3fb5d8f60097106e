/**
 * A store behind network doors: HBase's native RPC, ZooKeeper's protocol as far as HBase's clients need it, and HTTP. Each
 * door has a port of its own, or all share one.
 */
import type { FastifyBaseLogger } from 'fastify';
import { StoreConnection, open } from '../embedded/index.ts';
import { realEnv } from '../io/index.ts';
import type { Env } from '../io/index.ts';
import { IllegalArgumentException } from '../model/index.ts';
import type { Connection } from '../model/index.ts';
import type { Door } from './door.ts';
import { Fixtures } from './fixtures.ts';
import { HTTP_HOST, HTTP_LIMITS, HTTP_PORT } from './http_limits.ts';
import type { HttpLimits } from './http_limits.ts';
import type { ApiOptions } from './http_api/index.ts';
import { LazyHttpDoor } from './lazy_http.ts';
import { Listener, PortSharing } from './listener.ts';
import { ServerPlace, uuidOf } from './place.ts';
import type { HostPort } from './place.ts';
import { RpcDoor } from './rpc/door.ts';
import { RPC_LIMITS } from './rpc/limits.ts';
import type { RpcLimits } from './rpc/limits.ts';
import { serve } from './services.ts';
import type { Served } from './services.ts';

/** HBase's region server port. */
export const RPC_PORT = 16020;
export const ZOOKEEPER_PORT = 2181;

export interface DoorOptions {
  /** Default: the server's `host`. */
  readonly host?: string;
  /** 0 takes any free port. Default: HBase's. */
  readonly port?: number;
}

export interface ServerOptions {
  /** The store to serve. It stays the caller's: close it after the server. Absent: a store in memory of the server's own. */
  readonly connection?: Connection;
  readonly env?: Env;
  /** Where to listen; default 127.0.0.1. */
  readonly host?: string;
  /**
   * One port for every door, told apart by the first bytes that a client sends; 0 takes any free port. Without it those
   * doors are opened that are named below; with none named all share a free port.
   */
  readonly port?: number;
  readonly rpc?: DoorOptions & { readonly limits?: Partial<RpcLimits> };
  readonly zookeeper?: DoorOptions;
  readonly http?: DoorOptions & {
    readonly limits?: Partial<HttpLimits>;
    /** Of /api/…: who may call it, and what it answers. */
    readonly api?: ApiOptions;
  };
  /** Told to clients as the server's address, e.g. behind a port mapping. Default: where each client has arrived. */
  readonly advertise?: HostPort;
  /** pino or alike. Absent: nothing is logged. */
  readonly logger?: FastifyBaseLogger;
}

/** Where the server listens, by door; null for a door that is not open. */
export interface ServerAddresses {
  /** `host:port`. */
  readonly rpc: string | null;
  readonly zookeeper: string | null;
  /** A URL. */
  readonly http: string | null;
}

export interface RunningServer extends AsyncDisposable {
  readonly addresses: ServerAddresses;
  /** The store behind it. */
  readonly connection: Connection;
  /** What clients are told from now on; null: the address at which each has arrived. */
  advertise(address: HostPort | null): void;
  /** Names what the store holds now, so that `reset` can return to it. */
  keepFixture(name: string): Promise<void>;
  /**
   * Returns to what the store held when the fixture was named or, without a name, to nothing: no tables, namespaces and
   * snapshots. Takes milliseconds; for use between tests, while nobody else works on the store. Throws
   * IllegalArgumentException.
   */
  reset(fixture?: string): Promise<void>;
  /** Lets running requests finish and stops listening. Idempotent; a store that was given stays open. */
  close(): Promise<void>;
}

/** A store that can tell whoever finds its folder locked where it can be reached. */
export interface Announcing {
  /** Writes the address beside the lock of the data folder; null takes it away. */
  setAddress(address: string | null): Promise<void>;
}

/** Starts a server; any number of them in one process. Throws `BindException` if a port is not to be had. */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const env = options.env ?? realEnv();
  const connection = options.connection ?? (await open(undefined, { env }));
  const server = new Server(connection, env, options);
  try {
    await server.start();
  } catch (error) {
    await server.close();
    throw error;
  }
  return server;
}

class Server implements RunningServer {
  addresses: ServerAddresses = { rpc: null, zookeeper: null, http: null };
  readonly connection: Connection;
  readonly #env: Env;
  readonly #options: ServerOptions;
  readonly #place: ServerPlace;
  readonly #fixtures: Fixtures;
  readonly #listeners: Listener[] = [];
  readonly #doors: Door[] = [];
  #sharing: PortSharing | null = null;
  #served: Served | null = null;
  #isAnnounced = false;
  #closing: Promise<void> | null = null;

  constructor(connection: Connection, env: Env, options: ServerOptions) {
    this.connection = connection;
    this.#fixtures = new Fixtures(connection);
    this.#env = env;
    this.#options = options;
    const clusterId =
      connection instanceof StoreConnection ? connection.server.manifest.store.storeId : '';
    this.#place = new ServerPlace({
      startCode: env.clock.nowMs(),
      clusterId: uuidOf(clusterId),
      advertised: options.advertise ?? null,
    });
  }

  async start(): Promise<void> {
    const { port, rpc, zookeeper, http } = this.#options;
    const namesNone = rpc === undefined && zookeeper === undefined && http === undefined;
    if (port !== undefined || namesNone) await this.#startShared(port ?? 0);
    else await this.#startEach();
    const { http: httpAddress, rpc: rpcAddress } = this.addresses;
    await announce(this.connection, httpAddress ?? rpcAddress);
    this.#isAnnounced = true;
  }

  async #startShared(port: number): Promise<void> {
    const host = this.#options.host ?? HTTP_HOST;
    const served = await this.#serve();
    const rpc = this.#rpcDoor(served);
    const { zookeeper } = served;
    const http = this.#httpDoor();
    const sharing = new PortSharing({ rpc, zookeeper, http }, this.#env);
    this.#sharing = sharing;
    const listener = await this.#listen({ host, port, accept: (socket) => sharing.accept(socket) });
    this.#place.rpcPort = listener.port;
    this.#place.httpPort = listener.port;
    this.addresses = {
      rpc: listener.address,
      zookeeper: listener.address,
      http: `http://${listener.address}`,
    };
  }

  async #startEach(): Promise<void> {
    const { rpc, zookeeper, http } = this.#options;
    const addresses: { -readonly [door in keyof ServerAddresses]: string | null } = {
      rpc: null,
      zookeeper: null,
      http: null,
    };
    if (http !== undefined) {
      const listener = await this.#listenFor(this.#httpDoor(), http, HTTP_PORT);
      addresses.http = `http://${listener.address}`;
      this.#place.httpPort = listener.port;
    }
    if (rpc !== undefined || zookeeper !== undefined) {
      const served = await this.#serve();
      if (rpc !== undefined) {
        const listener = await this.#listenFor(this.#rpcDoor(served), rpc, RPC_PORT);
        this.#place.rpcPort = listener.port;
        addresses.rpc = listener.address;
      }
      if (zookeeper !== undefined) {
        const listener = await this.#listenFor(served.zookeeper, zookeeper, ZOOKEEPER_PORT);
        addresses.zookeeper = listener.address;
      }
    }
    this.addresses = addresses;
  }

  #listenFor(door: Door, options: DoorOptions, defaultPort: number): Promise<Listener> {
    const { host = this.#options.host ?? HTTP_HOST, port = defaultPort } = options;
    return this.#listen({ host, port, accept: (socket) => door.accept(socket) });
  }

  async #listen(options: Parameters<typeof Listener.start>[0]): Promise<Listener> {
    const listener = await Listener.start(options);
    this.#listeners.push(listener);
    return listener;
  }

  async #serve(): Promise<Served> {
    const { connection } = this;
    if (!(connection instanceof StoreConnection)) {
      throw new IllegalArgumentException(
        'rpc and zookeeper serve a store that was opened in this process',
      );
    }
    const served = await serve({
      connection,
      engine: connection.server,
      env: this.#env,
      place: this.#place,
      logger: this.#options.logger ?? connection.server.logger,
      limits: this.#rpcLimits(),
    });
    this.#served = served;
    this.#doors.push(served.zookeeper);
    return served;
  }

  #rpcLimits(): RpcLimits {
    return { ...RPC_LIMITS, ...this.#options.rpc?.limits };
  }

  #rpcDoor({ services }: Served): RpcDoor {
    const { connection } = this;
    const door = new RpcDoor({
      services,
      env: this.#env,
      limits: this.#rpcLimits(),
      clusterId: this.#place.clusterId,
      logger: this.#options.logger ?? (connection as StoreConnection).server.logger,
    });
    this.#doors.push(door);
    return door;
  }

  #httpDoor(): Door {
    const { http, logger } = this.#options;
    const door = new LazyHttpDoor({
      connection: this.connection,
      env: this.#env,
      limits: { ...HTTP_LIMITS, ...http?.limits },
      ...(http?.api === undefined ? {} : { api: http.api }),
      advertiser: this.#place,
      ...(logger === undefined ? {} : { logger }),
    });
    this.#doors.push(door);
    return door;
  }

  advertise(address: HostPort | null): void {
    this.#place.advertised = address;
  }

  keepFixture(name: string): Promise<void> {
    return this.#fixtures.keep(name);
  }

  reset(fixture?: string): Promise<void> {
    return this.#fixtures.reset(fixture);
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
      if (this.#isAnnounced) await announce(this.connection, null);
    } finally {
      await Promise.all(this.#listeners.map((listener) => listener.close()));
      this.#sharing?.close();
      await Promise.all(this.#doors.map((door) => door.close()));
      await this.#served?.close();
      if (this.#options.connection === undefined) await this.connection.close();
    }
  }
}

async function announce(connection: Connection, address: string | null): Promise<void> {
  if (isAnnouncing(connection)) await connection.setAddress(address);
}

function isAnnouncing(connection: Connection): connection is Connection & Announcing {
  return 'setAddress' in connection && typeof connection.setAddress === 'function';
}
