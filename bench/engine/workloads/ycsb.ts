/**
 * The core workloads of YCSB, A to F: rows chosen by a Zipf distribution (constant 0.99) whose order is scattered over the
 * keys, as YCSB's ScrambledZipfianGenerator does, 32 operations under way, every write durable.
 */
import { ByteSum, Random, Values, keyOf } from '../rows.ts';
import type { Subject } from '../subject.ts';
import { rateAsync } from '../workload.ts';
import type { RunSettings, Workload } from '../workload.ts';
import { found } from './reads.ts';

const CONSTANT = 0.99;
const LANES = 32;
const SCAN_MAX = 100;

/** Ranks 0 … `items` - 1, small ones far more often: Gray et al., "Quickly generating billion-record synthetic databases". */
export class Zipf {
  readonly #items: number;
  readonly #zeta: number;
  readonly #eta: number;
  readonly #random: Random;

  constructor(items: number, random: Random) {
    this.#items = items;
    this.#random = random;
    this.#zeta = zeta(items);
    this.#eta = (1 - (2 / items) ** (1 - CONSTANT)) / (1 - zeta(2) / this.#zeta);
  }

  next(): number {
    const chance = this.#random.int(1 << 30) / (1 << 30);
    const scaled = chance * this.#zeta;
    if (scaled < 1) return 0;
    if (scaled < 1 + 0.5 ** CONSTANT) return 1;
    const rank = this.#items * (this.#eta * chance - this.#eta + 1) ** (1 / (1 - CONSTANT));
    return Math.min(this.#items - 1, Math.floor(rank));
  }
}

function zeta(items: number): number {
  let sum = 0;
  for (let i = 1; i <= items; i++) sum += 1 / i ** CONSTANT;
  return sum;
}

/** A place among `items` for a rank, the same each time. */
const scattered = (rank: number, items: number): number =>
  Number((BigInt(rank + 1) * 11400714819323198485n) & 0xffffffffffffn) % items;

interface Mix {
  readonly id: string;
  readonly what: string;
  /** Shares of reads, updates, inserts, scans and read-modify-writes; together 1. */
  readonly read?: number;
  readonly update?: number;
  readonly insert?: number;
  readonly scan?: number;
  readonly modify?: number;
  /** Rows written last are read most. */
  readonly latest?: true;
}

const MIXES: readonly Mix[] = [
  { id: 'a', what: 'half reads, half updates', read: 0.5, update: 0.5 },
  { id: 'b', what: '95 % reads, updates', read: 0.95, update: 0.05 },
  { id: 'c', what: 'reads', read: 1 },
  {
    id: 'd',
    what: '95 % reads of the latest rows, inserts',
    read: 0.95,
    insert: 0.05,
    latest: true,
  },
  { id: 'e', what: '95 % short scans, inserts', scan: 0.95, insert: 0.05 },
  { id: 'f', what: 'half reads, half read-modify-writes', read: 0.5, modify: 0.5 },
];

function run(mix: Mix): (subject: Subject, settings: RunSettings) => ReturnType<typeof rateAsync> {
  return async (subject, settings) => {
    const loaded = settings.fileRows;
    // Rows that are there for sure, and rows that were begun.
    let count = loaded;
    let begun = loaded;
    const written = new Set<number>();
    const random = new Random(59);
    const zipf = new Zipf(loaded, random);
    const values = new Values();
    const sum = new ByteSum();
    // Inserts of earlier workloads of the same data stand behind these; each begins where it is.
    const fresh = loaded * (10 + MIXES.indexOf(mix));
    const keyNumber = (rank: number): number => {
      if (mix.latest !== true) return scattered(rank, loaded);
      const back = count - 1 - rank;
      return back < loaded ? back : fresh + back - loaded;
    };
    const pick = (): Uint8Array => keyOf(keyNumber(zipf.next()));
    const step = async (): Promise<number> => {
      let chance = random.int(1_000_000) / 1_000_000;
      const is = (share = 0): boolean => (chance -= share) < 0;
      if (is(mix.read)) sum.add(found(await subject.get!(pick())));
      else if (is(mix.update)) await subject.put!(pick(), values.next());
      else if (is(mix.insert)) {
        const row = begun++;
        await subject.put!(keyOf(fresh + row - loaded), values.next());
        written.add(row);
        while (written.delete(count)) count++;
      } else if (is(mix.scan)) {
        const rows = 1 + random.int(SCAN_MAX);
        await subject.scanShort!(pick(), rows, (key, value) => {
          sum.add(key);
          sum.add(value);
        });
      } else {
        const key = pick();
        sum.add(found(await subject.get!(key)));
        await subject.put!(key, values.next());
      }
      return 1;
    };
    return rateAsync(step, LANES, settings);
  };
}

export const YCSB: readonly Workload[] = MIXES.map((mix) => ({
  id: `ycsb-${mix.id}`,
  title: `YCSB ${mix.id.toUpperCase()}: ${mix.what}; ${LANES} under way, writes durable`,
  short: `YCSB ${mix.id.toUpperCase()}: ${mix.what}`,
  unit: 'op/s',
  better: 'more',
  data: 'ycsb',
  rivals: ['lmdb', 'classic-level', 'better-sqlite3'],
  without: { bare: 'nothing to compare with' },
  supports: (subject) =>
    subject.put !== undefined &&
    subject.get !== undefined &&
    (mix.scan === undefined || subject.scanShort !== undefined),
  run: run(mix),
}));
