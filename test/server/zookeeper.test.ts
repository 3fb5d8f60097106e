/** The ZooKeeper door, byte by byte (protocol/bootstrap.md section 3). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer } from '../../src/server/index.ts';
import type { RunningServer } from '../../src/server/index.ts';
import { Fields, JuteWriter, decodeServerName } from '../../src/wire/index.ts';
import { RpcTestClient } from './rpc_client.ts';

let server: RunningServer;

beforeAll(async () => {
  server = await startServer({ port: 0 });
});

afterAll(() => server.close());

function connectPacket(readOnly: boolean): Uint8Array {
  const writer = new JuteWriter().int(0).long(0n).int(90_000).long(0n).buffer(Buffer.alloc(16));
  return (readOnly ? writer.bool(false) : writer).packet();
}

const request = (xid: number, type: number, path: string): Uint8Array =>
  new JuteWriter().int(xid).int(type).text(path).bool(false).packet();

async function session(readOnly = true): Promise<RpcTestClient> {
  const client = await RpcTestClient.open(server.addresses.zookeeper!);
  client.send(connectPacket(readOnly));
  await client.frame();
  return client;
}

/** Message behind 0xff, id and PBUF. */
function messageOf(data: Buffer): Fields {
  expect(data[0]).toBe(0xff);
  const at = 5 + data.readInt32BE(1);
  expect(data.subarray(at, at + 4).toString()).toBe('PBUF');
  return new Fields(data.subarray(at + 4));
}

describe('sessions', () => {
  test.each([
    { readOnly: true, length: 37 },
    { readOnly: false, length: 36 },
  ])('a connect with the last byte: $readOnly', async ({ readOnly, length }) => {
    const client = await RpcTestClient.open(server.addresses.zookeeper!);
    client.send(connectPacket(readOnly));
    const answer = await client.frame();
    expect(answer).toHaveLength(length);
    expect(answer.readInt32BE(0)).toBe(0);
    expect(answer.readInt32BE(4)).toBe(90_000);
    expect(answer.readBigInt64BE(8)).not.toBe(0n);
    expect(answer.readInt32BE(16)).toBe(16);
    client.close();
  });

  test('ping, close', async () => {
    const client = await session();
    client.send(new JuteWriter().int(-2).int(11).packet());
    expect((await client.frame()).subarray(0, 4).readInt32BE()).toBe(-2);
    client.send(new JuteWriter().int(3).int(-11).packet());
    expect(await client.frame()).toHaveLength(16);
    expect(await client.receive(1)).toHaveLength(0);
  });

  test('packets cut at every byte', async () => {
    const client = await RpcTestClient.open(server.addresses.zookeeper!);
    const bytes = Buffer.concat([connectPacket(true), request(1, 8, '/hbase/rs')]);
    for (const byte of bytes) client.send(Uint8Array.of(byte));
    await client.frame();
    expect((await client.frame()).readInt32BE(0)).toBe(1);
    client.close();
  });

  test('four letters', async () => {
    const client = await RpcTestClient.open(server.addresses.zookeeper!);
    client.send(Buffer.from('ruok'));
    expect((await client.receive(100)).toString()).toBe('imok');
  });

  test('a packet that is too long, or cut short within, ends the connection', async () => {
    const client = await session();
    client.send(new JuteWriter().int(1).int(4).int(1000).packet());
    expect(await client.receive(1)).toHaveLength(0);
    const other = await RpcTestClient.open(server.addresses.zookeeper!);
    other.send(Buffer.from('00ffffff', 'hex'));
    expect(await other.receive(1)).toHaveLength(0);
  });
});

describe('znodes', () => {
  async function getData(path: string): Promise<Buffer> {
    const client = await session();
    client.send(request(1, 4, path));
    const reply = await client.frame();
    client.close();
    expect(reply.readInt32BE(12)).toBe(0);
    const length = reply.readInt32BE(16);
    expect(reply).toHaveLength(20 + length + 68);
    return reply.subarray(20, 20 + length);
  }

  test('master and meta-region-server name this server', async () => {
    const active = decodeServerName(messageOf(await getData('/hbase/master')).message(1)!);
    expect(`${active.host}:${active.port}`).toBe(server.addresses.rpc);
    const meta = messageOf(await getData('/hbase/meta-region-server'));
    expect(decodeServerName(meta.message(1)!)).toEqual(active);
    expect(meta.int(3, 0)).toBe(3);
  });

  test('hbaseid', async () => {
    expect(messageOf(await getData('/hbase/hbaseid')).text(1)).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('children in both forms, exists, and what is not there', async () => {
    await server.connection.admin.createTable({ name: 't', families: ['f'] });
    const client = await session();
    client.send(request(1, 8, '/hbase'));
    const plain = await client.frame();
    expect(plain.toString('latin1')).toContain('meta-region-server');
    client.send(request(2, 12, '/hbase'));
    expect(await client.frame()).toHaveLength(plain.length + 68);
    client.send(request(3, 3, '/hbase/table/t'));
    expect(await client.frame()).toHaveLength(16 + 68);
    client.send(request(4, 4, '/hbase/table/missing'));
    expect((await client.frame()).readInt32BE(12)).toBe(-101);
    client.send(request(5, 1, '/hbase/new'));
    expect((await client.frame()).readInt32BE(12)).toBe(-119);
    client.close();
  });
});
