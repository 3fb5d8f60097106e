import { StoreException } from '../io/index.ts';

/** A sync or a switch of the manifest failed: it takes no more edits until the next open; `cause` is what failed. */
export class ManifestFailedException extends StoreException {
  readonly code: string = 'ManifestFailedException';
  readonly retryable: boolean = false;
}
