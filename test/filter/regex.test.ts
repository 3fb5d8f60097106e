/** Java's regular expressions on our own engine: what they find, what they refuse, and that nothing makes them hang. */
import { describe, expect, test } from 'vitest';
import { compileRegex } from '../../src/filter/regex/index.ts';
import { codePointsOf } from '../../src/filter/text.ts';
import { seeded } from '../region/scan/support.ts';

const DOTALL = 32;

function finds(pattern: string, text: string, flags = DOTALL, charset = 'UTF-8'): boolean {
  const points = codePointsOf(charset);
  const bytes = Buffer.from(text, charset === 'UTF-8' ? 'utf8' : 'latin1');
  points.set(bytes, 0, bytes.length);
  return compileRegex(pattern, flags).find(points.points, points.length);
}

describe('finding', () => {
  test.each([
    ['b+', 'abbc', true],
    ['^b', 'ab', false],
    ['c$', 'abc\n', true],
    ['c\\z', 'abc\n', false],
    ['c\\Z', 'abc\r\n', true],
    ['a.c', 'a\nc', true],
    ['^$', '', true],
    ['a{2,3}b', 'aab', true],
    ['^a{2,3}b', 'aaaab', false],
    ['^(?:ab|cd)*e', 'abcdabe', true],
    ['[a-c&&[^b]]', 'b', false],
    ['[a-c&&[^b]]', 'xc', true],
    ['[^a-z]', 'abc', false],
    ['[]a]', ']', true],
    ['[a-]', '-', true],
    ['[\\w&&\\D]', '1', false],
    ['\\d{3}-\\d{4}', 'call 555-1234', true],
    ['\\bcat\\b', 'a cat.', true],
    ['\\bcat\\b', 'concatenate', false],
    ['\\Qa.b\\E+c', 'a.bbc', true],
    ['\\Qa.b', 'axb', false],
    ['\\x41\\u0042\\x{43}\\0104', 'ABCD', true],
    ['\\p{Lu}\\p{L}+', 'Ünder', true],
    ['\\p{IsGreek}', 'αβγ', true],
    ['\\P{Alpha}', 'abc', false],
    ['^\\p{XDigit}+$', 'cafe01', true],
    ['.', '😀', true],
    ['^.$', '😀', true],
    ['\\R', 'a\r\nb', true],
    ['(?i)HELLO', 'hello', true],
    ['(?i:h)ELLO', 'hELLO', true],
    ['(?i:h)ELLO', 'hello', false],
    ['(?x) a b # comment\n c', 'abc', true],
    ['(?m)^b$', 'a\nb\nc', true],
    ['^b$', 'a\nb\nc', false],
    ['(?<year>\\d{4})', 'in 2024', true],
    ['a|', 'zzz', true],
    ['(a*)*b', 'aaab', true],
    ['(a|b|)+c', 'abc', true],
  ])('%s in %j: %s', (pattern, text, want) => {
    expect(finds(pattern, text)).toBe(want);
  });

  test.each([
    ['^(?!foo)', 'foobar', false],
    ['^(?!foo)', 'barfoo', true],
    ['a(?=b)', 'ac ab', true],
    ['(?<=\\$)\\d+', 'cost $42', true],
    ['(?<!\\$)\\b\\d+', 'cost $42', false],
    ['(\\w)\\1', 'hello', true],
    ['^(\\w)\\1$', 'ab', false],
    ['(?<q>[\'"]).*?\\k<q>', 'say "x" now', true],
    ['(?i)(a)\\1', 'aA', true],
    ['^a++a', 'aaa', false],
    ['^(?>a|ab)c', 'abc', false],
    ['^(?:a|ab)c', 'abc', true],
  ])('what no automaton does: %s in %j: %s', (pattern, text, want) => {
    expect(finds(pattern, text)).toBe(want);
  });

  test('flags', () => {
    expect(finds('A', 'a', 2)).toBe(true);
    expect(finds('Ä', 'ä', 2)).toBe(false);
    expect(finds('Ä', 'ä', 2 | 64)).toBe(true);
    expect(finds('a.b', 'a\nb', 0)).toBe(false);
    expect(finds('a.b', 'a\u0085b', 0)).toBe(false);
    expect(finds('a.b', 'a\u0085b', 1)).toBe(true);
    expect(finds('a+b', 'aab', 16)).toBe(false);
    expect(finds('a+b', 'xa+b', 16)).toBe(true);
    expect(finds('^\\w+$', 'éa', 256)).toBe(true);
    expect(finds('^\\w+$', 'éa', 0)).toBe(false);
    expect(() => finds('a', 'a', 128)).toThrow('CANON_EQ');
    expect(() => finds('a', 'a', 512)).toThrow('Unknown flag');
  });

  test('charsets', () => {
    expect(finds('^é$', '\xe9', DOTALL, 'ISO-8859-1')).toBe(true);
    expect(finds('^é$', '\xe9', DOTALL, 'UTF-8')).toBe(true);
    const broken = codePointsOf('utf-8');
    broken.set(Uint8Array.of(0x61, 0xe2, 0x82, 0x62, 0xff), 0, 5);
    expect([...broken.points.subarray(0, broken.length)]).toEqual([0x61, 0xfffd, 0x62, 0xfffd]);
    const wide = codePointsOf('UTF-16');
    wide.set(Uint8Array.of(0xff, 0xfe, 0x61, 0, 0x3d, 0xd8, 0, 0xde), 0, 8);
    expect([...wide.points.subarray(0, wide.length)]).toEqual([0x61, 0x1f600]);
    expect(() => codePointsOf('EBCDIC')).toThrow('Unsupported charset');
  });

  test('UTF-8 is read as the platform reads it', () => {
    const random = seeded(5);
    const points = codePointsOf('UTF-8');
    for (let round = 0; round < 3000; round++) {
      const bytes = Buffer.from(
        Array.from({ length: 12 }, () =>
          random() < 0.5 ? 0x80 + Math.floor(random() * 0x80) : Math.floor(random() * 256),
        ),
      );
      points.set(bytes, 0, bytes.length);
      const text = String.fromCodePoint(...points.points.subarray(0, points.length));
      expect(text).toBe(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
    }
  });
});

test.each([
  ['(a', 'Unclosed group near index 0'],
  ['a)', "Unmatched closing ')'"],
  ['[a', 'Unclosed character class near index 0'],
  ['*a', "Dangling meta character '*' near index 0"],
  ['a**', 'Dangling meta character'],
  ['a{3,2}', 'Illegal repetition range'],
  ['a{', 'Illegal repetition'],
  ['[b-a]', 'Illegal character range'],
  ['\\j', 'Illegal/unsupported escape'],
  ['\\p{Nonsense}', 'Unknown character property'],
  ['(?<1>a)', 'Latin letter'],
  ['\\k<a>', 'does not exist'],
  ['\\', 'unexpected end'],
  ['(?:x{500}){500}', 'too large'],
  ['('.repeat(5000), 'nested too deeply'],
])('refuses %s: %s', (pattern, want) => {
  expect(() => compileRegex(pattern, 0)).toThrow(want);
});

describe('time', () => {
  test('nested repetitions cost no more than their length times the text', () => {
    const text = 'a'.repeat(5000);
    const points = Uint32Array.from(text, () => 0x61);
    for (const pattern of ['(a+)+$b', '(a|aa)+b', '(.*)*b', '(a?){50}a{50}b']) {
      const regex = compileRegex(pattern, 0);
      expect(regex.find(points, points.length)).toBe(false);
      expect(regex.steps, pattern).toBeLessThan(points.length * 400);
    }
  });

  test('a search that backtracks too long is given up', () => {
    const points = Uint32Array.from('a'.repeat(60), () => 0x61);
    const regex = compileRegex('(a+)+(?=b)', 0);
    expect(() => regex.find(points, points.length)).toThrow('given up');
  });
});

/** Of pieces whose meaning Java and JavaScript share. */
test('random expressions find what the platform finds, with and without backtracking', () => {
  const random = seeded(11);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const piece = (depth: number): string => {
    const choice = Math.floor(random() * (depth > 2 ? 4 : 8));
    if (choice < 3) return pick(['a', 'b', 'c', '.', '[ab]', '[^a]', '\\w', '\\d']);
    if (choice === 3) return pick(['^', '$', '\\b', '']);
    if (choice === 4) return `(?:${piece(depth + 1)}|${piece(depth + 1)})`;
    if (choice === 5) return `(${piece(depth + 1)})${pick(['*', '+', '?', '{1,2}', '{2}', '*?'])}`;
    return piece(depth + 1) + piece(depth + 1);
  };
  for (let round = 0; round < 4000; round++) {
    const pattern = piece(0);
    const text = Array.from({ length: Math.floor(random() * 8) }, () =>
      pick(['a', 'b', 'c', '1']),
    ).join('');
    const want = new RegExp(pattern, 's').test(text);
    expect(finds(pattern, text), `${pattern} in ${text}`).toBe(want);
    expect(finds(`${pattern}(?=)`, text), `${pattern}(?=) in ${text}`).toBe(want);
  }
});
