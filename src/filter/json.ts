/** Filter specs as JSON. Bytes become `{"$bytes": base64}`, bigints `{"$int64": decimal}`; everything else is as it is. */
import { IllegalArgumentException } from '../model/index.ts';
import type { FilterSpec } from '../model/index.ts';
import { filterMaker } from './build.ts';

/** Throws IllegalArgumentException for specs with a filter of the user's own, which no text holds. */
export function filterToJson(spec: FilterSpec): string {
  return JSON.stringify(plain(spec));
}

/** The spec that `filterToJson` wrote, or one written by hand; checked. Throws IllegalArgumentException. */
export function filterFromJson(text: string): FilterSpec {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new IllegalArgumentException('a filter is not JSON', { cause: error });
  }
  const spec = revived(value) as FilterSpec;
  if (typeof spec === 'object' && spec !== null && 'type' in spec) {
    filterMaker(spec);
    return spec;
  }
  throw new IllegalArgumentException('a filter in JSON is an object with a type');
}

function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') };
  if (typeof value === 'bigint') return { $int64: value.toString() };
  if (typeof value === 'function') {
    throw new IllegalArgumentException('a CustomFilter cannot be written as JSON');
  }
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}

function revived(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(revived);
  if (typeof value !== 'object' || value === null) return value;
  const members: [string, unknown][] = Object.entries(value);
  if (members.length === 1) {
    const [name, member] = members[0]!;
    if (name === '$bytes' && typeof member === 'string') {
      return Uint8Array.from(Buffer.from(member, 'base64'));
    }
    if (name === '$int64' && typeof member === 'string' && /^-?\d{1,19}$/.test(member)) {
      return BigInt(member);
    }
  }
  return Object.fromEntries(members.map(([name, member]) => [name, revived(member)]));
}
