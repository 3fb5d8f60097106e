/**
 * Rows with many versions. Where a store has no versions its users put the time behind the key, newest first: the same is
 * done here for the peers, and the newest version not newer than a time is the first row from that key on.
 */
import { Values, keyOf, keysOf, shuffled } from './rows.ts';
import type { Random } from './rows.ts';
import type { Subject } from './subject.ts';

const BATCH = 10_000;
const KEY_LENGTH = 16;
const TIME_LENGTH = 8;
const TIME_MAX = Number.MAX_SAFE_INTEGER;
const FIRST_TIME = 1_000_000;
/** Between two versions, so that a read asks for a time at which nothing was written. */
const TIME_STEP = 10;

/** The time of a row's version `n`, from 0 on. */
export const timeOf = (n: number): number => FIRST_TIME + n * TIME_STEP;

/** A time somewhere between the oldest version and the one before the newest. */
export const oldTime = (random: Random, versions: number): number =>
  timeOf(random.int(Math.max(1, versions - 1))) + random.int(TIME_STEP);

/** `key` and what is left of all time: later times sort first. */
export function versionKey(key: Uint8Array, time: number): Uint8Array {
  const whole = Buffer.allocUnsafe(KEY_LENGTH + TIME_LENGTH);
  whole.set(key, 0);
  const rest = TIME_MAX - time;
  whole.writeUInt32BE(Math.floor(rest / 2 ** 32), KEY_LENGTH);
  whole.writeUInt32BE(rest % 2 ** 32, KEY_LENGTH + 4);
  return whole;
}

/** Writes all versions of all rows in random order, in as many parts with a flush after each. */
export async function loadVersions(
  subject: Subject,
  { rows, versions, parts }: { rows: number; versions: number; parts: number },
): Promise<void> {
  const total = rows * versions;
  const order = shuffled(total);
  const values = new Values();
  for (let part = 0; part < parts; part++) {
    const end = Math.floor((total * (part + 1)) / parts);
    for (let at = Math.floor((total * part) / parts); at < end; at += BATCH) {
      const count = Math.min(BATCH, end - at);
      const keys = keysOf(count, (i) => order[at + i]! % rows);
      const times = keys.map((_, i) => timeOf(Math.floor(order[at + i]! / rows)));
      const batch = keys.map(() => values.next());
      if (subject.putVersions !== undefined) await subject.putVersions(keys, times, batch);
      else
        await subject.putBatch(
          keys.map((key, i) => versionKey(key, times[i]!)),
          batch,
        );
    }
    await subject.flush?.();
  }
}

/** Reads a version by promise; null or undefined: there is none. Absent: the store cannot. */
export function versionReader(
  subject: Subject,
): ((row: number, time: number) => Promise<Uint8Array | null | undefined>) | undefined {
  if (subject.getVersion !== undefined) return (row, time) => subject.getVersion!(keyOf(row), time);
  if (subject.scanShort === undefined) return undefined;
  return async (row, time) => {
    const key = keyOf(row);
    let found: Uint8Array | undefined;
    await subject.scanShort!(versionKey(key, time), 1, (at, value) => {
      if (isOf(key, at)) found = value;
    });
    return found;
  };
}

/** As `versionReader`, synchronously. */
export function versionReaderSync(
  subject: Subject,
): ((row: number, time: number) => Uint8Array | null | undefined) | undefined {
  if (subject.getVersionSync !== undefined)
    return (row, time) => subject.getVersionSync!(keyOf(row), time);
  if (subject.firstSync === undefined) return undefined;
  return (row, time) => {
    const key = keyOf(row);
    const first = subject.firstSync!(versionKey(key, time));
    return first !== undefined && isOf(key, first.key) ? first.value : undefined;
  };
}

/** Whether the row belongs to the key: the same first bytes. */
function isOf(key: Uint8Array, row: Uint8Array): boolean {
  for (let i = 0; i < KEY_LENGTH; i++) if (row[i] !== key[i]) return false;
  return true;
}
