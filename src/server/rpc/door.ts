/** The door of HBase's native RPC. */
import type { Socket } from 'node:net';
import type { Env } from '../../io/index.ts';
import type { Logger } from '../../engine/index.ts';
import type { Door } from '../door.ts';
import { RpcConnection } from './connection.ts';
import type { ConnectionContext } from './connection.ts';
import type { RpcLimits } from './limits.ts';
import type { RpcService } from './service.ts';

export class RpcDoor implements Door {
  readonly #context: ConnectionContext;
  readonly #connections = new Set<RpcConnection>();
  #closing: Promise<void> | null = null;
  #whenEmpty: (() => void) | null = null;

  constructor(parts: {
    readonly services: readonly RpcService[];
    readonly env: Pick<Env, 'timers' | 'clock'>;
    readonly limits: RpcLimits;
    readonly clusterId: string;
    readonly logger: Logger;
  }) {
    const { env, limits, clusterId, logger } = parts;
    const services = new Map(parts.services.map((service) => [service.name, service]));
    this.#context = { services, env, limits, clusterId, logger, callBytes: 0, inputBytes: 0 };
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  /** Bytes of requests that are held: not answered yet, or not whole. */
  get heldBytes(): number {
    return this.#context.callBytes + this.#context.inputBytes;
  }

  accept(socket: Socket): void {
    if (this.#closing !== null || this.#connections.size >= this.#context.limits.connectionsMax) {
      socket.destroy();
      return;
    }
    const connection: RpcConnection = new RpcConnection(socket, this.#context);
    this.#connections.add(connection);
    socket.once('close', () => {
      this.#connections.delete(connection);
      if (this.#connections.size === 0) this.#whenEmpty?.();
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const connection of this.#connections) connection.close();
    if (this.#connections.size === 0) return;
    const { env, limits } = this.#context;
    const timer = env.timers.after(limits.closeTimeoutMs, () => {
      for (const connection of this.#connections) connection.destroy();
    });
    await new Promise<void>((resolve) => (this.#whenEmpty = resolve));
    timer.cancel();
  }
}
