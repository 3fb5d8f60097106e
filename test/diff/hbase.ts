/** Apache HBase as a side of the comparison: its own Java client in a process, spoken to by JSON lines (java/DiffClient.java). */
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import path from 'node:path';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { realEnv } from '../../src/io/index.ts';
import type { Answer, Family, LoadedCell, Side, TableEvent } from './commands.ts';
import { writeLoadFiles } from './load_files.ts';

interface Waiting {
  readonly resolve: (lanes: Answer[][]) => void;
  readonly reject: (error: Error) => void;
}

export class HBaseSide implements Side {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, Waiting>();
  readonly #clones = new Map<string, string>();
  #lastId = 0;
  #events: Promise<void> = Promise.resolve();
  #errors = '';

  /** `cache`: the folder that scripts/diff-install printed; `address`: host:port of a server of the cluster. */
  constructor(cache: string, address: string) {
    const classPath = `${path.join(cache, 'classes')}${path.delimiter}${path.join(cache, 'lib', '*')}`;
    this.#process = spawn('java', [
      '-Xmx512m',
      '-XX:+UseSerialGC',
      '-Dorg.slf4j.simpleLogger.defaultLogLevel=error',
      '-cp',
      classPath,
      'DiffClient',
      address,
    ]);
    createInterface({ input: this.#process.stdout }).on('line', (line) => this.#answered(line));
    this.#process.stderr.on('data', (data: Buffer) => {
      this.#errors += data.toString();
      console.error(data.toString().trimEnd());
    });
    this.#process.on('exit', () => {
      const error = new Error(`HBase's client ended: ${this.#errors.slice(-2000)}`);
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    });
  }

  #answered(line: string): void {
    const { id, lanes } = JSON.parse(line) as { id: number; lanes: Answer[][] };
    this.#waiting.get(id)?.resolve(lanes);
    this.#waiting.delete(id);
  }

  run(table: string, lanes: readonly (readonly object[])[]): Promise<Answer[][]> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#process.stdin.write(`${JSON.stringify({ id, table, lanes })}\n`);
    });
  }

  async #one(table: string, command: object): Promise<void> {
    const answer = (await this.run(table, [[command]]))[0]?.[0];
    if (answer !== 'ok') throw new Error(`${JSON.stringify(command)}: ${JSON.stringify(answer)}`);
  }

  /** Turns HBase's own compactions off. */
  settle(): Promise<void> {
    return this.#one('settle', { op: 'settle' });
  }

  create(table: string, families: readonly Family[], splits: readonly string[]): Promise<void> {
    return this.#alone(() => this.#one(table, { op: 'create', families, splits }));
  }

  /** Drops the table, or what has taken its place. */
  drop(table: string): Promise<void> {
    const clone = this.#clones.get(table);
    return clone === undefined ? this.#one(table, { op: 'drop' }) : this.drop(clone);
  }

  /** Events of several tables one after the other: while one compacts, others must not flush (README.md). */
  #alone(work: () => Promise<void>): Promise<void> {
    const done = this.#events.then(work);
    this.#events = done.catch(() => undefined);
    return done;
  }

  async event(table: string, event: TableEvent): Promise<string> {
    switch (event.op) {
      case 'reopen':
        return table;
      case 'clone': {
        const to = `${table}c`;
        await this.#alone(() => this.#one(table, { op: 'clone', to }));
        await this.#one(table, { op: 'drop' });
        this.#clones.set(table, to);
        return to;
      }
      case 'load':
        await this.#load(table, event.cells);
        return table;
      default:
        await this.#alone(() => this.#one(table, event));
        return table;
    }
  }

  async #load(table: string, cells: readonly LoadedCell[]): Promise<void> {
    const folder = await mkdtemp(path.join(tmpdir(), 'hbase-diff-'));
    try {
      const paths = await writeLoadFiles(realEnv(), folder, cells);
      const files = [...paths].map(([family, file]) => [family, `file:${file}`]);
      await this.#alone(() => this.#one(table, { op: 'load', files }));
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  close(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.#process.once('exit', () => resolve()));
    this.#process.stdin.end();
    return ended;
  }
}
