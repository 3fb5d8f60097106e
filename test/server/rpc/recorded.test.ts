/**
 * Conversations recorded between HBase's client and server (test/golden/wire): Cellar answers what HBase answered, in whatever
 * pieces the bytes come, and however early they end.
 */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import path from 'node:path';
import { Duplex } from 'node:stream';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { u32 } from '../../../src/cell/index.ts';
import { open } from '../../../src/embedded/index.ts';
import type { StoreConnection } from '../../../src/embedded/index.ts';
import { realEnv } from '../../../src/io/index.ts';
import { ServerPlace } from '../../../src/server/place.ts';
import { clientService } from '../../../src/server/rpc/client_service/index.ts';
import { RpcDoor } from '../../../src/server/rpc/door.ts';
import { RPC_LIMITS } from '../../../src/server/rpc/limits.ts';
import { RequestHeader } from '../../../src/wire/index.ts';
import { readFrame, RemoteError } from './frame_client.ts';
import type { Answer } from './frame_client.ts';
import { cellTexts, fieldsOf, message } from './messages.ts';

const GOLDEN = path.resolve(import.meta.dirname, '../../golden/wire');
const RECORDED = [
  'fx,,1796038937583.592de4377ac494c61dbbd38191e8d486.',
  'fx,m,1796038937583.74643ad411fbb2df16576bf98fb12143.',
];

let connection: StoreConnection;
let door: RpcDoor;
/** Ours, of the same length. */
let regions: string[];

beforeAll(async () => {
  connection = await open();
  await connection.admin.createTable({
    name: 'fx',
    families: [{ name: 'f', VERSIONS: 3 }],
    SPLITS: ['m'],
  });
  regions = (await connection.regions('fx')).map(({ name }) =>
    Buffer.from(name).toString('latin1'),
  );
  const env = realEnv();
  const logger = connection.server.logger;
  const place = new ServerPlace({ startCode: 1, clusterId: 'id', advertised: null });
  const parts = { connection, engine: connection.server, env, place, logger, limits: RPC_LIMITS };
  const services = [clientService({ ...parts, systemRegions: [] })];
  door = new RpcDoor({ services, env, limits: RPC_LIMITS, clusterId: 'id', logger });
});

afterAll(async () => {
  await door.close();
  await connection.close();
});

/** What the client said, with our regions' names. */
function spoken(name: string): Buffer {
  let text = readFileSync(path.join(GOLDEN, `${name}.c2s`)).toString('latin1');
  for (const [i, recorded] of RECORDED.entries()) text = text.replaceAll(recorded, regions[i]!);
  return Buffer.from(text, 'latin1');
}

/** The other end of a connection, in this process. */
class Pipe extends Duplex {
  output: Buffer = Buffer.alloc(0);
  readonly closed2: Promise<void>;

  constructor() {
    super({ allowHalfOpen: false });
    this.closed2 = new Promise((resolve) => this.once('close', () => resolve()));
    this.pause();
    door.accept(this as Duplex as Socket);
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  override _read(): void {
    // Bytes come by `push`.
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.output = Buffer.concat([this.output, chunk]);
    this.emit('answered');
    done();
  }

  /** Waits for so many frames. */
  async frames(count: number): Promise<Buffer[]> {
    for (;;) {
      const frames = framesOf(this.output);
      if (frames.length >= count || this.destroyed) return frames;
      await new Promise<void>((resolve) => {
        this.once('answered', resolve);
        this.once('close', resolve);
      });
    }
  }
}

function framesOf(bytes: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at + 4 <= bytes.length;) {
    const end = at + 4 + u32(bytes, at);
    if (end > bytes.length) break;
    frames.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return frames;
}

/** Preamble and header, then the requests' frames. */
function partsOf(bytes: Buffer): { readonly setUp: Buffer; readonly requests: Buffer[] } {
  const end = 10 + u32(bytes, 6);
  return { setUp: bytes.subarray(0, end), requests: framesOf(bytes.subarray(end)) };
}

interface Request {
  readonly callId: number;
  readonly method: string;
  readonly param: Uint8Array;
}

function requestOf(frame: Buffer): Request {
  const header = new RequestHeader();
  const length = frame[0]!;
  header.read(frame, 1, 1 + length);
  let at = 1 + length;
  let size = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = frame[at++]!;
    size |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return { callId: header.callId, method: header.method, param: frame.subarray(at, at + size) };
}

const SERVER_CLOCK = 1_700_000_000_000n;

/** Cells with the server's time masked. */
function maskedCells(cells: Uint8Array): string[] {
  return cellTexts(cells).map((text) =>
    text.replace(/@(\d+)/, (all, ts: string) => (BigInt(ts) > SERVER_CLOCK ? '@now' : all)),
  );
}

/** What an answer says, without what differs from server to server. */
function shown(method: string, answer: Answer | RemoteError): unknown {
  if (answer instanceof RemoteError) return { exception: answer.className };
  const fields = fieldsOf(answer.message);
  const cells = maskedCells(answer.cells);
  if (method === 'Multi') return { cells, actions: actionsOf(fields) };
  if (method !== 'Scan') return { cells, message: Buffer.from(answer.message).toString('hex') };
  for (const field of [2, 10, 11]) fields.delete(field); // scanner_id, metrics, mvcc_read_point
  return { cells, fields: [...fields] };
}

/** By region and action: index, and the exception's class if there is one. */
function actionsOf(fields: Map<number, (bigint | Uint8Array)[]>): unknown {
  return (fields.get(1) ?? []).map((region) =>
    (fieldsOf(region as Uint8Array).get(1) ?? [])
      .map((action) => {
        const outcome = fieldsOf(action as Uint8Array);
        const exception = outcome.get(3)?.[0] as Uint8Array | undefined;
        const name = exception === undefined ? null : fieldsOf(exception).get(1)![0];
        return `${Number(outcome.get(1)?.[0] ?? 0n)} ${name === null ? '' : Buffer.from(name as Uint8Array).toString()}`;
      })
      // The order is the server's own.
      .sort(),
  );
}

/** A request for another scanner. */
function withScanner(frame: Buffer, ids: ReadonlyMap<bigint, bigint>): Buffer {
  const { param } = requestOf(frame);
  const id = fieldsOf(param).get(3)?.[0];
  const ours = typeof id === 'bigint' ? ids.get(id) : undefined;
  if (typeof id !== 'bigint' || ours === undefined) return frame;
  const field = (value: bigint): Buffer => Buffer.from(message((w) => w.bigint(3, value)));
  const paramAt = frame.indexOf(param);
  const rest = Buffer.from(param).toString('latin1');
  const changed = rest.replace(field(id).toString('latin1'), field(ours).toString('latin1'));
  const head = frame.subarray(0, 1 + frame[0]!);
  const body = Buffer.from(changed, 'latin1');
  expect(frame.subarray(paramAt + param.length).length).toBe(0);
  return Buffer.concat([head, Buffer.from([body.length]), body]);
}

function sized(frame: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(frame.length);
  return Buffer.concat([length, frame]);
}

const isOfMeta = (param: Uint8Array): boolean =>
  Buffer.from(param).toString('latin1').includes('hbase:meta');

describe('what HBase answered', () => {
  // The conversations build on each other.
  test.each([
    '3-get',
    '4-put-increment-append-checkandmutate',
    '5-multi',
    '6-scan',
    '7-scan-variants',
  ])('%s', async (name) => {
    const { setUp, requests } = partsOf(spoken(name));
    const recorded = framesOf(readFileSync(path.join(GOLDEN, `${name}.s2c`))).map(readFrame);
    const wanted = new Map(recorded.map(({ callId, answer }) => [callId, answer]));
    const ids = new Map<bigint, bigint>();
    const pipe = new Pipe();
    pipe.push(setUp);
    onTestFinished(() => void pipe.destroy());
    let count = 0;
    let compared = 0;
    for (const request of requests) {
      const { callId, method, param } = requestOf(request);
      const own = method === 'Scan' ? withScanner(request, ids) : request;
      pipe.push(sized(own));
      const frames = await pipe.frames(++count);
      const { answer } = readFrame(frames[count - 1]!);
      const want = wanted.get(callId)!;
      if (method === 'Scan' && !(answer instanceof RemoteError) && !(want instanceof RemoteError)) {
        const [theirs, ours] = [want, answer].map(({ message: m }) => fieldsOf(m).get(2)![0]);
        ids.set(theirs as bigint, ours as bigint);
      }
      const asksMeta = method === 'Scan' && (isOfMeta(param) || answer instanceof RemoteError);
      if (asksMeta) continue;
      expect(shown(method, answer), `call ${callId} ${method}`).toEqual(shown(method, want));
      compared++;
    }
    expect(compared).toBeGreaterThan(1);
  });
});

/** The answers of a conversation in pieces, by call id, without those of scans (whose ids differ) and timestamps. */
async function answersOf(pieces: readonly Buffer[], count: number): Promise<string[]> {
  const pipe = new Pipe();
  for (const piece of pieces) {
    pipe.push(piece);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  const frames = await pipe.frames(count);
  pipe.destroy();
  return frames
    .map((frame) => readFrame(frame))
    .map(({ callId, answer }) =>
      answer instanceof RemoteError
        ? `${callId} ${answer.className}`
        : `${callId} ${maskedCells(answer.cells).join(' ')}`,
    )
    .sort();
}

/** The batches of a conversation: their answers do not depend on what was before. */
function batches(): Buffer {
  const { setUp, requests } = partsOf(spoken('5-multi'));
  const multi = requests.filter((request) => requestOf(request).method === 'Multi');
  return Buffer.concat([setUp, ...multi.map(sized)]);
}

describe('in pieces', () => {
  test('cut anywhere in two', async () => {
    const bytes = batches();
    const { requests } = partsOf(bytes);
    const whole = await answersOf([bytes], requests.length);
    // A few side by side: most of the time is waiting for turns of the event loop.
    const cut = async (at: number): Promise<void> => {
      const pieces = [bytes.subarray(0, at), bytes.subarray(at)];
      expect(await answersOf(pieces, requests.length), `cut at ${at}`).toEqual(whole);
    };
    const places = Array.from({ length: bytes.length - 1 }, (_, i) => i + 1);
    while (places.length > 0) await Promise.all(places.splice(0, 50).map(cut));
  });

  test('byte by byte', async () => {
    const bytes = batches();
    const { requests } = partsOf(bytes);
    const whole = await answersOf([bytes], requests.length);
    const pieces = Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1));
    expect(await answersOf(pieces, requests.length)).toEqual(whole);
  });

  test('ended anywhere: what was whole is answered, the connection ends', async () => {
    const bytes = batches();
    const { setUp, requests } = partsOf(bytes);
    const ends = requests.reduce<number[]>(
      (all, { length }) => [...all, (all.at(-1) ?? setUp.length) + 4 + length],
      [],
    );
    for (let at = 0; at < bytes.length; at++) {
      const pipe = new Pipe();
      const whole = ends.filter((end) => end <= at).length;
      pipe.push(bytes.subarray(0, at));
      const frames = await pipe.frames(whole);
      expect(frames, `ended at ${at}`).toHaveLength(whole);
      pipe.push(null);
      await pipe.closed2;
    }
    expect(door.connectionCount).toBe(0);
    expect(door.heldBytes).toBe(0);
  });

  test('random bytes in place of a frame, a header or a message end or refuse, and nothing else', async () => {
    const bytes = batches();
    let seed = 7;
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
      return seed % below;
    };
    for (let round = 0; round < 200; round++) {
      const broken = Buffer.from(bytes);
      for (let i = 0; i < 1 + random(4); i++) broken[random(broken.length)] = random(256);
      const pipe = new Pipe();
      pipe.push(broken);
      await new Promise<void>((resolve) => setImmediate(resolve));
      for (const frame of framesOf(pipe.output.subarray(pipe.output.length > 8 ? 0 : 8))) {
        if (frame.length > 0) expect(() => readFrame(frame)).not.toThrow();
      }
      pipe.destroy();
    }
    expect(await answersOf([bytes], partsOf(bytes).requests.length)).not.toHaveLength(0);
  });
});
