/** A server that tests have started through another process, as npx is one, ends with them, also when they are killed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { expect, test } from 'vitest';

const MAIN = path.resolve(import.meta.dirname, '../../dist/cli/main.cjs');

test('a server behind a killed shell ends with its standard input', async () => {
  const command = `"${process.execPath}" "${MAIN}" serve --port 0 --json --stop-with-input; true`;
  const shell = spawn('sh', ['-c', command], { stdio: ['pipe', 'pipe', 'pipe'] });
  let told = '';
  shell.stderr.setEncoding('utf8').on('data', (text: string) => (told += text));
  const [line] = (await once(shell.stdout, 'data')) as [Buffer];
  const { pid } = JSON.parse(line.toString()) as { pid: number };
  expect(pid).not.toBe(shell.pid);
  shell.kill('SIGKILL');
  await once(shell, 'exit');
  expect(process.kill(pid, 0)).toBe(true);
  shell.stdin.end();
  // Its standard error is open until it has ended.
  await once(shell, 'close');
  expect(told).toMatch(/^stopped/m);
});
