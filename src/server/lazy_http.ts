/**
 * The HTTP door as long as nobody has come: the framework and all routes are loaded for the first connection, which costs
 * it some 100 ms, and costs nothing those who only speak HBase's protocol and wait for the server to start.
 */
import type { Socket } from 'node:net';
import type { Door } from './door.ts';
import type { HttpServer, HttpServerOptions } from './http.ts';

export class LazyHttpDoor implements Door {
  readonly #options: HttpServerOptions;
  readonly #sockets = new Set<Socket>();
  #server: Promise<HttpServer> | null = null;
  #isClosed = false;

  constructor(options: HttpServerOptions) {
    this.#options = options;
  }

  accept(socket: Socket): void {
    if (this.#isClosed || this.#sockets.size >= this.#options.limits.connectionsMax) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    this.#server ??= this.#start();
    this.#server.then(
      (server) => server.accept(socket),
      (error: unknown) => {
        this.#options.logger?.error({ err: error }, 'HTTP could not be started');
        socket.destroy();
      },
    );
  }

  async #start(): Promise<HttpServer> {
    const { HttpServer: Loaded } = await import('./http.ts');
    return Loaded.start(this.#options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#server)?.close();
  }
}
