/** Connections of the native RPC: set-up, what is refused and how, and that nobody can make the server hold too much. */
import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { open } from '../../../src/embedded/index.ts';
import type { StoreConnection } from '../../../src/embedded/index.ts';
import { u32 } from '../../../src/cell/index.ts';
import { startServer } from '../../../src/server/index.ts';
import type { RpcLimits, RunningServer } from '../../../src/server/index.ts';
import { ProtoReader, compressorOf } from '../../../src/wire/index.ts';
import { FrameClient, RemoteError, readFrame, requestFrame, setUp, sized } from './frame_client.ts';
import { cellBlock, cellTexts, getRequest, mutateRequest, openScan, PUT } from './messages.ts';

let connection: StoreConnection;
let server: RunningServer;
let region: Uint8Array;
const clients: FrameClient[] = [];
const servers: RunningServer[] = [];

beforeAll(async () => {
  connection = await open();
  await connection.admin.createTable({ name: 't', families: ['f'] });
  region = (await connection.regions('t'))[0]!.name;
  server = await startServer({ connection, port: 0 });
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  for (const own of servers.splice(0)) await own.close();
});

afterAll(async () => {
  await server.close();
  await connection.close();
});

async function client(bytes: Uint8Array, limits?: Partial<RpcLimits>): Promise<FrameClient> {
  let address = server.addresses.rpc!;
  if (limits !== undefined) {
    const own = await startServer({ connection, rpc: { port: 0, limits } });
    servers.push(own);
    address = own.addresses.rpc!;
  }
  const made = await FrameClient.open(address);
  clients.push(made);
  made.socket.write(bytes);
  return made;
}

/** The exception of the one frame that came before the connection ended. */
async function lastFrame(made: FrameClient): Promise<{ callId: number; error: RemoteError }> {
  await made.closed;
  const { callId, answer } = readFrame(made.input.subarray(4, 4 + u32(made.input, 0)));
  if (!(answer instanceof RemoteError)) throw new Error('no exception came');
  return { callId, error: answer };
}

const preamble = (text: string): Buffer => Buffer.from(text, 'latin1');

describe('set-up', () => {
  test('the cluster id is told before anything else, and the connection ends', async () => {
    const made = await client(preamble('Regist'));
    await made.closed;
    const { callId, answer } = readFrame(made.input.subarray(4));
    expect(callId).toBe(0xffffffff);
    if (answer instanceof RemoteError) throw answer;
    const reader = new ProtoReader(answer.message);
    expect(reader.next()).toBe(true);
    expect(reader.string()).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  test.each([
    ['wrong magic', 'HBax\x00\x50', 'FatalConnectionException'],
    ['another version', 'HBas\x01\x50', 'WrongVersionException'],
    ['an unknown authentication', 'HBas\x00\x07', 'BadAuthException'],
    ['garbage', '\xff\xfe\xfd\xfc\xfb\xfa', 'FatalConnectionException'],
  ])('%s is refused by name', async (_what, bytes, className) => {
    const { callId, error } = await lastFrame(await client(preamble(bytes)));
    expect(callId).toBe(0xffffffff);
    expect(error.className).toBe(className);
    expect(error.doNotRetry).toBe(true);
  });

  test('who asks for security is told that there is none, and goes on', async () => {
    const made = await client(Buffer.concat([preamble('Securi'), setUp()]));
    const answer = made.answerTo(0xffffffff);
    await expect(answer).rejects.toMatchObject({ className: 'SecurityNotEnabledException' });
    await expect(made.call('Get', getRequest(region, { row: 'r' }))).resolves.toBeDefined();
  });

  test('Kerberos is sent on to SIMPLE, its token dropped', async () => {
    const token = sized(Buffer.from('a token'));
    const header = setUp().subarray(6);
    const made = await client(Buffer.concat([preamble('HBas\x00\x51'), token, header]));
    while (made.input.length < 8) {
      await new Promise<void>((resolve) => made.socket.once('data', () => resolve()));
    }
    expect(made.input.toString('hex')).toBe('00000000ffffffa8');
    made.input = made.input.subarray(8);
    await expect(made.call('Get', getRequest(region, { row: 'r' }))).resolves.toBeDefined();
  });

  test.each([
    ['service', { service: 'NoSuchService' }],
    ['codec', { codec: 'com.example.Codec' }],
    ['compressor', { compressor: 'com.example.Zip' }],
  ])('an unknown %s ends the connection without a word', async (_what, options) => {
    const made = await client(setUp(options));
    await made.closed;
    expect(made.input.length).toBe(0);
  });

  test('a header that is no message, or too large, ends the connection', async () => {
    const broken = await client(
      Buffer.concat([preamble('HBas\x00\x50'), sized(preamble('\x0a\x7f'))]),
    );
    expect((await lastFrame(broken)).error.message).toContain('Malformed message');
    const large = await client(Buffer.from('4842617300507fffffff', 'hex'));
    expect((await lastFrame(large)).error.message).toContain('a header of 2147483647 bytes');
  });
});

describe('calls', () => {
  test('an unknown method is refused, the connection goes on', async () => {
    const made = await client(setUp());
    await expect(made.call('Gett', new Uint8Array(0))).rejects.toMatchObject({
      className: 'DoNotRetryIOException',
      doNotRetry: true,
      message: expect.stringMatching(/java\.lang\.UnsupportedOperationException: Gett$/) as string,
    });
    await expect(made.call('Get', getRequest(region, { row: 'r' }))).resolves.toBeDefined();
  });

  test('a message that cannot be read is refused, the connection goes on', async () => {
    const made = await client(setUp());
    await expect(made.call('Get', Buffer.from('0a7f', 'hex'))).rejects.toMatchObject({
      className: 'DoNotRetryIOException',
      message: expect.stringContaining('Malformed message') as string,
    });
    await expect(made.call('Get', getRequest(region, { row: 'r' }))).resolves.toBeDefined();
  });

  test('a header that reaches past its frame ends the connection', async () => {
    const made = await client(Buffer.concat([setUp(), sized(Buffer.from([0x7f, 1, 2, 3]))]));
    expect((await lastFrame(made)).error.className).toBe('FatalConnectionException');
  });

  test('a frame over the limit is answered and ends the connection', async () => {
    const made = await client(setUp(), { frameBytesMax: 1000 });
    const frame = requestFrame(7, 'Get', new Uint8Array(2000));
    made.socket.write(frame);
    const { callId, error } = await lastFrame(made);
    expect(callId).toBe(7);
    expect(error.className).toBe('RequestTooBigException');
  });

  test('several calls at a time, each answered by its id', async () => {
    const made = await client(setUp());
    const puts = Array.from({ length: 50 }, (_, i) =>
      made.call(
        'Mutate',
        mutateRequest(region, { type: PUT, row: `m${i}`, values: { 'f:q': `v${i}` }, ts: 5n }),
      ),
    );
    await Promise.all(puts);
    const gets = Array.from({ length: 50 }, (_, i) =>
      made.call('Get', getRequest(region, { row: `m${i}` })),
    );
    const answers = await Promise.all(gets);
    expect(answers.map(({ cells }) => cellTexts(cells))).toEqual(
      Array.from({ length: 50 }, (_, i) => [`m${i}/f:q@5=v${i}`]),
    );
  });

  test('cell blocks in other codecs, and compressed', async () => {
    const codecs = ['KeyValueCodecWithTags', 'CellCodec', 'CellCodecWithTags', 'MessageCodec'];
    const plain = await client(setUp());
    const put = mutateRequest(region, { type: PUT, row: 'codec', values: { 'f:q': 'v' }, ts: 7n });
    await plain.call('Mutate', put);
    for (const name of codecs) {
      const codec = `org.apache.hadoop.hbase.codec.${name}`;
      const made = await client(setUp({ codec }));
      const { cells } = await made.call('Get', getRequest(region, { row: 'codec' }));
      expect(createHash('md5').update(cells).digest('hex'), name).toMatchSnapshot();
    }
  });

  test.each([
    'io.compress.GzipCodec',
    'io.compress.DefaultCodec',
    'io.compress.SnappyCodec',
    'io.compress.Lz4Codec',
    'io.compress.ZStandardCodec',
    'hbase.io.compress.zstd.ZstdCodec',
  ])('cell blocks compressed by %s, both ways', async (name) => {
    const compressor = `org.apache.hadoop.${name}`;
    const codec = (await compressorOf(compressor))!;
    const plain = await client(setUp());
    const packed = await client(setUp({ compressor }));
    const row = name.replace(/.*\./, '');
    await packed.call(
      'Mutate',
      mutateRequest(region, { type: PUT, row, cellCount: 1 }),
      codec.compress(cellBlock(`${row}/f:q@9=packed`)),
    );
    const want = [`${row}/f:q@9=packed`];
    const back = await plain.call('Get', getRequest(region, { row }));
    expect(cellTexts(back.cells)).toEqual(want);
    const again = await packed.call('Get', getRequest(region, { row }));
    expect(cellTexts(codec.decompress(again.cells, 1000))).toEqual(want);
  });

  test('a compressed block over the bound is refused, and the connection goes on', async () => {
    const compressor = 'org.apache.hadoop.io.compress.SnappyCodec';
    const codec = (await compressorOf(compressor))!;
    const made = await client(setUp({ compressor }), { cellBlockBytesMax: 10_000 });
    const put = (value: string): Promise<unknown> =>
      made.call(
        'Mutate',
        mutateRequest(region, { type: PUT, row: 'bomb', cellCount: 1 }),
        codec.compress(cellBlock(`bomb/f:q@9=${value}`)),
      );
    await expect(put('x'.repeat(10_000))).rejects.toMatchObject({
      className: 'DoNotRetryIOException',
    });
    await put('fits');
  });
});

describe('bounds', () => {
  test('half-open connections end after a while, at every stage', async () => {
    const limits = { setupTimeoutMs: 20 };
    const header = setUp();
    for (const length of [0, 3, 6, 8, header.length - 1]) {
      await (
        await client(header.subarray(0, length), limits)
      ).closed;
    }
  });

  test('a client that never reads is let go, and cannot make the server hold more than allowed', async () => {
    const big = 'x'.repeat(100_000);
    const made = await client(setUp(), { outputBytesMax: 500_000, stalledTimeoutMs: 50 });
    await made.call(
      'Mutate',
      mutateRequest(region, { type: PUT, row: 'big', values: { 'f:q': big } }),
    );
    made.socket.pause();
    const get = getRequest(region, { row: 'big' });
    for (let i = 0; i < 500; i++) made.socket.write(requestFrame(1000 + i, 'Get', get));
    // A socket that reads nothing learns by writing that the other end has gone.
    while (!made.socket.destroyed) {
      await new Promise<void>((resolve) => made.socket.write(get, () => resolve()));
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    expect(made.socket.bytesRead).toBeLessThan(500 * 100_000);
  });

  test('a client that reads slowly gets everything', async () => {
    const big = 'y'.repeat(100_000);
    const made = await client(setUp(), { outputBytesMax: 300_000, callsMax: 4 });
    await made.call(
      'Mutate',
      mutateRequest(region, { type: PUT, row: 'slow', values: { 'f:q': big } }),
    );
    const get = getRequest(region, { row: 'slow' });
    const answers = Array.from({ length: 100 }, () => made.call('Get', get));
    for (const { cells } of await Promise.all(answers))
      expect(cells.length).toBeGreaterThan(100_000);
  });

  test('too many bytes of calls at once are refused for now', async () => {
    const made = await client(setUp(), { callBytesMax: 100 });
    const put = mutateRequest(region, { type: PUT, row: 'r', values: { 'f:q': 'v'.repeat(200) } });
    await expect(made.call('Mutate', put)).rejects.toMatchObject({
      className: 'CallQueueTooBigException',
      doNotRetry: false,
    });
  });

  test('parts of frames count, too', async () => {
    const limits = { callBytesMax: 150_000 };
    const made = await client(setUp(), limits);
    const whole = mutateRequest(region, {
      type: PUT,
      row: 'r',
      values: { 'f:q': 'v'.repeat(200_000) },
    });
    const frame = requestFrame(3, 'Mutate', whole);
    made.socket.write(frame.subarray(0, 190_000));
    const { callId, error } = await lastFrame(made);
    expect([callId, error.className]).toEqual([3, 'CallQueueTooBigException']);
  });

  test('more connections than allowed are not taken', async () => {
    const own = await startServer({ connection, rpc: { port: 0, limits: { connectionsMax: 1 } } });
    servers.push(own);
    const first = await FrameClient.connect(own.addresses.rpc!);
    clients.push(first);
    await first.call('Get', getRequest(region, { row: 'r' }));
    const second = await FrameClient.connect(own.addresses.rpc!);
    clients.push(second);
    await second.closed;
  });
});

describe('one port', () => {
  test('HTTP, RPC and ZooKeeper are told apart by their first bytes', async () => {
    expect(server.addresses.http).toBe(`http://${server.addresses.rpc}`);
    expect((await fetch(`${server.addresses.http}/health`)).status).toBe(200);
    const head = await fetch(`${server.addresses.http}/health`, { method: 'HEAD' });
    expect(head.status).toBe(200);
    const made = await client(setUp());
    await expect(made.call('Get', getRequest(region, { row: 'r' }))).resolves.toBeDefined();
  });

  test('closing ends open connections and answers what runs', async () => {
    const own = await startServer({ connection, port: 0 });
    const made = await FrameClient.connect(own.addresses.rpc!);
    clients.push(made);
    const scan = made.call('Scan', openScan(region, {}, { rows: 10 }));
    await scan;
    await own.close();
    await made.closed;
  });
});
