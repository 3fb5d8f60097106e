/** Keeps the disk busy until it is killed, or its parent has gone: writes of 1 MiB, a sync every 8 MiB, over 256 MiB again and again. */
import { open } from 'node:fs/promises';

const CHUNK = 1024 * 1024;
const SYNC_EVERY = 8;
const CHUNKS = 256;

process.stdin.on('end', () => process.exit(0)).resume();
const file = await open(process.argv[2]!, 'w');
const chunk = Buffer.alloc(CHUNK, 0x5a);
for (let i = 0; ; i++) {
  await file.write(chunk, 0, CHUNK, (i % CHUNKS) * CHUNK);
  if (i % SYNC_EVERY === SYNC_EVERY - 1) await file.datasync();
  if (i === 2 * SYNC_EVERY) process.stdout.write('busy\n');
}
