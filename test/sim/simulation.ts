/**
 * A run of the simulator: from one seed, life after life of one store on one simulated disk, each ended by a power cut, a
 * kill or a close at a random moment, with faults in between. After each life the checker replays it; after each opening the
 * store must hold what was promised: every commit up to the promise, no hole below the last one, nothing else.
 */
import { openServer, type RegionServer } from '../../src/engine/region_server.ts';
import type { OpenOptions } from '../../src/engine/index.ts';
import {
  seeded,
  simEnv,
  StoreException,
  type SeededRandom,
  type SimEnv,
} from '../../src/io/index.ts';
import { Audit } from './audit.ts';
import { Checker } from './checker.ts';
import { Faults, type FaultKind } from './faults.ts';
import { FileWatch, type FileEvent } from './file_watch.ts';
import { SimFailure } from './history.ts';
import { Journal } from './journal.ts';
import { Ledger } from './ledger.ts';
import { factsOf, Life } from './life.ts';
import { BANK } from './life_bank.ts';
import type { LifeParts, Retry, Told } from './life_core.ts';
import { Model } from './model.ts';
import { readLog, readTso, type Entry } from './observe.ts';
import { Workload } from './operations.ts';
import { PinBook } from './pins.ts';
import { profileOf, type Profile } from './profile.ts';
import { checkLog, hasLostSync, isDone, isLogged, isMade, vouchedBytes } from './recovered.ts';
import { applyOutcome, outcomeOf } from './schema.ts';
import { Shelf } from './shelf.ts';

const DIR = 'disk/store';
const TABLES = ['t', 'ns_u', 'k'];
/** Bits that flip after a run, one at a time. */
const ROTS = 3;
const OPEN_LIMIT_MS = 600_000;

export interface SimulationOptions {
  readonly seed: number;
  /** Operations after which the run ends. */
  readonly steps: number;
  readonly print?: (line: string) => void;
}

export interface SimulationReport {
  readonly steps: number;
  readonly commits: number;
  readonly reads: number;
  readonly crashes: number;
  readonly kills: number;
  readonly closes: number;
  readonly lostCommits: number;
  readonly leniencies: number;
  readonly flippedBitsFound: number;
  readonly faults: Readonly<Record<FaultKind, number>>;
  /** What was done beside reads and writes, and what became of cells in files. */
  readonly done: Readonly<Record<string, number>>;
  /** Over everything asked and answered, and the disk after each life. */
  readonly digest: string;
}

/** How a life ended. `power`: what was not synced may be gone. */
type Ending = 'power' | 'kill' | 'close';

/** What must have survived of the life before. */
interface Promises {
  /** Every logged commit up to here, after a power cut and after a kill. */
  readonly power: bigint;
  readonly kill: bigint;
}

export class Simulation {
  readonly journal: Journal;
  readonly #options: SimulationOptions;
  readonly #random: SeededRandom;
  readonly #model: Model = new Model();
  readonly #ledger: Ledger = new Ledger(this.#model);
  readonly #checker: Checker = new Checker(this.#model, this.#ledger);
  readonly #pins: PinBook = new PinBook();
  readonly #shelf: Shelf = new Shelf();
  /** Stamps to read as of in later lives. */
  readonly #moments: bigint[] = [];
  /** Changes of files so far. */
  #turn = 0;
  /** Changes of files that were under way at the end of a life. */
  #undecided: FileEvent[] = [];
  readonly #audit: Audit;
  readonly #faults: Faults;
  readonly #profile: Profile;
  readonly #workload: Workload;
  readonly #told: Told = { told: 0n, acked: 0n };
  readonly #retries: Retry[] = [];
  /** What is in the log, by TSO. */
  readonly #logged = new Map<bigint, Entry>();
  /** Commits of the last life that skipped the log. */
  #skipped: bigint[] = [];
  #promises: Promises = { power: 0n, kill: 0n };
  /** No power cut since the end of the last life. */
  #onlyKilled = false;
  #pending: Life['pendingChange'] = null;
  /** Faults met the opening and did not end it: the oracle may not have started yet. */
  #openedFaulty = false;
  #env: SimEnv;
  #clockMaxMs = 0;
  #life: Life | null = null;
  #commits = 0;
  #reads = 0;
  #lost = 0;
  /** Flipped bits that an opening refused. */
  #found = 0;
  readonly #endings: Record<Ending, number> = { power: 0, kill: 0, close: 0 };

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.#random = seeded(options.seed);
    this.journal = new Journal(options.print ?? null);
    this.#audit = new Audit({
      model: this.#model,
      ledger: this.#ledger,
      pins: this.#pins,
      journal: this.journal,
      random: this.#random.fork(),
      tables: [...TABLES, BANK],
      moments: this.#moments,
    });
    this.#profile = profileOf(this.#random);
    this.#faults = new Faults(this.#random.fork());
    this.#env = simEnv({ seed: options.seed });
    // The folder above the store's is there before.
    this.#env.fs.plant('disk/note', new Uint8Array(1));
    const clock = (): number => this.#env.clock.nowMs();
    this.#workload = new Workload(this.#random.fork(), this.#profile.workload, clock);
  }

  /** Runs to the end. Throws SimFailure, or what the engine threw where it must not. */
  async run(): Promise<SimulationReport> {
    while (this.journal.step < this.#options.steps) await this.#live();
    // What the last life left must be recovered, too.
    const server = await this.#open();
    await this.#env.drive(this.#recovered(server));
    await this.#env.drive(server.close(), OPEN_LIMIT_MS);
    for (let i = 0; i < ROTS; i++) await this.#rot();
    return this.report();
  }

  /**
   * A bit of the closed store flips. The next opening finds that out, or the bit held nothing: what must not happen is that
   * data goes or changes and nobody is told.
   */
  async #rot(): Promise<void> {
    const random = this.#random;
    const env = this.#env.kill();
    const folders = random.chance(0.6) ? /\/(wal|manifest)\// : /\/store\/data\//;
    const paths = env.fs.paths().filter((path) => folders.test(path));
    const path = paths[random.int(paths.length)];
    const size = path === undefined ? 0 : vouchedBytes(path, env.fs.peek(path));
    if (path === undefined || size === 0) return;
    const at = random.int(size);
    env.fs.flip(path, at, 1 << random.int(8));
    this.journal.note(() => `bit at ${at} of ${path}`);
    const healthy = this.#env;
    this.#env = env;
    const server = await this.#openRotten(env);
    if (server === null) this.#found++;
    else {
      await env.drive(this.#recoveredFrom(server, path), OPEN_LIMIT_MS);
      await env.drive(server.close(), OPEN_LIMIT_MS);
    }
    this.#env = healthy;
  }

  /** What a store file holds is checked when it is read. */
  async #recoveredFrom(server: RegionServer, rotten: string): Promise<void> {
    try {
      await this.#recovered(server);
    } catch (error) {
      const isTold = error instanceof Error && error.name === 'CorruptionException';
      if (!isTold || !rotten.includes('/data/')) throw error;
      this.#found++;
    }
  }

  /** Null: the store was refused. */
  async #openRotten(env: SimEnv): Promise<RegionServer | null> {
    try {
      return await env.drive(openServer(DIR, { ...this.#profile.open, env }), OPEN_LIMIT_MS);
    } catch (error) {
      if (error instanceof StoreException) return null;
      throw error;
    }
  }

  report(): SimulationReport {
    return {
      steps: this.journal.step,
      commits: this.#commits,
      reads: this.#reads,
      crashes: this.#endings.power,
      kills: this.#endings.kill,
      closes: this.#endings.close,
      lostCommits: this.#lost,
      leniencies: this.#checker.leniencies,
      flippedBitsFound: this.#found,
      faults: { ...this.#faults.counts },
      done: { ...Object.fromEntries(this.journal.counts), ...this.#ledger.counts },
      digest: this.journal.digest(),
    };
  }

  // ---- One life ----------------------------------------------------------------------------------------------------

  async #live(): Promise<void> {
    const server = await this.#open();
    const watch = this.#watch(server);
    await this.#env.drive(this.#recovered(server));
    watch.turn = this.#turn;
    const { clients, changes, maintenanceMs } = this.#profile;
    const parts: LifeParts = {
      env: this.#env,
      server,
      random: this.#random.fork(),
      workload: this.#workload,
      model: this.#model,
      journal: this.journal,
      told: this.#told,
      tables: TABLES,
      maintained: [...TABLES, BANK],
      clients,
      retries: this.#retries,
      changes,
      watch,
      pins: this.#pins,
      shelf: this.#shelf,
      maintenanceMs,
      moments: this.#moments,
    };
    const life = new Life(parts, this.#clockMaxMs);
    life.isFaulty = this.#openedFaulty;
    this.#life = life;
    life.start();
    await this.#work(life);
    const ending = await this.#finish(life);
    await this.#judge(life, ending);
    this.journal.note(() => `disk ${this.#env.fs.digest()}`);
  }

  #watch(server: RegionServer): FileWatch {
    const env = this.#env;
    const { historyRetentionMs = 0, historyBytesMax } = this.#profile.open;
    return new FileWatch({
      env,
      server,
      turn: this.#turn,
      entryCount: () => this.#life?.entries.length ?? 0,
      floorMax: () => {
        if (this.#life?.isFaulty === true || this.#openedFaulty) return null;
        const nowMs = Math.max(server.oracle.physicalMs, env.clock.nowMs());
        const promised = BigInt(Math.max(0, nowMs - historyRetentionMs)) << 18n;
        const kept = historyBytesMax === undefined ? promised : readTso(server);
        const pinned = this.#pins.oldest(this.#life?.clockMaxMs ?? this.#clockMaxMs) ?? kept;
        return pinned < kept ? pinned : kept;
      },
    });
  }

  /** Lets the clients work until the life is to end, with faults and jumps of the clock. */
  async #work(life: Life): Promise<void> {
    const random = this.#random;
    const { lifeSteps, faultChance, clockChance } = this.#profile;
    // Many first lives end while the first files are made.
    const isShort = this.journal.step === 0 && random.chance(0.4);
    const planned = isShort ? random.int(6) : 5 + random.int(lifeSteps);
    const last =
      this.journal.step + Math.min(planned, Math.max(5, this.#options.steps - this.journal.step));
    let faultAt = random.chance(faultChance) ? this.journal.step + random.int(lifeSteps) : Infinity;
    let idle = 0;
    while (this.journal.step < last && life.failure === null && idle < 3000) {
      const before = this.journal.step;
      if (this.journal.step >= faultAt) {
        faultAt = Infinity;
        life.isFaulty = true;
        const kinds: FaultKind[] = [
          'diskFull',
          'logSync',
          'logSync',
          'logWrite',
          'metadata',
          'manifest',
          'data',
          'data',
          'dataRead',
        ];
        const kind = this.#faults.plan(this.#env, kinds, 12);
        this.journal.note(() => `fault ${kind}`);
      }
      if (random.chance(clockChance)) this.#stepClock();
      await this.#env.timers.runFor(random.float() * random.float() * 6);
      // A store that takes no writes any more is opened again soon.
      if (life.server.fatal !== null && random.chance(0.1)) break;
      if (life.isFaulty && random.chance(0.01)) this.#faults.clear(this.#env);
      idle = before === this.journal.step ? idle + 1 : 0;
    }
    if (idle >= 3000 && life.failure === null) {
      life.failure = new SimFailure(this.journal.step, 'clients wait for ever');
    }
  }

  #stepClock(): void {
    const random = this.#random;
    const steps = random.chance(0.6) ? [-3, -1, 1, 3, 10] : [-20_000, -500, 800, 30_000, 60_000];
    const deltaMs = steps[random.int(steps.length)]!;
    this.#clockMaxMs = Math.max(this.#clockMaxMs, this.#env.clock.nowMs());
    this.#env.clock.step(deltaMs);
    this.#clockMaxMs = Math.max(this.#clockMaxMs, this.#env.clock.nowMs());
    this.#life?.sawClock(this.#clockMaxMs);
    this.journal.note(() => `clock ${deltaMs}`);
  }

  async #finish(life: Life): Promise<Ending> {
    const random = this.#random;
    this.#fail(life);
    const ending: Ending = random.chance(0.5) ? 'power' : random.chance(0.55) ? 'kill' : 'close';
    if (ending !== 'close') {
      this.#promise(life, life.end().durable);
      this.journal.note(() => ending);
      this.#faults.clear(this.#env);
      this.#crash(ending);
      this.#onlyKilled = ending === 'kill' && !hasLostSync(life);
      return ending;
    }
    life.isStopping = true;
    // Some close a store that is still at work.
    if (random.chance(0.7)) await this.#env.drive(Promise.all(life.clients), OPEN_LIMIT_MS);
    const isHealthy = !life.isFaulty;
    this.journal.note(() => 'close');
    let isClean = true;
    try {
      await this.#env.drive(life.connection.close(), OPEN_LIMIT_MS);
    } catch (error) {
      if (isHealthy) throw error;
      isClean = false;
    }
    await this.#env.timers.runFor(50);
    this.#fail(life);
    isClean &&= life.server.fatal === null;
    const { durable } = life.end();
    const last = life.entries.findLast((entry) => isLogged(entry))?.tso ?? 0n;
    this.#promise(life, isClean ? last : durable);
    this.#faults.clear(this.#env);
    // A new process on the same machine, or the machine went down afterwards.
    this.#onlyKilled = random.chance(0.5);
    if (this.#onlyKilled) this.#env = this.#env.kill();
    else this.#env = this.#env.crash({ keepUnsynced: random.float() });
    this.#onlyKilled &&= !hasLostSync(life);
    return 'close';
  }

  #fail({ failure }: Life): void {
    if (failure !== null) throw failure;
  }

  #crash(ending: Ending): void {
    const random = this.#random;
    const keepUnsynced = [0, 0, 0.5, 1, random.float()][random.int(5)]!;
    if (ending === 'kill') this.#env = this.#env.kill();
    else this.#env = this.#env.crash({ keepUnsynced });
    if (random.chance(0.2)) this.#stepClock();
  }

  /** What of the life must be there after its end. */
  #promise(life: Life, durable: bigint): void {
    let power = max(this.#promises.power, max(durable, life.syncedTo));
    let kill = this.#promises.kill;
    for (const entry of life.entries) {
      if (entry.kind !== 'commit') continue;
      if (entry.tso > max(life.shownTo, this.#told.acked)) break;
      if (entry.durability === 4) power = max(power, entry.tso);
      if (entry.durability >= 3) kill = max(kill, entry.tso);
    }
    this.#promises = { power, kill: max(kill, power) };
  }

  async #judge(life: Life, ending: Ending): Promise<void> {
    const defaultDurability = this.#profile.open.durability ?? 'FSYNC_WAL';
    const { entries, intents, reads } = life;
    // A change may have been made, and worked with, before its caller heard of it.
    this.#pending = life.pendingChange;
    this.#decidePending(life.server);
    const { events, claims, turn } = life.parts.watch;
    await this.#ledger.read(events);
    this.#checker.check({ entries, intents, reads, events, claims, defaultDurability });
    this.#undecided = events.filter((event) => event.turn === 0);
    this.#turn = turn;
    this.#pins.endLife();
    this.#count(life);
    this.#remember(entries);
    this.#endings[ending]++;
    this.#commits += entries.length;
    this.#reads += reads.length;
    this.#clockMaxMs = Math.max(this.#clockMaxMs, life.clockMaxMs);
    this.#life = null;
    this.#skipped = [];
    for (const entry of entries) {
      if (isLogged(entry)) this.#logged.set(entry.tso, entry);
      else this.#skipped.push(entry.tso);
    }
    for (const { state, write, table } of intents) {
      const isRetried = (state === 'pending' || state === 'unknown') && write !== null;
      if (isRetried && this.#retries.length < 20) this.#retries.push({ table, write });
    }
  }

  /** What the store did by itself. */
  #count({ server, parts: { journal } }: Life): void {
    journal.count('splits', server.regionChanges.splits);
    journal.count('merges', server.regionChanges.merges);
    journal.count('merges of history', server.background.history.merges);
    journal.count('flushes that failed', server.background.flusher.failures);
  }

  /** Moments of a life to read as of later: some commits, and what lies on both sides of switches and changes of schema. */
  #remember(entries: readonly Entry[]): void {
    const random = this.#random;
    const controls = entries.filter(({ kind }) => kind === 'control');
    for (let i = 0; i < 3 && entries.length > 0; i++) {
      this.#moments.push(entries[random.int(entries.length)]!.tso);
    }
    for (let i = 0; i < 3 && controls.length > 0; i++) {
      const { tso } = controls[random.int(controls.length)]!;
      this.#moments.push(tso - BigInt(random.int(3)));
    }
  }

  // ---- Opening -----------------------------------------------------------------------------------------------------

  /** Opens the store, perhaps after attempts that a crash or a fault ended. */
  async #open(): Promise<RegionServer> {
    const random = this.#random;
    this.#openedFaulty = false;
    const options: OpenOptions = { ...this.#profile.open, env: this.#env };
    for (let attempt = 0; attempt < 3 && random.chance(0.25); attempt++) {
      const env = this.#env;
      if (random.chance(0.5)) {
        const opening = openServer(DIR, { ...options, env });
        opening.catch(() => undefined);
        await env.timers.runFor(random.float() * 8);
        const ending = random.chance(0.7) ? 'power' : 'kill';
        this.journal.note(() => `${ending} while opening`);
        if (ending === 'power') this.#onlyKilled = false;
        this.#crash(ending);
      } else {
        const kind = this.#faults.plan(
          env,
          ['read', 'metadata', 'manifest', 'logSync', 'logWrite'],
          20,
        );
        this.journal.note(() => `fault ${kind} while opening`);
        const server = await this.#tryOpen({ ...options, env });
        this.#faults.clear(env);
        if (server !== null) {
          this.#openedFaulty = true;
          return server;
        }
        if (random.chance(0.5)) {
          this.#onlyKilled = false;
          this.#crash('power');
        }
      }
    }
    const env = this.#env;
    return env.drive(openServer(DIR, { ...options, env }), OPEN_LIMIT_MS);
  }

  /** Null: a fault ended it. */
  async #tryOpen(options: OpenOptions): Promise<RegionServer | null> {
    try {
      return await this.#env.drive(openServer(DIR, options), OPEN_LIMIT_MS);
    } catch (error) {
      const name = error instanceof Error ? error.name : '';
      if (
        [
          'IoException',
          'DiskFullException',
          'ReadOnlyException',
          'ManifestFailedException',
        ].includes(name)
      ) {
        return null;
      }
      throw error;
    }
  }

  /** Compares what the store holds now with what it must hold. */
  async #recovered(server: RegionServer): Promise<void> {
    this.#env.clock.nowMs();
    const log = await readLog(this.#env, `${DIR}/wal`);
    const last = checkLog({
      ...{ log, server, model: this.#model, logged: this.#logged, step: this.journal.step },
      promised: this.#onlyKilled ? this.#promises.kill : this.#promises.power,
    });
    this.#decidePending(server);
    this.#pending = null;
    this.#decideFiles(server);
    this.#forgetLost(last);
    if (this.#told.acked > last) this.#told.acked = last;
    // Stamps that nobody was told may be in the future again.
    const given = max(last, this.#told.told);
    this.#moments.splice(0, Infinity, ...this.#moments.filter((tso) => tso <= given));
    this.#checkPins(server);
    this.#checkShelf(server);
    this.#promises = { power: last, kill: last };
    await this.#audit.run(server, this.#clockMaxMs);
  }

  #forgetLost(last: bigint): void {
    const skipped = new Set(this.#skipped);
    const lost = new Set(skipped);
    for (const tso of this.#logged.keys()) if (tso > last) lost.add(tso);
    this.#skipped = [];
    if (lost.size === 0) return;
    for (const tso of lost) this.#logged.delete(tso);
    for (const table of this.#model.tables.values()) {
      table.forget((cell) => cell.isInFile !== true && lost.has(cell.tso));
    }
    for (const [nonce, tso] of this.#checker.nonces) {
      if (!lost.has(tso)) continue;
      this.#checker.nonces.delete(nonce);
      if (skipped.has(tso)) this.#checker.uncertainNonces.add(nonce);
    }
    this.#lost += lost.size;
    this.journal.note(() => `lost ${lost.size} commits`);
  }

  /** A change of files that was under way when the life ended was made, or it was not: as a whole. */
  #decideFiles(server: RegionServer): void {
    const undecided = this.#undecided;
    this.#undecided = [];
    // They are made in their order.
    const made = undecided.slice(0, 1 + undecided.findLastIndex((event) => isMade(server, event)));
    for (const event of made) this.#ledger.play(event, ++this.#turn);
    if (undecided.length > 0) {
      this.journal.note(
        () => `${made.length} of ${undecided.length} changes of files had been made`,
      );
    }
    this.#ledger.compare(server, this.journal.step);
  }

  #checkShelf({ manifest }: RegionServer): void {
    const names = [...manifest.all('snapshot')].filter(({ kind }) => kind === 'table');
    const wrong = this.#shelf.settle(names.map(({ name }) => name));
    if (wrong !== null) throw new SimFailure(this.journal.step, wrong);
  }

  #checkPins({ pins: kept }: RegionServer): void {
    const listed = kept.list();
    for (const pin of this.#pins.named) {
      if (listed.some(({ name, tso }) => name === pin.name && tso === pin.tso)) continue;
      throw new SimFailure(this.journal.step, `pin ${pin.name} at ${pin.tso} is gone`);
    }
    for (const { name, tso } of listed) {
      const isKnown = this.#pins.named.some((pin) => pin.name === name);
      if (!isKnown) this.#pins.add({ name, tso, untilMs: Infinity, handle: null });
      if (isKnown || this.#pins.unsure.has(name)) continue;
      throw new SimFailure(this.journal.step, `pin ${name} is back`);
    }
    this.#pins.unsure.clear();
  }

  /** Finds out whether the change of schema that was under way exists. */
  #decidePending(server: RegionServer): void {
    const pending = this.#pending;
    if (pending === null) return;
    const { table: name, change, tso, step } = pending;
    const before = this.#model.find(name);
    const outcome = outcomeOf(before, change, this.#shelf);
    if (typeof outcome === 'string') return;
    const facts = factsOf(server, name);
    if (!isDone(server, name, before, facts, tso)) return;
    const wrong = applyOutcome(this.#model, name, outcome, tso, facts);
    if (wrong !== null) throw new SimFailure(step, `after a crash, ${change.kind}: ${wrong}`);
    this.#pending = null;
    this.journal.note(() => `${change.kind} of ${name} had been done`);
  }
}

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
