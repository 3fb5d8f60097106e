/** The bytes of an input: a file or standard input, unpacked when its first bytes say that it is gzip. */
import { Readable, pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { FileNotFoundException, IoException, type FileSystem } from '../../io/index.ts';

const CHUNK_SIZE = 256 * 1024;

export interface Input {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Bytes of the input as it lies there (packed); null when unknown. */
  readonly sizeBytes: number | null;
  /** Bytes read so far of it. */
  readBytes(): number;
}

/** A file, opened when its first chunk is asked for and closed when the chunks end or are left. Throws FileNotFoundException. */
export async function openInput(fs: FileSystem, path: string): Promise<Input> {
  const stat = await fs.stat(path);
  if (stat === null) throw new FileNotFoundException(`${path} does not exist`, path);
  if (stat.isDirectory) throw new IoException(`${path} is a folder, not a file`, path);
  let at = 0;
  async function* read(): AsyncGenerator<Uint8Array> {
    const handle = await fs.open(path, 'read');
    try {
      for (;;) {
        const buf = Buffer.allocUnsafe(CHUNK_SIZE);
        const length = await handle.read(buf, at);
        if (length === 0) return;
        at += length;
        yield buf.subarray(0, length);
      }
    } finally {
      await handle.close();
    }
  }
  return { chunks: unpacked(read(), path), sizeBytes: stat.sizeBytes, readBytes: () => at };
}

/** Standard input. */
export function streamInput(stream: AsyncIterable<Uint8Array>): Input {
  let bytes = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of stream) {
      bytes += chunk.length;
      yield chunk;
    }
  }
  return {
    chunks: unpacked(counted(), 'standard input'),
    sizeBytes: null,
    readBytes: () => bytes,
  };
}

/** Passes chunks through, or unpacks them when they begin with gzip's magic bytes. `name` is for errors. */
async function* unpacked(
  chunks: AsyncGenerator<Uint8Array>,
  name: string,
): AsyncGenerator<Uint8Array> {
  let head: Uint8Array = new Uint8Array(0);
  try {
    while (head.length < 2) {
      const next = await chunks.next();
      if (next.done === true) break;
      head = head.length === 0 ? next.value : Buffer.concat([head, next.value]);
    }
    const whole = withHead(head, chunks);
    if (head[0] === 0x1f && head[1] === 0x8b) yield* gunzipped(whole, name);
    else yield* whole;
  } finally {
    await chunks.return(undefined);
  }
}

async function* withHead(
  head: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head;
  yield* rest;
}

async function* gunzipped(
  packed: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: CHUNK_SIZE });
  // A failure destroys `gunzip` with the error, which the loop below then throws.
  pipeline(Readable.from(packed), gunzip, () => undefined);
  try {
    for await (const chunk of gunzip) yield chunk as Uint8Array;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new IoException(`${name} is no whole gzip file: ${reason}`, name, { cause: error });
  }
}
