import { StoreException } from '../io/index.ts';

/** The server could not listen where it was told to; names host and port. `cause` is the system's error. */
export class BindException extends StoreException {
  readonly code: string = 'BindException';
  readonly retryable: boolean = true;
  readonly host: string;
  readonly port: number;

  constructor(message: string, at: { host: string; port: number }, options?: ErrorOptions) {
    super(message, options);
    this.host = at.host;
    this.port = at.port;
  }
}

/** The BindException of the system's error. */
export function bindException(
  error: unknown,
  at: { readonly host: string; readonly port: number },
): BindException {
  const { host, port } = at;
  const code = (error as NodeJS.ErrnoException).code;
  const where = `port ${port} on ${host}`;
  const why = new Map<string | undefined, string>([
    ['EADDRINUSE', `${where} is in use; choose another (0 takes any free one)`],
    ['EACCES', `${where} may not be used by this user; choose one from 1024 up`],
    ['EADDRNOTAVAIL', `${host} is no address of this machine (port ${port})`],
    ['ENOTFOUND', `host ${host} is not known (port ${port})`],
  ]).get(code);
  const message = why ?? `cannot listen at ${where}: ${String(error)}`;
  return new BindException(message, { host, port }, { cause: error });
}
