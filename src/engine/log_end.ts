/** Where the log ended when the store was last closed, as the manifest keeps it: a setting `<segment>:<offset>`. */
import { CorruptionException } from '../io/index.ts';
import { put, remove } from '../manifest/index.ts';
import type { Edit, Manifest } from '../manifest/index.ts';
import type { LogPlace } from '../wal/index.ts';

/** On disk. */
const LOG_END = 'log.end';

/** The log was closed and ends here. */
export const putLogEnd = ({ segment, offset }: LogPlace): Edit =>
  put('setting', { name: LOG_END, value: `${segment}:${offset}` });

/** The log may end anywhere. */
export const forgetLogEnd = (): Edit => remove('setting', LOG_END);

/** Null before the first clean close. Throws CorruptionException. */
export function logEndOf(manifest: Manifest): LogPlace | null {
  const value = manifest.get('setting', LOG_END)?.value;
  if (value === undefined) return null;
  const match = /^(\d{1,10}):(\d{1,10})$/.exec(value);
  if (match === null) {
    throw new CorruptionException(`the end of the log is '${value}'`, 'manifest', 0);
  }
  return { segment: Number(match[1]), offset: Number(match[2]) };
}
