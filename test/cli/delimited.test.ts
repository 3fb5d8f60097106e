import { describe, expect, test } from 'vitest';
import {
  DelimitedParser,
  RECORD_LENGTH_MAX,
  type DelimitedLine,
} from '../../src/cli/load/delimited.ts';

const CSV = { separator: 0x2c, quotes: true };
const TSV = { separator: 0x09, quotes: false };

const shown = (lines: readonly DelimitedLine[]): unknown =>
  lines.map(({ line, fields, fault }) =>
    fault === null
      ? [line, ...fields.map((f) => Buffer.from(f).toString('utf8'))]
      : [line, { fault }],
  );

function parse(text: string | Uint8Array, format = CSV, chunk = Infinity): unknown {
  const parser = new DelimitedParser(format);
  const bytes = Buffer.from(text as Uint8Array);
  const lines: DelimitedLine[] = [];
  for (let at = 0; at < bytes.length; at += chunk) {
    lines.push(...parser.push(bytes.subarray(at, Math.min(bytes.length, at + chunk))));
  }
  lines.push(...parser.end());
  return shown(lines);
}

const CASES: { name: string; text: string | Uint8Array; format?: typeof CSV; want: unknown }[] = [
  { name: 'nothing', text: '', want: [] },
  {
    name: 'plain',
    text: 'a,b\nc,d\n',
    want: [
      [1, 'a', 'b'],
      [2, 'c', 'd'],
    ],
  },
  {
    name: 'no last line end',
    text: 'a,b\nc,d',
    want: [
      [1, 'a', 'b'],
      [2, 'c', 'd'],
    ],
  },
  {
    name: 'CR LF',
    text: 'a,b\r\nc,"d"\r\n',
    want: [
      [1, 'a', 'b'],
      [2, 'c', 'd'],
    ],
  },
  { name: 'CR at the very end', text: 'a,"b"\r', want: [[1, 'a', 'b']] },
  { name: 'BOM', text: '\ufeffa,b\n', want: [[1, 'a', 'b']] },
  { name: 'BOM alone', text: '\ufeff', want: [] },
  { name: 'BOM before a quote', text: '\ufeff"a",b\n', want: [[1, 'a', 'b']] },
  {
    name: 'empty lines',
    text: '\n\r\na\n\nb\n',
    want: [
      [3, 'a'],
      [5, 'b'],
    ],
  },
  { name: 'an empty quoted field is a line', text: '""\n', want: [[1, '']] },
  {
    name: 'empty fields',
    text: ',\n,,\n',
    want: [
      [1, '', ''],
      [2, '', '', ''],
    ],
  },
  { name: 'empty last field without line end', text: 'a,', want: [[1, 'a', '']] },
  { name: 'empty field after a quoted one', text: '"a",', want: [[1, 'a', '']] },
  {
    name: 'quoted then more lines',
    text: '"a",\n"b",\n',
    want: [
      [1, 'a', ''],
      [2, 'b', ''],
    ],
  },
  { name: 'quotes', text: '"a,b","c""d","",e"f\n', want: [[1, 'a,b', 'c"d', '', 'e"f']] },
  {
    name: 'only quotes',
    text: '""""\n""""""\n',
    want: [
      [1, '"'],
      [2, '""'],
    ],
  },
  {
    name: 'lines within quotes',
    text: '"a\nb\r\nc",d\ne\n',
    want: [
      [1, 'a\nb\r\nc', 'd'],
      [4, 'e'],
    ],
  },
  {
    name: 'text after a quote',
    text: 'a\n"b"c,d\ne\n',
    want: [
      [1, 'a'],
      [2, { fault: 'text follows a closing quote' }],
      [3, 'e'],
    ],
  },
  {
    name: 'CR after a quote',
    text: '"b"\rc\n',
    want: [[1, { fault: 'text follows a closing quote' }]],
  },
  {
    name: 'a quote that is not closed',
    text: 'a\n"b\nc\nd',
    want: [
      [1, 'a'],
      [2, { fault: 'quote is not closed' }],
      [3, 'c'],
      [4, 'd'],
    ],
  },
  { name: 'tabs: quotes are text', text: '"a\t,b"\n', format: TSV, want: [[1, '"a', ',b"']] },
  { name: 'UTF-8', text: 'é,"日本"\n', want: [[1, 'é', '日本']] },
];

describe('separated fields', () => {
  test.each(CASES)('$name', ({ text, format, want }) => {
    expect(parse(text, format)).toEqual(want);
  });

  test.each(CASES)('$name, cut anywhere', ({ text, format, want }) => {
    const length = Buffer.from(text as Uint8Array).length;
    for (let chunk = 1; chunk <= length; chunk++)
      expect(parse(text, format, chunk), `${chunk}`).toEqual(want);
  });

  test('bytes that are no UTF-8 stay as they are', () => {
    const parser = new DelimitedParser(CSV);
    const lines = parser.push(Buffer.from([0xff, 0x2c, 0x22, 0x00, 0xfe, 0x22, 0x0a]));
    expect(lines[0]!.fields).toEqual([Uint8Array.of(0xff), Uint8Array.of(0, 0xfe)]);
  });

  test('a quote that swallows the file is found out, and reading goes on', () => {
    const parser = new DelimitedParser(CSV);
    const lines = [...parser.push(Buffer.from('"a\nb\n'))];
    lines.push(...parser.push(Buffer.alloc(RECORD_LENGTH_MAX, 'x')), ...parser.end());
    expect(lines.map(({ line, fault }) => [line, fault])).toEqual([
      [1, `record is longer than ${RECORD_LENGTH_MAX} bytes`],
      [2, null],
      [3, null],
    ]);
  });
});
