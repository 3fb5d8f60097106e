/**
 * What this machine allows at most, measured in the same run as the stores: each figure of a store is shown beside the limit
 * that binds it. Run in a process of its own; `dir` is on the disk that is measured.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  fdatasyncSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import type * as hfiles from '../../src/hfile/index.ts';
import { Random } from './rows.ts';
import { builtModule } from './subjects/cellar.ts';

export interface Limits {
  /** One small write and one sync after the other, a second. */
  readonly syncsPerSecond: number;
  /** Bytes a second that one core copies from one large buffer into another. */
  readonly copyBytesPerSecond: number;
  /** Copies of 116 bytes from random places of a large buffer, a second. */
  readonly randomCopiesPerSecond: number;
  /** CRC-32C over 64 KiB as store files use it, bytes a second. */
  readonly checksumBytesPerSecond: number;
  /** Large writes one after the other and one sync at the end, bytes a second. */
  readonly diskWriteBytesPerSecond: number;
  /** Large reads past the page cache; null where the system has no such reads. */
  readonly diskReadBytesPerSecond: number | null;
  /** Requests and answers of 64 bytes over one loopback connection, a second. */
  readonly loopbackTripsPerSecond: number;
}

const MEBIBYTE = 1024 * 1024;
const RECORD = 4096;
const SYNC_SPAN = 16 * MEBIBYTE;
const COPY_SIZE = 64 * MEBIBYTE;
const ROW = 116;
const BLOCK = 64 * 1024;
const PING = 64;
const DISK_BYTES_MAX = 512 * MEBIBYTE;
/** Buffers of direct reads must begin at such an address. */
const DIRECT_ALIGNMENT = 4096;

/** Each limit takes about `ms`. */
export async function measureLimits(dir: string, ms: number): Promise<Limits> {
  const file = path.join(dir, 'limits');
  const { diskWriteBytesPerSecond, diskReadBytesPerSecond } = diskRates(file, ms);
  return {
    syncsPerSecond: syncLoop(file, ms),
    copyBytesPerSecond: copies(ms),
    randomCopiesPerSecond: randomCopies(ms),
    checksumBytesPerSecond: await checksums(ms),
    diskWriteBytesPerSecond,
    diskReadBytesPerSecond,
    loopbackTripsPerSecond: await loopback(ms),
  };
}

/** Calls a second of `step`, called for `ms` after a tenth of that. */
function rate(step: () => void, ms: number): number {
  const during = (length: number): number => {
    const start = performance.now();
    let calls = 0;
    do {
      step();
      calls++;
    } while (performance.now() - start < length);
    return (calls * 1000) / (performance.now() - start);
  };
  during(ms / 10);
  return during(ms);
}

/** The file is there before: only its bytes change, as in a log that is written again. */
function syncLoop(file: string, ms: number): number {
  const fd = openSync(file, 'w');
  const record = Buffer.alloc(RECORD, 0x5a);
  for (let at = 0; at < SYNC_SPAN; at += RECORD) writeSync(fd, record, 0, RECORD, at);
  fdatasyncSync(fd);
  let at = 0;
  const result = rate(() => {
    writeSync(fd, record, 0, RECORD, at);
    fdatasyncSync(fd);
    at = (at + RECORD) % SYNC_SPAN;
  }, ms);
  closeSync(fd);
  rmSync(file);
  return result;
}

function copies(ms: number): number {
  const from = Buffer.alloc(COPY_SIZE, 1);
  const to = Buffer.alloc(COPY_SIZE, 2);
  return COPY_SIZE * rate(() => void from.copy(to), ms);
}

function randomCopies(ms: number): number {
  const steps = 1000;
  const from = Buffer.alloc(4 * COPY_SIZE, 1);
  const to = Buffer.alloc(ROW);
  const random = new Random(61);
  const step = (): void => {
    for (let i = 0; i < steps; i++) {
      const at = random.int(from.length - ROW);
      from.copy(to, 0, at, at + ROW);
    }
  };
  return steps * rate(step, ms);
}

async function checksums(ms: number): Promise<number> {
  const { loadChecksums } = await builtModule<typeof hfiles>('hfile/index.js');
  const { crc32c } = await loadChecksums();
  const blocks = Buffer.alloc(16 * MEBIBYTE, 0x5a);
  let at = 0;
  let sum = 0;
  const result = rate(() => {
    sum ^= crc32c(blocks, at, BLOCK);
    at = (at + BLOCK) % blocks.length;
  }, ms);
  if (!Number.isInteger(sum)) throw new Error('nothing was summed');
  return BLOCK * result;
}

function diskRates(
  file: string,
  ms: number,
): Pick<Limits, 'diskWriteBytesPerSecond' | 'diskReadBytesPerSecond'> {
  const chunk = Buffer.alloc(MEBIBYTE);
  const random = new Random(67);
  for (let i = 0; i < chunk.length; i++) chunk[i] = random.int(256);
  const fd = openSync(file, 'w');
  const start = performance.now();
  let written = 0;
  while (performance.now() - start < ms && written < DISK_BYTES_MAX) {
    written += writeSync(fd, chunk, 0, chunk.length, written);
  }
  fdatasyncSync(fd);
  const diskWriteBytesPerSecond = (written * 1000) / (performance.now() - start);
  closeSync(fd);
  const diskReadBytesPerSecond = directReads(file, ms);
  rmSync(file);
  return { diskWriteBytesPerSecond, diskReadBytesPerSecond };
}

/** Reads past the page cache; null where that is refused. */
function directReads(file: string, ms: number): number | null {
  const direct = constants.O_DIRECT as number | undefined;
  if (direct === undefined) return null;
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | direct);
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null;
    throw error;
  }
  const buf = Buffer.allocUnsafeSlow(MEBIBYTE + DIRECT_ALIGNMENT);
  const from = alignedAt(fd, buf);
  if (from === null) {
    closeSync(fd);
    return null;
  }
  let bytes = 0;
  let at = 0;
  const start = performance.now();
  while (performance.now() - start < ms) {
    const read = readSync(fd, buf, from, MEBIBYTE, at);
    bytes += read;
    at = read < MEBIBYTE ? 0 : at + read;
  }
  const result = (bytes * 1000) / (performance.now() - start);
  closeSync(fd);
  return result;
}

/** Where in `buf` a direct read may begin: addresses are not to be seen, but the system refuses others. */
function alignedAt(fd: number, buf: Buffer): number | null {
  for (let at = 0; at < DIRECT_ALIGNMENT; at += 16) {
    try {
      readSync(fd, buf, at, DIRECT_ALIGNMENT, 0);
      return at;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EINVAL')) throw error;
    }
  }
  return null;
}

const ECHO = `require('node:net').createServer((socket) => {
  socket.setNoDelay(true);
  socket.pipe(socket);
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
process.stdin.on('end', () => process.exit(0)).resume();`;

/** One request after the other to another process. */
async function loopback(ms: number): Promise<number> {
  const echo = spawn(process.execPath, ['-e', ECHO], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = (await once(echo.stdout, 'data')) as [Buffer];
  const socket = connect(Number(line.toString()), '127.0.0.1');
  socket.setNoDelay(true);
  await once(socket, 'connect');
  const ping = Buffer.alloc(PING, 1);
  const trips = await new Promise<number>((resolve, reject) => {
    const start = performance.now();
    let count = 0;
    let received = 0;
    socket.on('error', reject);
    socket.on('data', (data) => {
      received += data.length;
      if (received < PING) return;
      received = 0;
      count++;
      const passed = performance.now() - start;
      if (passed >= ms) resolve((count * 1000) / passed);
      else socket.write(ping);
    });
    socket.write(ping);
  });
  socket.destroy();
  echo.kill('SIGKILL');
  await once(echo, 'close');
  return trips;
}
