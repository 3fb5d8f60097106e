// What HBase's Java client sends first to a server, and a program's first steps on a table of its own: for the build, which
// lets the server compile what that takes, and for measuring how soon a fresh server answers (scripts/startup.mjs).
import { connect } from 'node:net';

const varint = (value) => {
  const bytes = [];
  for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push((value % 0x80) | 0x80);
  return Buffer.from([...bytes, value]);
};

/** A protobuf message: [number, value] pairs; numbers are varints, texts and buffers are delimited. */
const message = (...fields) =>
  Buffer.concat(
    fields.map(([number, value]) =>
      typeof value === 'number'
        ? Buffer.concat([varint(number * 8), varint(value)])
        : Buffer.concat([varint(number * 8 + 2), delimited(Buffer.from(value))]),
    ),
  );

const delimited = (bytes) => Buffer.concat([varint(bytes.length), bytes]);

const sized = (bytes) => {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(bytes.length);
  return Buffer.concat([size, bytes]);
};

/** A connection: bytes go out, frames come in. */
class Wire {
  #input = Buffer.alloc(0);
  #wake = () => undefined;
  #error = null;
  #callId = 0;

  constructor(address, hello) {
    const at = address.lastIndexOf(':');
    this.socket = connect(Number(address.slice(at + 1)), address.slice(0, at));
    this.socket.setNoDelay(true);
    this.socket.on('data', (chunk) => {
      this.#input = Buffer.concat([this.#input, chunk]);
      this.#wake();
    });
    this.socket.on('error', (error) => this.#end(error));
    this.socket.on('close', () => this.#end(new Error('the server closed the connection')));
    this.socket.write(hello);
  }

  static of(address, service) {
    const header = message(
      [1, message([1, 'build'])],
      [2, service],
      [3, 'org.apache.hadoop.hbase.codec.KeyValueCodec'],
    );
    return new Wire(address, Buffer.concat([Buffer.from('HBas\x00\x50', 'latin1'), sized(header)]));
  }

  #end(error) {
    this.#error ??= error;
    this.#wake();
  }

  async frame() {
    for (;;) {
      const size = this.#input.length < 4 ? Infinity : this.#input.readUInt32BE() + 4;
      if (this.#input.length >= size) {
        const frame = this.#input.subarray(4, size);
        this.#input = this.#input.subarray(size);
        return frame;
      }
      if (this.#error !== null) throw this.#error;
      await new Promise((resolve) => (this.#wake = resolve));
    }
  }

  /** The whole answer, as bytes. Throws if it is an exception. */
  async call(method, param = Buffer.alloc(0)) {
    const header = message([1, this.#callId++], [3, method], [4, 1]);
    this.socket.write(sized(Buffer.concat([delimited(header), delimited(param)])));
    const frame = await this.frame();
    // The header's second field is an exception.
    const isException = frame[1 + 1 + 1] === 0x12;
    if (isException) throw new Error(`${method}: ${frame.toString('latin1')}`);
    return frame;
  }

  close() {
    this.socket.destroy();
  }
}

const META = message([1, 1], [2, 'hbase:meta,,1']);

/** Up to the answer to a get, by the way of a fresh Java client: registry, location of hbase:meta, get. */
export async function firstAnswer(address) {
  const bare = new Wire(address, 'Regist');
  await bare.frame();
  bare.close();
  const registry = Wire.of(address, 'ClientMetaService');
  await registry.call('GetClusterId');
  await registry.call('GetMetaRegionLocations');
  const client = Wire.of(address, 'ClientService');
  await client.call('Get', message([1, META], [2, message([1, 'first'])]));
  registry.close();
  return client;
}

/** A table is made, found, written, read and flushed. Ends with the connections closed. */
export async function firstSteps(address) {
  const client = await firstAnswer(address);
  const master = Wire.of(address, 'MasterService');
  const table = message([1, 'default'], [2, 'first_steps']);
  await master.call('IsMasterRunning');
  await master.call('CreateTable', message([1, message([1, table], [3, message([1, 'f'])])]));
  const located = await client.call(
    'Scan',
    message(
      [1, META],
      [2, message([3, 'first_steps,,99999999999999'], [15, 1], [17, 5])],
      [4, 5],
      [5, 1],
    ),
  );
  const region = message([1, 1], [2, firstRowOf(located)]);
  const cell = message([1, 'f'], [2, message([1, 'q'], [2, 'value'])]);
  for (let i = 0; i < 20; i++) {
    const row = `row${i}`;
    await client.call('Mutate', message([1, region], [2, message([1, row], [2, 2], [3, cell])]));
    await client.call('Get', message([1, region], [2, message([1, row])]));
    const puts = [0, 1, 2].map((at) => [
      3,
      message([1, at], [2, message([1, `${row}-${at}`], [2, 2], [3, cell])]),
    ]);
    await client.call('Multi', message([1, message([1, region], ...puts)]));
    await client.call('Scan', message([1, region], [2, message([17, 100])], [4, 100], [5, 1]));
  }
  const admin = Wire.of(address, 'AdminService');
  await admin.call('FlushRegion', message([1, region]));
  await client.call('Get', message([1, region], [2, message([1, 'row1'])]));
  await client.call('Scan', message([1, region], [2, message([17, 100])], [4, 100], [5, 1]));
  for (const wire of [admin, master, client]) wire.close();
}

/** Of the first cell in the block that an answer ends with: hbase:meta's rows are names of regions. */
function firstRowOf(frame) {
  const at = frame.indexOf('first_steps,,');
  const size = frame.readUInt16BE(at - 2);
  return frame.subarray(at, at + size);
}
