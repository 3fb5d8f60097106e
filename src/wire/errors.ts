import { StoreException } from '../io/index.ts';

/** A message from the other side that cannot be read; names message and place. */
export class MalformedMessageException extends StoreException {
  readonly code: string = 'MalformedMessageException';
  readonly retryable: boolean = false;
}

/** A cell of a mutation has another row than the mutation. */
export class WrongRowIOException extends StoreException {
  readonly code: string = 'WrongRowIOException';
  readonly retryable: boolean = true;
}
