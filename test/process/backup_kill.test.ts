/**
 * A real process that writes transfers and takes backups, killed with SIGKILL again and again: every folder that has a backup's name
 * is whole, what was reported as taken is there, and any of them restores to a state with the right sum. CELLAR_KILLS sets how
 * often; the built output is what runs.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listBackups, restoreBackup, verifyBackups } from '../../src/backup/index.ts';
import { open } from '../../src/engine/index.ts';
import { realEnv } from '../../src/io/index.ts';
import type { Connection } from '../../src/model/index.ts';

const KILLS = Number(process.env['CELLAR_KILLS'] ?? 2);
const WRITER = path.join(import.meta.dirname, 'fixtures/backup_writer.mjs');
const DIST = process.env['CELLAR_DIST'] ?? path.resolve(import.meta.dirname, '../../dist/index.js');
const TABLES = ['a', 'b', 'c'];
const SUM = 800;

let top: string;

beforeAll(() => {
  top = mkdtempSync(path.join(os.tmpdir(), 'cellar-backup-kill-'));
});

afterAll(() => rmSync(top, { recursive: true }));

/** Runs the writer and kills it after some backups; answers the ids that it reported. */
async function life(backupsWanted: number): Promise<string[]> {
  const child = spawn(
    process.execPath,
    [WRITER, DIST, path.join(top, 'data'), path.join(top, 'backups')],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let text = '';
  let fault = '';
  child.stderr.on('data', (piece: Buffer) => (fault += piece.toString()));
  child.stdout.on('data', (piece: Buffer) => {
    text += piece.toString();
    // In the middle of whatever comes after that backup.
    if (text.split('\n').length - 2 >= backupsWanted) child.kill('SIGKILL');
  });
  await once(child, 'close');
  expect(fault).toBe('');
  return [...text.matchAll(/^backup (\S+)$/gm)].map((match) => match[1]!);
}

async function sumOf(store: Connection, table: string): Promise<number> {
  let sum = 0;
  for await (const result of store.table(table).scan()) sum += Number(result.text('f:n'));
  return sum;
}

test('backups of a process that is killed', { timeout: 60_000 }, async () => {
  const env = realEnv();
  const backups = path.join(top, 'backups');
  for (let round = 0; round < KILLS; round++) {
    const reported = await life(2 + (round % 3));
    const set = await listBackups(env, backups);
    expect(set.broken).toEqual([]);
    const ids = set.backups.map(({ id }) => id);
    for (const id of reported) expect(ids).toContain(id);
    expect((await verifyBackups(env, backups, null)).faults).toEqual([]);
    for (const { id } of set.backups.slice(-2)) {
      const dir = path.join(top, `restored-${id}`);
      await restoreBackup(env, backups, dir, { id });
      const restored = await open(dir, { env });
      const tables = await restored.admin.listTables();
      for (const table of tables) expect(await sumOf(restored, table), `${id} ${table}`).toBe(SUM);
      expect(TABLES).toEqual(expect.arrayContaining(tables));
      await restored.close();
    }
  }
  await env.executor.close();
});
