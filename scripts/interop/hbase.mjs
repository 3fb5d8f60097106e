// Apache HBase for `npm run test:interop` and `npm run bench:backup`. Needs a JDK of 17 or newer and Maven.
import { spawn, spawnSync } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';

const OPENS = [
  'java.lang',
  'java.lang.reflect',
  'java.nio',
  'java.util',
  'java.util.concurrent',
  'java.io',
  'sun.nio.ch',
  'jdk.internal.ref',
]
  .map((name) => `--add-opens=java.base/${name}=ALL-UNNAMED`)
  .concat([
    '--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED',
    '--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED',
  ]);

/**
 * Apache HBase in a process of its own, driven by Interop.java: a line with a command's words in, lines that begin with a blank
 * and then `ok` or what went wrong out. `suite` is the folder whose `install` fetches HBase.
 */
export class HBase {
  #process;
  #waiting = [];
  #answer = [];
  #work;
  #suite;

  constructor({ work, suite }) {
    this.#work = work;
    this.#suite = suite;
  }

  get pid() {
    return this.#process.pid;
  }

  async start() {
    const install = spawnSync(path.join(this.#suite, 'install'), {
      stdio: ['ignore', 'pipe', 'inherit'],
      encoding: 'utf8',
    });
    if (install.status !== 0) throw new Error('HBase could not be installed');
    const target = install.stdout.trim();
    const verbose = process.env.INTEROP_LOG === undefined ? 'error' : process.env.INTEROP_LOG;
    const args = [
      '-Xmx1500m',
      '-XX:+UseSerialGC',
      ...OPENS,
      `-Dtest.build.data.basedirectory=${this.#work}/hbase`,
      `-Dhadoop.tmp.dir=${this.#work}/hadoop`,
      `-Dorg.slf4j.simpleLogger.defaultLogLevel=${verbose}`,
      '-cp',
      `${target}/codecs:${target}/classes:${target}/lib/*`,
      'Interop',
    ];
    this.#process = spawn('java', args, {
      cwd: this.#work,
      stdio: ['pipe', 'pipe', verbose === 'error' ? 'ignore' : 'inherit'],
    });
    process.on('exit', () => this.#process.kill('SIGKILL'));
    const ready = new Promise((resolve, reject) => {
      this.#process.once('exit', (code) => reject(new Error(`HBase ended with ${code}`)));
      createInterface({ input: this.#process.stdout }).on('line', (line) => {
        if (line === 'ready') resolve();
        else if (line.startsWith(' ')) this.#answer.push(line.slice(1));
        else this.#settle(line);
      });
    });
    await ready;
  }

  #settle(line) {
    const { resolve, reject, command } = this.#waiting.shift();
    const answer = this.#answer;
    this.#answer = [];
    if (line === 'ok') resolve(answer);
    else reject(new Error(`${command}: ${line}`));
  }

  run(...words) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject, command: words.join(' ') });
      this.#process.stdin.write(`${words.join('\t')}\n`);
    });
  }

  stop() {
    this.#process.removeAllListeners('exit');
    this.#process.kill('SIGKILL');
  }
}
