/** What only a terminal sees: completion and history. */
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { complete } from '../../src/cli/shell/completion.ts';
import { historyPath, readHistory, writeHistory } from '../../src/cli/shell/history.ts';
import { runInteractive } from '../../src/cli/shell/repl.ts';
import { Printer } from '../../src/cli/output.ts';
import type { CliIo } from '../../src/cli/context.ts';
import { open } from '../../src/engine/index.ts';
import { memoryEnv } from '../../src/io/index.ts';

test.each([
  { line: 'cre', want: [['create', 'create_namespace'], 'cre'] },
  { line: '', contains: 'scan' },
  { line: "scan 'qu", want: [["quakes'"], 'qu'] },
  { line: 'scan "qu', want: [['quakes"'], 'qu'] },
  { line: "scan 'quakes', STA", want: [['STARTROW'], 'STA'] },
  { line: "create 't', {NAME => 'f', VERS", want: [['VERSIONS'], 'VERS'] },
])('completion of "$line"', ({ line, want, contains }) => {
  const found = complete(line, ['quakes', 'other']);
  if (want !== undefined) expect(found).toEqual(want);
  if (contains !== undefined) expect(found[0]).toContain(contains);
});

test('where the history is', () => {
  expect(historyPath({ HOME: '/h' })).toBe('/h/.cellar_history');
  expect(historyPath({ USERPROFILE: 'C:\\h' })).toBe('C:/h/.cellar_history');
  expect(historyPath({ HOME: '/h', CELLAR_HISTORY: '/x' })).toBe('/x');
  expect(historyPath({ HOME: '/h', CELLAR_HISTORY: '' })).toBeNull();
  expect(historyPath({})).toBeNull();
});

test('the history is kept, newest first in memory', async () => {
  const { fs } = memoryEnv();
  expect(await readHistory(fs, 'history')).toEqual([]);
  await writeHistory(fs, 'history', ['new', 'old']);
  await writeHistory(fs, 'history', ['newest', 'new', 'old']);
  expect(await readHistory(fs, 'history')).toEqual(['newest', 'new', 'old']);
});

test('a session at a terminal', async () => {
  const env = memoryEnv();
  await using store = await open();
  let text = '';
  const write = async (more: string): Promise<boolean> => {
    text += more;
    return true;
  };
  const input = new PassThrough();
  const output = new PassThrough();
  const io: CliIo = {
    env,
    stdout: { write },
    stderr: { write },
    stdin: input,
    terminal: { input, output },
    progressStream: null,
    variables: { CELLAR_HISTORY: 'history' },
    openStore: async () => store,
    serveHost: null,
    onInterrupt: () => () => undefined,
  };
  const session = {
    io,
    store,
    printer: new Printer(io.stdout, false),
    isStopped: false,
    isDone: false,
  };
  const running = runInteractive(session, { input, output });
  input.write("create 't',\n'f'\nput 't', 'r', 'f:a', 'v', 5\nget 't', 'r'\nexit\nlist\n");
  await running;
  expect(text.replaceAll(/Took .*\n/g, '')).toBe(
    'Created table t\nCOLUMN                CELL\n f:a                  timestamp=5, value=v\n1 row(s)\n',
  );
  const prompts = (output.read() as Buffer).toString('utf8');
  expect(prompts).toContain('cellar:001:0> ');
  expect(prompts).toContain('cellar:002:0* ');
});
