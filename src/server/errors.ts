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
