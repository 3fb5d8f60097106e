/** SequenceFiles as Hadoop writes them, and every cut of one. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { readResult } from '../../src/backup/result_message.ts';
import { SequenceFileWriter, readSequenceFile } from '../../src/backup/sequence_file.ts';
import { toStringBinary, u64 } from '../../src/cell/index.ts';
import { StoreException, memoryEnv } from '../../src/io/index.ts';
import type { Env } from '../../src/io/index.ts';
import { PackedCell } from '../../src/region/index.ts';

const GOLDEN = path.resolve(import.meta.dirname, '../golden/sequencefile');
const FILES = ['export-none.seq', 'export-record.seq', 'export-block.seq'];

const bytesOf = (name: string): Buffer => readFileSync(path.join(GOLDEN, name));

async function put(env: Env, bytes: Uint8Array): Promise<void> {
  await env.fs.remove('file');
  const handle = await env.fs.open('file', 'create');
  await handle.write(bytes, 0);
  await handle.close();
}

async function cellsOf(env: Env): Promise<string[]> {
  const cells: string[] = [];
  const view = new PackedCell();
  for await (const { row, value } of readSequenceFile(env, 'file')) {
    readResult(value, (cell) => {
      view.setKeyValue(cell, 0, cell.length);
      const text = (from: number, to: number): string => toStringBinary(cell.subarray(from, to));
      expect(text(view.rowAt, view.rowAt + view.rowLength)).toBe(toStringBinary(row));
      const column = `${text(view.rowAt + view.rowLength + 1, view.qualifierAt)}:${text(view.qualifierAt, view.timestampAt)}`;
      const value = text(view.valueAt, view.valueAt + view.valueLength);
      cells.push(
        `${toStringBinary(row)} ${column}@${u64(cell, view.timestampAt)} ${cell[view.timestampAt + 8]} ${value}`,
      );
    });
  }
  return cells;
}

/** What the golden files hold: protocol/golden/README.md. */
function wanted(): string[] {
  return Array.from({ length: 40 }, (_, i) => {
    const row = `exp-${String(i).padStart(3, '0')}`;
    return [
      `${row} f:a@${1000 + i} 4 value ${i}`,
      ...(i % 10 === 3 ? [`${row} f:b@900 12 `] : []),
      `${row} f:b@800 4 second`,
    ];
  }).flat();
}

describe('files of Hadoop', () => {
  test.each(FILES)('%s', async (name) => {
    const env = memoryEnv();
    await put(env, bytesOf(name));
    expect(await cellsOf(env)).toEqual(wanted());
  });

  test('our writer gives the bytes of Hadoop’s', async () => {
    const env = memoryEnv();
    const golden = bytesOf('export-none.seq');
    await put(env, golden);
    const chunks: Uint8Array[] = [];
    const sink = { add: (bytes: Uint8Array): boolean => chunks.push(Uint8Array.from(bytes)) < 0 };
    const sync = golden.subarray(0x62, 0x72);
    const writer = new SequenceFileWriter(sink, null, sync);
    for await (const { row, value } of readSequenceFile(env, 'file')) writer.append(row, value);
    writer.finish();
    expect(Buffer.concat(chunks).toString('hex')).toBe(golden.toString('hex'));
  });

  test.each(FILES)('%s cut anywhere: fewer records or an error of ours', async (name) => {
    const env = memoryEnv();
    const golden = bytesOf(name);
    const whole = wanted();
    for (let length = 0; length < golden.length; length += 23) {
      await put(env, golden.subarray(0, length));
      try {
        const cells = await cellsOf(env);
        expect(whole.slice(0, cells.length)).toEqual(cells);
      } catch (error) {
        expect(error).toBeInstanceOf(StoreException);
      }
    }
  });
});
