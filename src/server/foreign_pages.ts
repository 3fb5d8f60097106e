/**
 * Web pages in a browser on this machine reach its loopback address, too. Where nobody is asked who they are, what they send
 * must not be taken for the user's own: a page of another site says so in `Origin` (cross-site requests), or comes by a name
 * of its own that leads here (DNS rebinding) and says that in `Host`.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/** Why a request is refused; null: it is not a foreign page's. `advertised`: the host that clients are told, if any. */
export function foreignPageOf(request: IncomingMessage, advertised: string | null): string | null {
  const { origin, host } = request.headers;
  if (origin !== undefined && hostOfOrigin(origin) !== host?.toLowerCase()) {
    return `pages of ${origin.slice(0, 200)} may not use this server`;
  }
  if (host === undefined || !isLoopback(request.socket.localAddress ?? '')) return null;
  const name = nameOf(host);
  const isOwn = isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost');
  if (isOwn || name === advertised?.toLowerCase()) return null;
  return `this server is not known as ${name.slice(0, 200)}: call it by its address, advertise the name, or configure users`;
}

/** `host:port` of an origin, as browsers write it in Host; '' for `null` and what is none. */
function hostOfOrigin(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : '';
}

/** The name in a Host header, without its port and an IPv6 address's brackets. */
function nameOf(host: string): string {
  return host
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1');
}

const isLoopback = (address: string): boolean =>
  address === '::1' || /^(?:::ffff:)?127\./.test(address);
