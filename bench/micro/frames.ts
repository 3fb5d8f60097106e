/** Answers on the wire: the frame of a get of one cell, and of a scan of a hundred, as the server encodes them. */
import type Benchmark from 'benchmark';
import { open } from '../../src/embedded/index.ts';
import type { Result } from '../../src/model/index.ts';
import { ProtoWriter, ResultWriter, writeResponseHeader } from '../../src/wire/index.ts';

const ROWS = 100;
const FIELD_RESULT = 1;
const WRITER_SIZE = 64 * 1024;

async function results(): Promise<Result[]> {
  const connection = await open();
  await connection.admin.createTable({ name: 't', families: ['f'] });
  const table = connection.table('t');
  for (let i = 0; i < ROWS; i++) {
    await table.put(`user${String(i).padStart(12, '0')}`, { 'f:q': 'v'.repeat(100) });
  }
  const found: Result[] = [];
  for await (const result of table.scan()) found.push(result);
  await connection.close();
  return found;
}

/** Header, message and cell block behind each other in the writer's buffer; answers their length. */
function frameOf(writer: ProtoWriter, scratch: ProtoWriter, found: readonly Result[]): number {
  scratch.at = 0;
  writer.at = 4;
  const answer = new ResultWriter(scratch, { cellBlocks: true, cellTags: false });
  for (const result of found) answer.message(FIELD_RESULT, result);
  let cellBytes = 0;
  for (const piece of answer.cells) cellBytes += piece.length;
  writeResponseHeader(writer, 7, cellBytes);
  writer.uint32Bare(scratch.at);
  writer.raw(scratch.buf.subarray(0, scratch.at));
  for (const piece of answer.cells) writer.raw(piece);
  writer.buf.writeUInt32BE(writer.at - 4, 0);
  return writer.at;
}

export async function addFrames(suite: Benchmark.Suite): Promise<void> {
  const found = await results();
  const one = found.slice(0, 1);
  const writer = new ProtoWriter(WRITER_SIZE);
  const scratch = new ProtoWriter(WRITER_SIZE);
  let length = 0;
  suite
    .add(`frame encode, one cell, ${frameOf(writer, scratch, one)} bytes`, () => {
      length += frameOf(writer, scratch, one);
    })
    .add(`frame encode, ${ROWS} rows, ${frameOf(writer, scratch, found)} bytes`, () => {
      length += frameOf(writer, scratch, found);
    })
    .on('complete', () => {
      if (length === 0) throw new Error('nothing was encoded');
    });
}
