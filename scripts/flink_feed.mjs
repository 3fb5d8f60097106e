// npm run test:flink: flink-json's own reader of Debezium's format takes every line of the change feed, and what it makes of them
// rebuilds the table. Needs the built project, a JDK of 17 or newer and Maven; starts one JVM and ends it.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const load = (name) => import(pathToFileURL(path.join(ROOT, 'dist', name, 'index.js')).href);
const { open } = await load('embedded');
const { memoryEnv, seeded } = await load('io');
const { FeedFormatter } = await load('backup/feed');

const COLUMNS = ['f:a', 'f:b', 'g:c'];
const OPERATIONS = Number(process.argv[2] ?? 1000);

/** Lines of the feed of a random history, and the table at its end. */
async function history(spillBytes) {
  const random = seeded(9);
  // With the log's archive on, the files of staged transactions are kept for the feed; else it tells gaps, which no reader takes.
  const store = await open('store', {
    env: memoryEnv(),
    oracle: { enable_feature_binlog: true },
    transactions: { txn_spill_bytes: spillBytes },
  });
  await store.admin.createTable({ name: 't', families: ['f', 'g'], CHANGE_BEFORE: 'true' });
  const table = store.table('t');
  const from = await store.tso();
  const rowOf = () => `row "${random.int(40)}" é`;
  const valuesOf = (n) => {
    const columns = COLUMNS.filter((_, i) => i === 0 || random.chance(0.4));
    return Object.fromEntries(columns.map((column) => [column, `${column}\\ ${n} \u0001 "x"`]));
  };
  const operationOf = (n) => {
    if (random.chance(0.7)) return { put: rowOf(), values: valuesOf(n) };
    if (random.chance(0.5)) return { delete: rowOf() };
    return { delete: rowOf(), spec: { columns: [COLUMNS[random.int(3)]] } };
  };
  for (let n = 0; n < OPERATIONS; n++) {
    // A put in the millisecond of a marker is hidden by it, as in HBase: the feed tells of it, the table does not show it.
    await sleep(2);
    const pick = random.int(10);
    if (pick < 5) await table.batch([operationOf(n)]);
    else if (pick < 7) {
      await store.transact(async (tx) => {
        tx.table('t').put(rowOf(), valuesOf(n));
        tx.table('t').put(rowOf(), valuesOf(n));
      });
    } else {
      const txn = store.transaction({ label: `l${n}` });
      await txn.begin();
      const operations = Array.from({ length: 1 + random.int(5) }, () => operationOf(n));
      await txn.load(operations, { table: 't' });
      await txn.prepare();
      await txn.commit();
    }
  }
  const formatter = new FeedFormatter({
    format: 'debezium',
    encoding: 'utf8',
    mode: 'DETAIL',
    heartbeats: false,
    serverId: 'server',
  });
  const lines = [];
  for await (const change of store.changes({ from, tables: ['t'] })) {
    lines.push(...formatter.lines(change));
  }
  const rows = [];
  for await (const result of table.scan()) {
    rows.push(
      [result.rowText, ...COLUMNS.map((column) => result.text(column) ?? 'null')].join('\t'),
    );
  }
  await store.close();
  return { lines, rows };
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

const installed = spawnSync('sh', [path.join(ROOT, 'scripts/flink/install')], {
  stdio: ['ignore', 'pipe', 'inherit'],
  encoding: 'utf8',
});
if (installed.status !== 0) process.exit(1);
const target = installed.stdout.trim();

/** What Flink makes of the lines: kind, row and values. */
function readByFlink(lines) {
  const read = spawnSync(
    'java',
    ['-Xmx256m', '-cp', `${target}/classes:${target}/lib/*`, 'ReadDebezium', 'row', ...COLUMNS],
    { input: `${lines.join('\n')}\n`, encoding: 'utf8', maxBuffer: 1 << 28 },
  );
  if (read.status !== 0) fail(read.stderr.slice(0, 4000));
  const updates = lines.filter((line) => line.includes('"op":"u"')).length;
  const changes = read.stdout.split('\n').filter((line) => line !== '');
  // An update is two changes there.
  if (changes.length !== lines.length + updates) {
    fail(`${changes.length} changes of ${lines.length} lines, ${updates} of them updates`);
  }
  return changes.map((line) => line.split('\t'));
}

const { lines, rows } = await history(262_144);
const state = new Map();
for (const [kind, row, ...values] of readByFlink(lines)) {
  const text = [row, ...values].join('\t');
  if (kind === '+I' || kind === '+U') state.set(row, text);
  else if (state.get(row) === text) state.delete(row);
  // Somebody deleted what was not there.
  else if (state.has(row) || values.some((value) => value !== 'null')) {
    fail(`${kind} of a row that was another: ${text}`);
  }
}
const isSame = JSON.stringify([...state.values()].sort()) === JSON.stringify(rows.sort());
console.log(`${lines.length} lines, ${state.size} rows: ${isSame ? 'as' : 'NOT as'} in the table`);
// Of staged transactions old values are not kept: an event may say `c` of a row that was there.
const staged = await history(300);
readByFlink(staged.lines);
console.log(`${staged.lines.length} lines with staged transactions: all read`);
process.exitCode = isSame ? 0 : 1;
