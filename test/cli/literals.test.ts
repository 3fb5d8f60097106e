import { describe, expect, test } from 'vitest';
import {
  IncompleteError,
  ShellSyntaxError,
  parseStatements,
} from '../../src/cli/shell/literals.ts';

const one = (text: string): unknown => {
  const statements = parseStatements(text);
  expect(statements).toHaveLength(1);
  return [statements[0]!.command, ...statements[0]!.arguments];
};
const bytes = (...values: number[]): Uint8Array => Buffer.from(values);

describe('the language of the shell', () => {
  test.each([
    { text: 'list', want: ['list'] },
    { text: "  list 'a'  # all of them", want: ['list', 'a'] },
    { text: "put 't', 'r', 'f:q', 'v', 5", want: ['put', 't', 'r', 'f:q', 'v', 5] },
    { text: "put('t', 'r')", want: ['put', 't', 'r'] },
    { text: 'exit()', want: ['exit'] },
    { text: `x 'a\\'b\\\\c\\n'`, want: ['x', "a'b\\c\\n"] },
    { text: 'x "a\\n\\t\\"\\\\\\u00e9\\u{1F600}\\e"', want: ['x', 'a\n\t"\\é😀\x1b'] },
    { text: 'x "a\\x00\\xFFé\\x7"', want: ['x', bytes(0x61, 0, 0xff, 0xc3, 0xa9, 7)] },
    { text: "x '\\x00'", want: ['x', '\\x00'] },
    {
      text: 'x :sym, VERSIONS, true, false, nil',
      want: ['x', 'sym', 'VERSIONS', true, false, null],
    },
    {
      text: 'x -5, 1_000, 1.5, 9223372036854775807',
      want: ['x', -5, 1000, 1.5, 9223372036854775807n],
    },
    { text: "x ['a', ['b'], []]", want: ['x', ['a', ['b'], []]] },
    { text: "x ['a', 'b',]", want: ['x', ['a', 'b']] },
    {
      text: "x {NAME => 'f', VERSIONS => 3}",
      want: [
        'x',
        new Map<string, unknown>([
          ['NAME', 'f'],
          ['VERSIONS', 3],
        ]),
      ],
    },
    {
      text: "x {NAME: 'f', 'a': 1, :b => 2}",
      want: [
        'x',
        new Map<string, unknown>([
          ['NAME', 'f'],
          ['a', 1],
          ['b', 2],
        ]),
      ],
    },
    {
      text: "x 't', NAME => 'f', TTL => 5",
      want: [
        'x',
        't',
        new Map<string, unknown>([
          ['NAME', 'f'],
          ['TTL', 5],
        ]),
      ],
    },
    { text: "x({A => {'b' => ['c']}})", want: ['x', new Map([['A', new Map([['b', ['c']]])]])] },
    { text: "x 't',\n  'u',\n  {A =>\n 1,\n}", want: ['x', 't', 'u', new Map([['A', 1]])] },
    { text: 'x \'it#s\', "a;b"', want: ['x', 'it#s', 'a;b'] },
    { text: 'x org.apache.X, A::B', want: ['x', 'org.apache.X', 'A::B'] },
    { text: "x 'a' \\\n , 'b'", want: ['x', 'a', 'b'] },
  ])('$text', ({ text, want }) => {
    expect(one(text)).toEqual(want);
  });

  test('statements', () => {
    expect(parseStatements("a 'x'; b\n\nc 1 # d\n;;")).toEqual([
      { command: 'a', arguments: ['x'] },
      { command: 'b', arguments: [] },
      { command: 'c', arguments: [1] },
    ]);
    expect(parseStatements(' # nothing\n')).toEqual([]);
  });

  test.each([
    "x 'a",
    'x "a\\',
    "x ['a'",
    "x ['a',",
    'x {A => 1',
    'x {A =>',
    "x 'a',",
    "x('a'",
    'x(',
    "x 'a', B =>",
  ])('goes on after %s', (text) => {
    expect(() => parseStatements(text)).toThrow(IncompleteError);
  });

  test.each([
    { text: "'x'", want: /'x' where a command is expected at character 1/ },
    { text: "x 'a' 'b'", want: /'b' where ',' or the end is expected at character 7/ },
    { text: "x , 'a'", want: /',' where a value is expected at character 3/ },
    { text: 'x ]', want: /']' where a value/ },
    { text: "x {'a'}", want: /'a' where KEY => value is expected/ },
    { text: 'x "\\xZZ"', want: /invalid escape \\x at character 4/ },
    { text: 'x "\\u{FFFFFF}"', want: /is no character/ },
    { text: 'x @', want: /'@' is not understood at character 3/ },
    { text: "x 'a', ;", want: /';|the end of the line/ },
  ])('refuses $text', ({ text, want }) => {
    const parse = (): unknown => parseStatements(text);
    expect(parse).toThrow(ShellSyntaxError);
    expect(parse).not.toThrow(IncompleteError);
    expect(parse).toThrow(want);
  });

  test('every prefix of a line is whole, incomplete or refused, nothing else', () => {
    const line = `create 't', {NAME => "f\\x00", V: [1, :a]}, S => ['g']`;
    for (let length = 0; length <= line.length; length++) {
      try {
        parseStatements(line.slice(0, length));
      } catch (error) {
        expect(error).toBeInstanceOf(ShellSyntaxError);
      }
    }
  });
});
