/** Who a running server is, and at which address its clients find it. */

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export class ServerPlace {
  /** Start of the server, Unix milliseconds: the third part of HBase's server names. */
  readonly startCode: number;
  /** A UUID, the store's own. */
  readonly clusterId: string;
  /** Told to every client instead of the address at which it arrived; null: not so. May be set at any time. */
  advertised: HostPort | null;
  /** Where the native RPC listens; 0 as long as it does not. */
  rpcPort = 0;
  /** Where HTTP listens; 0: nowhere. */
  httpPort = 0;

  constructor(parts: {
    readonly startCode: number;
    readonly clusterId: string;
    readonly advertised: HostPort | null;
  }) {
    this.startCode = parts.startCode;
    this.clusterId = parts.clusterId;
    this.advertised = parts.advertised;
  }

  /** Where a client whose connection arrived at `localAddress` finds the native RPC. */
  addressFor(peer: { readonly localAddress: string }): HostPort {
    return this.advertised ?? { host: plainAddress(peer.localAddress), port: this.rpcPort };
  }
}

/** An IPv4 address in IPv6 clothes as itself. HBase's `host:port` has no place for colons in a host: `::1` is localhost. */
function plainAddress(address: string): string {
  if (address === '::1' || address === '') return 'localhost';
  return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
}

/** 32 hexadecimal digits as a UUID. */
export function uuidOf(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** `host:port`, an IPv6 address in brackets; null for anything else. */
export function parseHostPort(text: string): HostPort | null {
  const found = /^(?:\[([0-9a-fA-F:]+)\]|([A-Za-z0-9_.-]+)):(\d{1,5})$/.exec(text);
  const port = Number(found?.[3]);
  const host = found?.[1] ?? found?.[2];
  return host === undefined || port < 1 || port > 65_535 ? null : { host, port };
}

/** The reverse of `parseHostPort`. */
export function hostPortText({ host, port }: HostPort): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
