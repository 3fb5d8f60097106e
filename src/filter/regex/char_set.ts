/** Sets of code points, as regular expressions name them. */

const TABLE_SIZE = 256;

/** Whether a code point is in the set; asked once for each below 256, then only beyond. */
type Test = (point: number) => boolean;

export class CharSet {
  /** Made when it is asked first: most sets stand in tables of names, and are never asked. */
  #table: Uint8Array | null = null;
  readonly #test: Test;

  constructor(test: Test) {
    this.#test = test;
  }

  has(point: number): boolean {
    return point < TABLE_SIZE ? (this.#table ??= this.#fill())[point] === 1 : this.#test(point);
  }

  #fill(): Uint8Array {
    const table = new Uint8Array(TABLE_SIZE);
    for (let point = 0; point < TABLE_SIZE; point++) table[point] = this.#test(point) ? 1 : 0;
    return table;
  }

  static one(point: number): CharSet {
    return new CharSet((other) => other === point);
  }

  static range(first: number, last: number): CharSet {
    return new CharSet((point) => point >= first && point <= last);
  }

  /** Of single code points. */
  static of(text: string): CharSet {
    const points = new Set([...text].map((character) => character.codePointAt(0)!));
    return new CharSet((point) => points.has(point));
  }

  /** Whatever this JavaScript class, like `\p{L}`, names. */
  static property(source: string): CharSet {
    const pattern = new RegExp(`^${source}$`, 'u');
    return new CharSet((point) => pattern.test(String.fromCodePoint(point)));
  }

  union(other: CharSet): CharSet {
    return new CharSet((point) => this.has(point) || other.has(point));
  }

  intersection(other: CharSet): CharSet {
    return new CharSet((point) => this.has(point) && other.has(point));
  }

  negated(): CharSet {
    return new CharSet((point) => !this.has(point));
  }

  /** With letters of the other case: of ASCII only, or of all. */
  anyCase(isUnicode: boolean): CharSet {
    return new CharSet(
      (point) => this.has(point) || casesOf(point, isUnicode).some((other) => this.has(other)),
    );
  }
}

const NO_CASES: readonly number[] = [];

/** The point in other cases, as Java's CASE_INSENSITIVE and UNICODE_CASE compare them. */
export function casesOf(point: number, isUnicode: boolean): readonly number[] {
  if ((point >= 0x41 && point <= 0x5a) || (point >= 0x61 && point <= 0x7a)) {
    if (!isUnicode) return [point ^ 0x20];
  } else if (!isUnicode) return NO_CASES;
  const text = String.fromCodePoint(point);
  const upper = text.toUpperCase();
  const forms = [upper, text.toLowerCase(), upper.toLowerCase()];
  return forms
    .map((form) => (form.length <= 2 ? form.codePointAt(0)! : point))
    .filter((other) => other !== point);
}

export const EVERYTHING: CharSet = new CharSet(() => true);
export const NOTHING: CharSet = new CharSet(() => false);
export const DIGIT: CharSet = CharSet.range(0x30, 0x39);
export const LOWER: CharSet = CharSet.range(0x61, 0x7a);
export const UPPER: CharSet = CharSet.range(0x41, 0x5a);
export const ALPHA: CharSet = LOWER.union(UPPER);
export const WORD: CharSet = ALPHA.union(DIGIT).union(CharSet.one(0x5f));
export const SPACE: CharSet = CharSet.of(' \t\n\u000b\f\r');
export const HORIZONTAL: CharSet = CharSet.of('\t \u00a0\u1680\u180e\u202f\u205f\u3000').union(
  CharSet.range(0x2000, 0x200a),
);
export const VERTICAL: CharSet = CharSet.range(0x0a, 0x0d).union(CharSet.of('\u0085\u2028\u2029'));
export const LINE_END: CharSet = CharSet.of('\n\r\u0085\u2028\u2029');
/** What stands inside of words for `\b`: Java's letters and digits, and `_`. */
export const BOUNDARY_WORD: CharSet = CharSet.property('[\\p{L}\\p{Nd}_]');

const POSIX: ReadonlyMap<string, CharSet> = new Map([
  ['Lower', LOWER],
  ['Upper', UPPER],
  ['ASCII', CharSet.range(0, 0x7f)],
  ['Alpha', ALPHA],
  ['Digit', DIGIT],
  ['Alnum', ALPHA.union(DIGIT)],
  ['Punct', CharSet.of('!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~')],
  ['Graph', CharSet.range(0x21, 0x7e)],
  ['Print', CharSet.range(0x20, 0x7e)],
  ['Blank', CharSet.of(' \t')],
  ['Cntrl', CharSet.range(0, 0x1f).union(CharSet.one(0x7f))],
  ['XDigit', DIGIT.union(CharSet.range(0x41, 0x46)).union(CharSet.range(0x61, 0x66))],
  ['Space', SPACE],
]);

/** Names of Java's own classes and binary properties, as JavaScript knows them. */
const JAVA: ReadonlyMap<string, string> = new Map([
  ['javaLowerCase', '\\p{Lowercase}'],
  ['javaUpperCase', '\\p{Uppercase}'],
  ['javaWhitespace', '[\\t-\\r\\x1c-\\x1f\\p{Z}]'],
  ['javaLetter', '\\p{L}'],
  ['javaDigit', '\\p{Nd}'],
  ['javaLetterOrDigit', '[\\p{L}\\p{Nd}]'],
  ['javaAlphabetic', '\\p{Alphabetic}'],
  ['L1', '[\\x00-\\xff]'],
  ['all', '[^]'],
  ['LD', '[\\p{L}\\p{Nd}]'],
  ['LC', '[\\p{Lu}\\p{Ll}\\p{Lt}]'],
]);

const UNICODE_POSIX: ReadonlyMap<string, string> = new Map([
  ['Lower', '\\p{Lowercase}'],
  ['Upper', '\\p{Uppercase}'],
  ['Alpha', '\\p{Alphabetic}'],
  ['Digit', '\\p{Nd}'],
  ['Alnum', '[\\p{Alphabetic}\\p{Nd}]'],
  ['Punct', '\\p{P}'],
  ['Blank', '[\\p{Zs}\\t]'],
  ['Space', '\\p{White_Space}'],
  ['Cntrl', '\\p{Cc}'],
]);

/** The class `\p{name}` of Java; null if it is unknown here. */
export function namedSet(name: string, isUnicode: boolean): CharSet | null {
  const unicode = isUnicode ? UNICODE_POSIX.get(name) : undefined;
  if (unicode !== undefined) return CharSet.property(unicode);
  const posix = POSIX.get(name);
  if (posix !== undefined) return posix;
  const java = JAVA.get(name);
  if (java !== undefined) return CharSet.property(java);
  for (const source of propertySources(name)) {
    try {
      return CharSet.property(`\\p{${source}}`);
    } catch (error) {
      // The name is none of that kind: the next kind is tried.
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  return null;
}

/** `L`, `IsL`, `IsLatin`, `IsAlphabetic`, `script=Latin`, `sc=`, `general_category=Lu`, `gc=`. */
function propertySources(name: string): string[] {
  if (!/^[A-Za-z_ ]+(=[A-Za-z_ ]+)?$/.test(name)) return [];
  const [key, value] = name.split('=');
  if (value !== undefined) {
    const kind = key!.toLowerCase();
    if (kind === 'script' || kind === 'sc') return [`Script=${titled(value)}`];
    return kind === 'general_category' || kind === 'gc' ? [value] : [];
  }
  if (!name.startsWith('Is')) return /^[A-Z][a-z]?$/.test(name) ? [name] : [];
  const rest = name.slice(2);
  return [rest, titled(rest), `Script=${titled(rest)}`];
}

const titled = (name: string): string =>
  name
    .split('_')
    .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1).toLowerCase())
    .join('_');
