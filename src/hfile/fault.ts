/** Damage found by a pure decoder that does not know where its bytes came from; the reader adds file and offset. */
import { CorruptionException } from '../io/index.ts';

/** `locate` turns it into a CorruptionException; only of stream codecs it leaves this folder, and is caught with all others. */
export class FormatFault extends Error {
  override readonly name = 'FormatFault';
}

/** Checks a fact about bytes from outside. */
export function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new FormatFault(what);
}

/**
 * The error to throw for one met while decoding what stands at `offset` of `path`. Range errors are included: a typed
 * array refuses an offset that only damaged bytes can hold.
 */
export function locate(error: unknown, path: string, offset: number): unknown {
  if (error instanceof FormatFault || error instanceof RangeError) {
    return new CorruptionException(error.message, path, offset, { cause: error });
  }
  return error;
}
