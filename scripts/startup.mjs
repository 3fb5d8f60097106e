// How soon `cellar serve` is there: `node scripts/startup.mjs [STARTS] [-- FLAGS OF SERVE]`. For each start the wall time and
// the processor time of all threads, until the ready line and until a fresh client's first get is answered; medians,
// beside a Node that only prints a line. Linux: processor times are read from /proc.
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { firstAnswer } from './first_request.mjs';

const MAIN = fileURLToPath(new URL('../dist/cli/main.cjs', import.meta.url));
const at = process.argv.indexOf('--');
const flags = at < 0 ? [] : process.argv.slice(at + 1);
const starts = Number((at === 2 ? undefined : process.argv[2]) ?? 9);

function cpuMs(pid) {
  let ns = 0;
  for (const task of readdirSync(`/proc/${pid}/task`))
    ns += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'latin1').split(' ')[0]);
  return ns / 1e6;
}

function rssMib(pid) {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))[1]) / 1024;
}

async function start(args, env, talk) {
  const from = performance.now();
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, ...env },
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const line = await new Promise((resolve) => child.stdout.once('data', resolve));
  const ready = { wallMs: performance.now() - from, cpuMs: cpuMs(child.pid) };
  const client = talk ? await firstAnswer(JSON.parse(line).rpc) : null;
  const answered = { wallMs: performance.now() - from, cpuMs: cpuMs(child.pid) };
  const rss = rssMib(child.pid);
  client?.close();
  child.kill();
  await ended;
  return [ready.wallMs, ready.cpuMs, answered.wallMs, answered.cpuMs, rss];
}

const SERVE = [MAIN, 'serve', '--port', '0', '--json', ...flags];
const KINDS = [
  { name: 'node alone', args: ['-e', 'console.log();setTimeout(() => {}, 9999)'], talk: false },
  { name: 'cellar serve', args: SERVE, talk: true },
  { name: '  from its modules', args: SERVE, talk: true, env: { CELLAR_BUNDLE: 'off' } },
];
const samples = KINDS.map(() => []);
for (let i = 0; i < starts; i++)
  for (const [k, { args, env = {}, talk }] of KINDS.entries())
    samples[k].push(await start(args, env, talk));

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const heads = ['ready wall', 'cpu', 'answered wall', 'cpu', 'MiB'];
console.log(['medians, ms'.padEnd(20), ...heads.map((head) => head.padStart(14))].join(''));
for (const [k, { name }] of KINDS.entries()) {
  const columns = heads.map((_, i) => median(samples[k].map((sample) => sample[i])).toFixed(0));
  console.log([name.padEnd(20), ...columns.map((column) => column.padStart(14))].join(''));
}
