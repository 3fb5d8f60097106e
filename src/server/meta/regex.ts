/** Patterns over names, as Java clients write them. */
import { DoNotRetryIOException } from '../../model/index.ts';

/**
 * A test of whole names. Java's `\Q…\E` and a leading `(?i)` are understood; what JavaScript does not know otherwise is
 * DoNotRetryIOException.
 */
export function namePattern(pattern: string): (name: string) => boolean {
  const ignoresCase = pattern.startsWith('(?i)');
  const body = (ignoresCase ? pattern.slice(4) : pattern).replace(
    /\\Q(.*?)(?:\\E|$)/gs,
    (_all, literal: string) => literal.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'),
  );
  try {
    const expression = new RegExp(`^(?:${body})$`, ignoresCase ? 'isu' : 'su');
    return (name) => expression.test(name);
  } catch (error) {
    throw new DoNotRetryIOException(`java.util.regex.PatternSyntaxException: ${pattern}`, {
      cause: error,
    });
  }
}
