/**
 * `cellar changes --follow` while data arrives, on a folder and on a server: the `cell` lines that it prints rebuild the table bit
 * for bit, kinds of deletes, explicit timestamps, TTLs and transactions included.
 */
import { afterEach, describe, expect, test } from 'vitest';
import { runCli } from '../../src/cli/run.ts';
import { open } from '../../src/embedded/index.ts';
import type { StoreConnection } from '../../src/embedded/index.ts';
import { memoryEnv, realEnv, seeded } from '../../src/io/index.ts';
import type { SeededRandom } from '../../src/io/index.ts';
import type { CellInput, DeleteSpec } from '../../src/model/index.ts';
import { startServer } from '../../src/server/index.ts';

const STEPS = 100;
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface CellLine {
  readonly tso: string;
  readonly row: string;
  readonly family: string;
  readonly qualifier: string;
  readonly type: 'Put' | 'Delete' | 'DeleteColumn' | 'DeleteFamily' | 'DeleteFamilyVersion';
  readonly ts: number;
  readonly value: string;
  readonly ttl?: number;
}

const FAMILIES = ['f', 'g'].map((name) => ({
  name,
  versions: 1000,
  KEEP_DELETED_CELLS: 'TRUE' as const,
}));

/** Follows the feed; `until(tso)` is there when a line of that commit was printed. */
class Follower {
  text = '';
  stop: () => void = () => undefined;
  readonly status: Promise<number>;
  #waiting: (() => void)[] = [];

  constructor(words: readonly string[], connection: StoreConnection) {
    this.status = runCli(['changes', '--follow', '--encoding', 'base64', ...words], {
      env: realEnv(),
      stdout: {
        write: async (text) => {
          this.text += text;
          for (const look of this.#waiting.splice(0)) look();
          return true;
        },
      },
      stderr: { write: async (text) => ((this.text += `stderr: ${text}`), true) },
      stdin: (async function* (): AsyncGenerator<Uint8Array> {})(),
      terminal: null,
      progressStream: null,
      variables: {},
      openStore: async () => connection,
      serveHost: null,
      onInterrupt: (stop) => {
        this.stop = stop;
        return () => undefined;
      },
    });
  }

  async until(tso: bigint): Promise<void> {
    while (!this.text.includes(`"tso":"${tso}"`)) {
      const isOver = await Promise.race([
        new Promise<boolean>((resolve) => this.#waiting.push(() => resolve(false))),
        this.status.then(() => true),
      ]);
      if (isOver) throw new Error(`it ended: ${this.text}`);
    }
  }

  cells(): CellLine[] {
    return this.text
      .split('\n')
      .filter((line) => line.includes('"row"'))
      .map((line) => JSON.parse(line) as CellLine);
  }
}

/** One write of any kind; its TSO. */
async function write(
  connection: StoreConnection,
  random: SeededRandom,
  n: number,
): Promise<bigint> {
  const t = connection.table('t');
  const row = Buffer.from([random.int(3), 0, 200 + random.int(4)]);
  const ts = random.chance(0.4) ? { ts: 1000 + random.int(5) } : {};
  const cell: CellInput = {
    family: 'fg'[n % 2]!,
    qualifier: random.bytes(1),
    value: random.bytes(4),
    ...ts,
  };
  const deletes: readonly DeleteSpec[] = [
    { columns: [['f', cell.qualifier]], ...ts },
    { versions: [['f', cell.qualifier]], ts: 1002 },
    { families: ['g'], ...ts },
    { familyVersions: ['f'], ts: 1003 },
    {},
  ];
  switch (random.int(6)) {
    case 0:
      return t.delete(row, deletes[n % deletes.length]);
    case 1: {
      const { tso } = await connection.transact(async (tx) => {
        tx.table('t').put(row, [cell]);
        tx.table('t').delete(Buffer.from([1, 1]), { families: ['f'] });
      });
      return tso!;
    }
    case 2: {
      const txn = connection.transaction({ label: `l${n}` });
      await txn.begin();
      await txn.load([{ delete: row }, { put: row, values: { 'f:x': random.bytes(40) } }], {
        table: 't',
      });
      await txn.prepare();
      return (await txn.commit()).tso!;
    }
    case 3:
      return t.put(row, [cell], { ttl: 1e9 });
    default:
      return t.put(row, [cell]);
  }
}

async function rebuild(connection: StoreConnection, lines: readonly CellLine[]): Promise<void> {
  const copy = connection.table('copy');
  for (const { row: text, family, qualifier: name, type, ts, value, ttl } of lines) {
    const row = Buffer.from(text, 'base64');
    const qualifier = Buffer.from(name, 'base64');
    const bytes = Buffer.from(value, 'base64');
    const more = ttl === undefined ? {} : { ttl };
    if (type === 'Put') await copy.put(row, [{ family, qualifier, value: bytes, ts, ...more }]);
    else if (type === 'Delete') await copy.delete(row, { versions: [[family, qualifier]], ts });
    else if (type === 'DeleteColumn')
      await copy.delete(row, { columns: [[family, qualifier]], ts });
    else if (type === 'DeleteFamily') await copy.delete(row, { families: [family], ts });
    else await copy.delete(row, { familyVersions: [family], ts });
  }
}

async function dump(connection: StoreConnection, table: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const { row, cells } of connection.table(table).scan({ raw: true, versions: 1000 })) {
    for (const { family, qualifier, ts, type, value } of cells) {
      const hex = [row, qualifier, value].map((bytes) => Buffer.from(bytes).toString('hex'));
      lines.push(`${hex[0]} ${family}:${hex[1]} ${ts} ${type} ${hex[2]}`);
    }
  }
  return lines;
}

describe.each(['folder', 'server'])('changes --follow on a %s', (where) => {
  test('the cells that arrive while it follows rebuild the table bit for bit', async () => {
    const connection = await open('/data', {
      env: memoryEnv(),
      oracle: { enable_feature_binlog: true },
      transactions: { txn_spill_bytes: 60 },
    });
    // The follower closes what it opened; the writers need it still.
    const close = connection.close.bind(connection);
    connection.close = async () => undefined;
    closers.push(close);
    for (const name of ['t', 'copy']) {
      await connection.admin.createTable({ name, families: FAMILIES, SPLITS: ['\u0001'] });
    }
    const random = seeded(5);
    const before = await write(connection, random, 0);
    const words = ['--table', 't'];
    if (where === 'server') {
      const server = await startServer({ connection, http: { port: 0 } });
      closers.push(() => server.close());
      words.push('--server', server.addresses.http!);
    } else words.push('--data', 'any');
    const follower = new Follower(words, connection);
    await follower.until(before);
    const stamps = [before];
    for (let n = 1; n <= STEPS; n++) {
      const tso = await write(connection, random, n);
      stamps.push(tso);
      // Some wait until it was printed: others arrive while it is at work.
      if (n % 20 === 0) await follower.until(tso);
      if (n % 50 === 0) await connection.admin.flush('t');
    }
    await follower.until(stamps.at(-1)!);
    follower.stop();
    expect(await follower.status).toBe(0);
    const cells = follower.cells();
    const told = [...new Set(cells.map(({ tso }) => BigInt(tso)))];
    expect(told).toEqual(stamps);
    expect(new Set(cells.map(({ type }) => type)).size).toBe(5);
    await rebuild(connection, cells);
    expect(await dump(connection, 'copy')).toEqual(await dump(connection, 't'));
  });
});
