/**
 * Reads a growing file of lines exactly once into a table, through any number of kills of itself and of the server.
 *
 *     cellar serve DIR --http-port 16030 &            # with a table: cellar create lines l
 *     node examples/exactly_once_file.mjs FILE STATE [http://127.0.0.1:16030] [seconds]
 *
 * STATE is where its checkpoints are kept: the offset in FILE, and what names the transaction that holds the lines up to
 * there. Each line becomes a row `<number>` of the table `lines` with the column `l:text`. With `seconds` it ends after that
 * time, once all that was there is committed.
 */
import { open, readFile, rename } from 'node:fs/promises';
import { ApiClient, ExactlyOnceWriter, RemoteTransactions, realEnv } from 'cellardb';

const [file, stateFile, url = 'http://127.0.0.1:16030', seconds] = process.argv.slice(2);
if (file === undefined || stateFile === undefined) {
  console.error('usage: exactly_once_file.mjs FILE STATE [URL] [SECONDS]');
  process.exit(2);
}
const CHECKPOINT_MS = 500;
const env = realEnv();

/** The last complete checkpoint. */
async function loadState() {
  try {
    return JSON.parse(await readFile(stateFile, 'utf8'));
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return { checkpointId: 0, offset: 0, lines: 0, committables: [] };
  }
}

/** Whole or not at all: a new file, synced, takes the old one's place. */
async function saveState(state) {
  const handle = await open(`${stateFile}.new`, 'w');
  await handle.writeFile(JSON.stringify(state));
  await handle.sync();
  await handle.close();
  await rename(`${stateFile}.new`, stateFile);
  const folder = await open(
    new URL('.', `file://${stateFile.startsWith('/') ? '' : `${process.cwd()}/`}${stateFile}`),
  );
  await folder.sync();
  await folder.close();
}

/** Whole lines from an offset on. */
async function readLines(offset) {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    const buffer = Buffer.alloc(Math.min(size - offset, 1 << 20));
    await handle.read(buffer, 0, buffer.length, offset);
    const end = buffer.lastIndexOf(10) + 1;
    const lines = end === 0 ? [] : buffer.toString('utf8', 0, end - 1).split('\n');
    return { lines, offset: offset + end };
  } finally {
    await handle.close();
  }
}

const saved = await loadState();
const writer = await ExactlyOnceWriter.open({
  servers: [url],
  connect: (address) => RemoteTransactions.connect(new ApiClient({ url: address, env })),
  prefix: 'exactly-once-file',
  restored: { checkpointId: saved.checkpointId, committables: saved.committables },
  env,
});
let { offset, lines: count, checkpointId } = saved;
const endAt = seconds === undefined ? Infinity : Date.now() + Number(seconds) * 1000;
for (;;) {
  const isLast = Date.now() >= endAt;
  const until = Date.now() + CHECKPOINT_MS;
  do {
    const read = await readLines(offset);
    for (const text of read.lines) {
      const put = String(count++).padStart(9, '0');
      await writer.write({ table: 'lines', put, values: { 'l:text': text } });
    }
    offset = read.offset;
    if (read.lines.length === 0) await env.timers.sleep(50);
  } while (Date.now() < until && !isLast);
  checkpointId++;
  const committables = await writer.prepareCommit(checkpointId);
  await saveState({ checkpointId, offset, lines: count, committables });
  await writer.commit(committables);
  if (isLast) break;
}
await writer.close();
console.error(`${count} lines`);
