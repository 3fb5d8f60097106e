/**
 * A ZooKeeper that knows nothing but this server: clients read the registry and keep a session. Nothing is written, nothing
 * changes, no watch fires, and a session is as long as its connection; who comes back with one is let in.
 */
import type { Socket } from 'node:net';
import type { Env } from '../../io/index.ts';
import type { Door } from '../door.ts';
import type { Cluster } from '../meta/index.ts';
import { ZooKeeperSession } from './zookeeper_session.ts';

const CONNECTIONS_MAX = 4096;

export class ZooKeeperDoor implements Door {
  readonly #cluster: Cluster;
  readonly #env: Pick<Env, 'timers' | 'random'>;
  readonly #sockets = new Set<Socket>();
  #isClosed = false;

  constructor(cluster: Cluster, env: Pick<Env, 'timers' | 'random'>) {
    this.#cluster = cluster;
    this.#env = env;
  }

  accept(socket: Socket): void {
    if (this.#isClosed || this.#sockets.size >= CONNECTIONS_MAX) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    new ZooKeeperSession(socket, this.#cluster, this.#env).begin();
  }

  close(): Promise<void> {
    this.#isClosed = true;
    for (const socket of this.#sockets) socket.destroy();
    return Promise.resolve();
  }
}
