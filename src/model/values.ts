/** Arguments of single operations, checked and turned into bytes and numbers. All throw IllegalArgumentException. */
import { LATEST, ROW_LENGTH_MAX, toBytes } from '../cell/index.ts';
import { IllegalArgumentException } from './errors.ts';
import type { Bytes } from './requests.ts';

/** What a value looks like in an error's text: short, never a dump. */
export function shown(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  switch (typeof value) {
    case 'string':
      return `'${value.length > 60 ? `${value.slice(0, 60)}…` : value}'`;
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'object':
      return value instanceof Uint8Array
        ? `${value.length} bytes`
        : Array.isArray(value)
          ? 'an array'
          : 'an object';
    default:
      return `a ${typeof value}`;
  }
}

/** Bytes or text as bytes (not copied); anything else is refused. `what` names the argument. */
export function toArgumentBytes(value: Bytes, what: string): Uint8Array {
  if (typeof value === 'string') checkText(value, what);
  else if (!(value instanceof Uint8Array)) throw noBytes(value, what);
  return toBytes(value);
}

/**
 * Refuses text with half a surrogate pair: UTF-8 has no bytes for it, and the bytes that stand in for it would be those of
 * other such texts, too.
 */
export function checkText(text: string, what: string): void {
  if (text.isWellFormed()) return;
  throw new IllegalArgumentException(
    `${what} has half a surrogate pair, which is no text: pass bytes`,
  );
}

function noBytes(value: unknown, what: string): IllegalArgumentException {
  return new IllegalArgumentException(`${what} must be bytes or a string, not ${shown(value)}`);
}

/** A row of 1 … 32767 bytes. The bytes stay the caller's. */
export function toRow(row: Bytes): Uint8Array {
  const bytes = toArgumentBytes(row, 'Row');
  if (bytes.length === 0) throw new IllegalArgumentException('Row length is 0');
  if (bytes.length > ROW_LENGTH_MAX) {
    throw new IllegalArgumentException(`Row length ${bytes.length} is > ${ROW_LENGTH_MAX}`);
  }
  return bytes;
}

/** Milliseconds, 0 … 2^63-1: a bigint or a safe integer. `what` names the argument in the text. */
export function toTimestamp(value: bigint | number, what: string): bigint {
  if (typeof value === 'number' ? !Number.isSafeInteger(value) : typeof value !== 'bigint') {
    throw new IllegalArgumentException(
      `${what} must be a bigint or a safe integer, not ${shown(value)}`,
    );
  }
  const ts = BigInt(value);
  if (ts < 0n) throw new IllegalArgumentException(`Timestamp cannot be negative. ${what}=${ts}`);
  if (ts > LATEST) throw new IllegalArgumentException(`${what}=${ts} is above 2^63-1`);
  return ts;
}

/** A value to store as bytes: bytes as they are (not copied), text as UTF-8, a bigint as 8 bytes big-endian, two's complement. */
export function toValueBytes(
  value: Uint8Array | string | bigint,
  what: string = 'Value',
): Uint8Array {
  if (typeof value === 'bigint') {
    if (value !== BigInt.asIntN(64, value)) {
      throw new IllegalArgumentException(`${what} ${value} does not fit 64 bits`);
    }
    const bytes = Buffer.allocUnsafe(8);
    bytes.writeBigInt64BE(value);
    return bytes;
  }
  if (typeof value === 'string') checkText(value, what);
  if (typeof value === 'string' || value instanceof Uint8Array) return toBytes(value);
  throw new IllegalArgumentException(
    `${what} must be bytes, a string or a bigint, not ${shown(value)}`,
  );
}

/** Refuses a list of a caller without types that is none. `what` names the argument. */
export function requireArray(value: unknown, what: string): asserts value is readonly unknown[] {
  if (!Array.isArray(value)) {
    throw new IllegalArgumentException(`${what} must be an array, not ${shown(value)}`);
  }
}

/** Refuses what is no plain object, e.g. null or a list. `what` names the argument. */
export function requireObject(value: unknown, what: string): asserts value is object {
  const isPlain = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isPlain || value instanceof Uint8Array) {
    throw new IllegalArgumentException(`${what} must be an object, not ${shown(value)}`);
  }
}

/** Refuses an option whose name nobody reads: a misspelt option must not be ignored. */
export function checkOptionNames(
  options: object,
  known: ReadonlySet<string>,
  operation: string,
): void {
  requireObject(options, `Options of ${operation}`);
  for (const name of Object.keys(options)) {
    if (known.has(name)) continue;
    const hint = closest(name, known);
    throw new IllegalArgumentException(
      `Unknown option '${name}' of ${operation}${hint === null ? '' : ` (did you mean '${hint}'?)`}`,
    );
  }
}

/** The known name at most two edits away, for hints. */
export function closest(name: string, known: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = 3;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replace, previous[j]! + 1, row[j - 1]! + 1));
    }
    previous = row;
  }
  return previous[b.length]!;
}
