import type { Socket } from 'node:net';

/** Speaks one protocol on connections that somebody else has accepted. */
export interface Door {
  /** Takes a connection over. The socket is paused, and nothing of it has been read. */
  accept(socket: Socket): void;
  /** Lets running requests finish for a bounded time and ends every connection. Idempotent. */
  close(): Promise<void>;
}
