/** Listening sockets, and the doors that share one. */
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import type { Env } from '../io/index.ts';
import type { Door } from './door.ts';
import { bindException } from './errors.ts';

export interface ListenerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Gets each connection, paused. */
  readonly accept: (socket: Socket) => void;
}

/** A listening socket. */
export class Listener {
  readonly host: string;
  readonly port: number;
  readonly #server: Server;

  private constructor(server: Server, host: string) {
    this.#server = server;
    this.host = host;
    const bound = server.address();
    this.port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  }

  /** Throws `BindException` naming host and port. */
  static async start(options: ListenerOptions): Promise<Listener> {
    const { host, port, accept } = options;
    const server = createServer({ pauseOnConnect: true }, accept);
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => reject(bindException(error, { host, port })));
      server.listen({ host, port }, resolve);
    });
    return new Listener(server, host);
  }

  /** `host:port`, an IPv6 address in brackets. */
  get address(): string {
    return `${this.host.includes(':') ? `[${this.host}]` : this.host}:${this.port}`;
  }

  /** Takes no more connections; those that are open are not its own. */
  close(): Promise<void> {
    // The callback comes when the last connection has ended, which its door sees to.
    this.#server.close();
    return Promise.resolve();
  }
}

export interface SharedDoors {
  readonly rpc: Door;
  readonly zookeeper: Door | null;
  readonly http: Door | null;
}

/** What decides between the doors: an HTTP verb and HBase's preamble may begin alike ("HE", "HB"). */
const HEAD_SIZE = 2;
const HEAD_TIMEOUT_MS = 20_000;
/** Connections of which nothing has arrived yet. */
const SILENT_MAX = 1024;
const VERBS: ReadonlySet<string> = new Set(['GE', 'HE', 'PO', 'PU', 'DE', 'OP', 'PA', 'TR', 'CO']);

/**
 * Tells by the first bytes which door a connection is for: HTTP by its verb, ZooKeeper by the high byte 0 of the length that
 * its packets begin with (or a word of four small letters), anything else is for the native RPC, which says what is
 * wrong with it.
 */
export class PortSharing {
  readonly #doors: SharedDoors;
  readonly #env: Pick<Env, 'timers'>;
  readonly #silent = new Set<Socket>();

  constructor(doors: SharedDoors, env: Pick<Env, 'timers'>) {
    this.#doors = doors;
    this.#env = env;
  }

  accept(socket: Socket): void {
    if (this.#silent.size >= SILENT_MAX) {
      socket.destroy();
      return;
    }
    this.#silent.add(socket);
    const timer = this.#env.timers.after(HEAD_TIMEOUT_MS, () => socket.destroy());
    const forget = (): void => {
      timer.cancel();
      this.#silent.delete(socket);
    };
    const ignore = (): void => undefined; // The connection closes, too.
    const read = (): void => {
      const head = socket.read(HEAD_SIZE) as Buffer | null;
      if (head === null) return;
      socket.off('readable', read).off('close', forget).off('error', ignore);
      forget();
      socket.unshift(head);
      socket.pause();
      this.#doorOf(head).accept(socket);
    };
    socket.on('readable', read).once('close', forget).on('error', ignore);
  }

  #doorOf(head: Buffer): Door {
    const { rpc, zookeeper, http } = this.#doors;
    if (http !== null && VERBS.has(head.toString('latin1'))) return http;
    const isWord = head.every((byte) => byte >= 0x61 && byte <= 0x7a);
    if (zookeeper !== null && (head[0] === 0 || isWord)) return zookeeper;
    return rpc;
  }

  /** Ends the connections of which nothing has arrived. */
  close(): void {
    for (const socket of this.#silent) socket.destroy();
  }
}
