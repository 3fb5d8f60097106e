/** One client of the ZooKeeper door. */
import type { Socket } from 'node:net';
import { StoreException } from '../../io/index.ts';
import type { Env } from '../../io/index.ts';
import {
  JuteWriter,
  ZK_ADD_WATCH,
  ZK_AUTH,
  ZK_CLOSE,
  ZK_EXISTS,
  ZK_GET_CHILDREN,
  ZK_GET_CHILDREN2,
  ZK_GET_DATA,
  ZK_LENGTH_SIZE,
  ZK_NOT_READ_ONLY,
  ZK_NO_NODE,
  ZK_OK,
  ZK_PING,
  ZK_SET_WATCHES,
  ZK_SET_WATCHES2,
  ZK_SYNC,
  ZK_UNIMPLEMENTED,
  readZkConnect,
  readZkRequest,
  zkConnectResponse,
  zkReply,
} from '../../wire/index.ts';
import type { ZkRequest, ZkStat } from '../../wire/index.ts';
import type { Cluster } from '../meta/index.ts';
import { znodeAt } from './znodes.ts';
import type { Znode } from './znodes.ts';

/** Requests of readers are short. */
const PACKET_BYTES_MAX = 1024 * 1024;
const SETUP_TIMEOUT_MS = 20_000;
/** Bounds of the time-out that a client may ask for. */
const TIMEOUT_MS_MIN = 4_000;
const TIMEOUT_MS_MAX = 180_000;
/** Every change there ever was. */
const ZXID = 1n;
/** Types that are answered without a body. */
const ACKNOWLEDGED: ReadonlySet<number> = new Set([
  ZK_PING,
  ZK_AUTH,
  ZK_SET_WATCHES,
  ZK_SET_WATCHES2,
  ZK_ADD_WATCH,
]);
/** create, delete, setData, setACL, multi and their variants. */
const WRITES: ReadonlySet<number> = new Set([1, 2, 5, 7, 13, 14, 15, 16, 19, 20, 21]);

export class ZooKeeperSession {
  readonly #socket: Socket;
  readonly #cluster: Cluster;
  readonly #env: Pick<Env, 'timers' | 'random'>;
  #input: Buffer = Buffer.alloc(0);
  #isConnected = false;
  #timeoutMs = SETUP_TIMEOUT_MS;
  #timer = { cancel: (): void => undefined };

  constructor(socket: Socket, cluster: Cluster, env: Pick<Env, 'timers' | 'random'>) {
    this.#socket = socket;
    this.#cluster = cluster;
    this.#env = env;
  }

  begin(): void {
    const socket = this.#socket;
    socket.setNoDelay(true);
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.once('end', () => socket.end());
    socket.once('close', () => this.#timer.cancel());
    this.#wait();
    socket.resume();
  }

  /** A client that is silent for longer than it promised has gone. */
  #wait(): void {
    this.#timer.cancel();
    this.#timer = this.#env.timers.after(this.#timeoutMs, () => this.#socket.destroy());
  }

  #receive(chunk: Buffer): void {
    this.#wait();
    this.#input = this.#input.length === 0 ? chunk : Buffer.concat([this.#input, chunk]);
    if (!this.#isConnected && this.#answerWord()) return;
    try {
      while (this.#takePacket());
    } catch (error) {
      if (!(error instanceof StoreException)) throw error;
      this.#socket.destroy();
    }
  }

  /** Four letters ask how the server is, before any session. */
  #answerWord(): boolean {
    const word = this.#input.subarray(0, 4).toString('latin1');
    const answers = new Map([
      ['ruok', 'imok'],
      ['isro', 'rw'],
      ['srvr', 'Zookeeper version: 3.8.4 (Cellar)\nMode: standalone\n'],
      ['stat', 'Zookeeper version: 3.8.4 (Cellar)\nMode: standalone\n'],
    ]);
    const answer = answers.get(word);
    if (answer === undefined) return false;
    this.#socket.end(answer);
    return true;
  }

  #takePacket(): boolean {
    if (this.#input.length < ZK_LENGTH_SIZE) return false;
    const length = this.#input.readInt32BE();
    if (length < 0 || length > PACKET_BYTES_MAX) {
      this.#socket.destroy();
      return false;
    }
    const end = ZK_LENGTH_SIZE + length;
    if (this.#input.length < end) return false;
    const packet = this.#input.subarray(ZK_LENGTH_SIZE, end);
    this.#input = this.#input.subarray(end);
    if (this.#isConnected) this.#answer(readZkRequest(packet));
    else this.#connect(packet);
    return true;
  }

  #connect(packet: Uint8Array): void {
    const asked = readZkConnect(packet);
    const timeoutMs = Math.min(TIMEOUT_MS_MAX, Math.max(TIMEOUT_MS_MIN, asked.timeoutMs));
    const { sessionId, password } = asked.sessionId === 0n ? this.#newSession() : asked;
    this.#isConnected = true;
    this.#timeoutMs = timeoutMs;
    this.#wait();
    const { hasReadOnly } = asked;
    this.#socket.write(zkConnectResponse({ timeoutMs, sessionId, password, hasReadOnly }));
  }

  #newSession(): { sessionId: bigint; password: Uint8Array } {
    const bytes = Uint8Array.from({ length: 24 }, () => this.#env.random.int(256));
    const sessionId = Buffer.from(bytes.buffer).readBigInt64BE() | 1n;
    return { sessionId, password: bytes.subarray(8) };
  }

  #answer(request: ZkRequest): void {
    const { xid, type } = request;
    if (type === ZK_CLOSE) {
      this.#socket.end(zkReply({ xid, zxid: ZXID, error: ZK_OK }, new Uint8Array(0)));
      return;
    }
    const answer = this.#bodyOf(request);
    const error = typeof answer === 'number' ? answer : ZK_OK;
    const body = typeof answer === 'number' ? new Uint8Array(0) : answer.finish();
    this.#socket.write(zkReply({ xid, zxid: ZXID, error }, body));
  }

  /** What is replied, or an error's number. */
  #bodyOf({ type, path }: ZkRequest): JuteWriter | number {
    if (ACKNOWLEDGED.has(type)) return new JuteWriter();
    if (WRITES.has(type)) return ZK_NOT_READ_ONLY;
    if (path === null) return ZK_UNIMPLEMENTED;
    if (type === ZK_SYNC) return new JuteWriter().text(path);
    const { localAddress = '' } = this.#socket;
    const node = znodeAt(this.#cluster, path, { localAddress });
    if (node === null) return ZK_NO_NODE;
    const stat = this.#statOf(node);
    switch (type) {
      case ZK_EXISTS:
        return new JuteWriter().stat(stat);
      case ZK_GET_DATA:
        return new JuteWriter().buffer(node.data).stat(stat);
      case ZK_GET_CHILDREN:
        return new JuteWriter().texts(node.children);
      case ZK_GET_CHILDREN2:
        return new JuteWriter().texts(node.children).stat(stat);
      default:
        return ZK_UNIMPLEMENTED;
    }
  }

  #statOf(node: Znode): ZkStat {
    return {
      zxid: ZXID,
      timeMs: this.#cluster.place.startCode,
      ephemeralOwner: node.isEphemeral ? 1n : 0n,
      dataLength: node.data.length,
      childCount: node.children.length,
    };
  }
}
