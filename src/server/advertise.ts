/**
 * Telling a running server what its clients shall be told: behind a port mapping only who made the mapping knows it.
 *
 *     GET /advertise    {"address": "host:port" or null}
 *     PUT /advertise    the same; null: each client is told the address at which it has arrived
 */
import type { FastifyInstance } from 'fastify';
import { DoNotRetryIOException, IllegalArgumentException } from '../model/index.ts';
import { hostPortText, parseHostPort } from './place.ts';
import type { HostPort } from './place.ts';

/** Where what is advertised is kept. */
export interface Advertiser {
  advertised: HostPort | null;
}

export function addAdvertiseRoutes(app: FastifyInstance, advertiser: Advertiser): void {
  const shown = (): { address: string | null } => ({
    address: advertiser.advertised === null ? null : hostPortText(advertiser.advertised),
  });
  app.get('/advertise', () => shown());
  app.put('/advertise', (request, reply) => {
    const { address } = (request.body ?? {}) as { address?: unknown };
    const parsed = typeof address === 'string' ? parseHostPort(address) : null;
    if (parsed === null && address !== null) {
      return reply.code(400).send({
        error: 'IllegalArgumentException',
        message: 'send {"address": "host:port"}, or null for none',
      });
    }
    advertiser.advertised = parsed;
    return reply.send(shown());
  });
}

/**
 * Tells the server whose HTTP door is at `url`; with null that it shall tell each client where it has arrived. Throws
 * IllegalArgumentException, or DoNotRetryIOException for what the server answers.
 */
export async function advertiseAt(url: string, address: string | null): Promise<void> {
  if (address !== null && parseHostPort(address) === null) {
    throw new IllegalArgumentException(`'${address}' is not host:port`);
  }
  const response = await fetch(new URL('/advertise', url), {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ address }),
  });
  if (!response.ok) {
    throw new DoNotRetryIOException(`${url} answered ${response.status}: ${await response.text()}`);
  }
}
