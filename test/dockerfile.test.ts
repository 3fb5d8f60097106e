/** The Dockerfile, which no test can build: what it copies is there, its ports agree, and its commands do what they should. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '..');
const text = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

interface Instruction {
  readonly name: string;
  readonly rest: string;
}

/** The instructions of each stage; lines that end in a backslash go on. */
function stagesOf(dockerfile: string): Instruction[][] {
  const stages: Instruction[][] = [];
  for (const line of dockerfile.replace(/\\\n\s*/g, ' ').split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [, name = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    expect(name, line).not.toBe('');
    if (name === 'FROM') stages.push([]);
    stages.at(-1)!.push({ name, rest });
  }
  return stages;
}

const [build = [], image = []] = stagesOf(text('Dockerfile'));
const all = (stage: readonly Instruction[], name: string): string[] =>
  stage.filter((instruction) => instruction.name === name).map(({ rest }) => rest);
const one = (name: string): string => {
  const found = all(image, name);
  expect(found, name).toHaveLength(1);
  return found[0]!;
};
const entry = JSON.parse(one('ENTRYPOINT')) as string[];
const port = one('EXPOSE');
const check = one('HEALTHCHECK');

test('both stages have a Node that the package takes, and the image has what the build left', () => {
  const { engines, scripts } = JSON.parse(text('package.json')) as {
    engines: { node: string };
    scripts: Record<string, string>;
  };
  const least = Number(/^>=(\d+)/.exec(engines.node)![1]);
  for (const from of [...all(build, 'FROM'), ...all(image, 'FROM')]) {
    expect(Number(/^node:(\d+)/.exec(from)![1])).toBeGreaterThanOrEqual(least);
  }
  const ignored = text('.dockerignore').split('\n');
  for (const copy of all(build, 'COPY')) {
    for (const source of copy.split(' ').slice(0, -1)) {
      expect(existsSync(path.join(ROOT, source)), source).toBe(true);
      expect(ignored).not.toContain(source);
    }
  }
  for (const [, script] of all(build, 'RUN')
    .join(' ')
    .matchAll(/npm run (\S+)/g)) {
    expect(scripts).toHaveProperty(script!);
  }
  // What stands in the repository, and what `npm ci` and `npm run build` make.
  const made = ['node_modules', 'dist'];
  const copied = all(image, 'COPY').map(
    (copy) => /^--from=build \/build\/(\S+) \S+$/.exec(copy)![1]!,
  );
  for (const source of copied) {
    expect(made.includes(source) || existsSync(path.join(ROOT, source)), source).toBe(true);
  }
  const { files, bin } = JSON.parse(text('package.json')) as {
    files: string[];
    bin: { cellar: string };
  };
  expect(copied).toEqual(expect.arrayContaining(['package.json', 'node_modules', 'dist', 'data']));
  expect(files).toEqual(expect.arrayContaining(['dist', 'data']));
  expect(entry.slice(0, 2)).toEqual(['node', bin.cellar]);
});

test('it runs without rights, over a folder that is its own, and one port is named everywhere', () => {
  const user = one('USER');
  expect(user).toBe('node');
  const volume = one('VOLUME');
  expect(all(image, 'RUN').join('\n')).toContain(`chown ${user}:${user} ${volume}`);
  const names = image.map(({ name }) => name);
  expect(names.indexOf('USER')).toBeGreaterThan(names.lastIndexOf('RUN'));
  expect(entry[entry.indexOf('serve') + 1]).toBe(volume);
  expect(entry[entry.indexOf('--port') + 1]).toBe(port);
  expect(entry[entry.indexOf('--host') + 1]).toBe('0.0.0.0');
  expect(check).toContain(`http://127.0.0.1:${port}/`);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const free = (server.address() as AddressInfo).port;
  server.close();
  await once(server, 'close');
  return free;
}

/** Runs the health check as the shell would; its exit status. */
async function health(at: number): Promise<number> {
  const [, script = ''] = /CMD node -e "(.*)"$/.exec(check) ?? [];
  expect(script).not.toBe('');
  const child = spawn(process.execPath, ['-e', script.replaceAll(port, String(at))]);
  const [status] = (await once(child, 'exit')) as [number];
  return status;
}

test('its command serves, its health check tells so, and it ends when it is told to', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'dockerfile-'));
  const at = await freePort();
  const values = new Map([
    [port, String(at)],
    [one('VOLUME'), path.join(folder, 'data')],
  ]);
  const args = [...entry.slice(1).map((word) => values.get(word) ?? word), '--json'];
  const server = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const [line] = (await once(createInterface({ input: server.stdout }), 'line')) as [string];
    expect(JSON.parse(line)).toMatchObject({ ready: true, rpc: `0.0.0.0:${at}` });
    expect(await health(at)).toBe(0);
    server.kill('SIGTERM');
    const [status] = (await once(server, 'exit')) as [number];
    expect(status).toBe(0);
    expect(await health(at)).toBe(1);
  } finally {
    server.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
});
