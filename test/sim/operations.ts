/** Random operations of the API, from the seed. Few rows and columns, so that operations meet. */
import type { SeededRandom } from '../../src/io/index.ts';
import { DELETE, DELETE_COLUMN, DELETE_FAMILY, PUT } from './cells.ts';
import type { LoadCell } from './file_watch.ts';
import { randomMaintenance, type Maintenance } from './maintenance.ts';
import type {
  CompareOperator,
  CheckAndMutate,
  ColumnCondition,
  DeleteSpec,
  Durability,
  FamilySpec,
  IncrementOptions,
  Mutation,
  MutationOptions,
  Nonce,
  Operation,
  ReadOptions,
  ScanOptions,
  TableSpec,
  TimeRange,
  Values,
} from '../../src/model/index.ts';

export type Write =
  | { readonly kind: 'put' | 'delete' | 'increment' | 'append'; readonly mutation: Mutation }
  | { readonly kind: 'mutateRow'; readonly row: string; readonly mutations: readonly Mutation[] }
  | { readonly kind: 'mutateRows'; readonly mutations: readonly Mutation[] }
  | {
      readonly kind: 'check';
      readonly row: string;
      readonly condition: ColumnCondition;
      readonly mutations: readonly Mutation[];
    };

export type Read =
  | {
      readonly kind: 'get' | 'getSync' | 'exists';
      readonly row: string;
      readonly options: ReadOptions;
    }
  | { readonly kind: 'getMany'; readonly rows: readonly string[]; readonly options: ReadOptions }
  | { readonly kind: 'count'; readonly options: ScanOptions }
  | {
      readonly kind: 'scan';
      readonly options: ScanOptions;
      /** Results a fetch; 0 for the iterator. */
      readonly fetch: number;
      /** Fetches after which it is closed; Infinity to the end. */
      readonly fetches: number;
      /** Virtual milliseconds between fetches. */
      readonly pauseMs: number;
    };

export type Change =
  | { readonly kind: 'create'; readonly spec: TableSpec; readonly splits: readonly string[] }
  | { readonly kind: 'addFamily' | 'modifyFamily'; readonly family: FamilySpec }
  | { readonly kind: 'alterTable'; readonly spec: TableSpec }
  | { readonly kind: 'dropFamily'; readonly family: string }
  | { readonly kind: 'disable' | 'enable' | 'truncate' | 'drop' }
  | { readonly kind: 'clone' | 'restore'; readonly snapshot: string };

export interface WorkloadOptions {
  /** Chance that a value is long. */
  readonly longValues: number;
  readonly longLength: number;
  /** Durabilities asked for, undefined for the default. */
  readonly durabilities: readonly (Durability | undefined)[];
  readonly explicitTimestamps: number;
  /** Regions are split and merged often. */
  readonly isRegional: boolean;
}

const ROWS = ['a', 'b1', 'b2', 'c', 'd', 'e', 'm', 'm1', 'n', 'z'];
const FAMILIES = ['f', 'g', 'h'];
const COUNTERS = ['n1', 'n2'];
const TEXTS = ['', 'p', 'q', 'q1'];
const SPLIT_KEYS = ['b2', 'd', 'm1', 'n'];
const SPLIT_ROWS = [
  'a1',
  'b',
  'b15',
  'b2',
  'c',
  'cc',
  'd',
  'e',
  'f',
  'm',
  'm05',
  'm1',
  'n',
  'o',
  'z',
];
/** Regions as small as the simulator's tables: HBase's checks would refuse them. */
const UNCHECKED = { CONFIGURATION: { 'hbase.table.sanity.checks': 'false' } };
const SPLIT_RULES: readonly object[] = [
  {},
  {},
  { SPLIT_POLICY: 'DisabledRegionSplitPolicy' },
  { SPLIT_POLICY: 'ConstantSizeRegionSplitPolicy', MAX_FILESIZE: 3000, ...UNCHECKED },
  {
    SPLIT_POLICY: 'SteppingSplitPolicy',
    MEMSTORE_FLUSHSIZE: 1000,
    MAX_FILESIZE: 6000,
    ...UNCHECKED,
  },
];
const OPERATORS: readonly CompareOperator[] = [
  'LESS',
  'LESS_OR_EQUAL',
  'EQUAL',
  'NOT_EQUAL',
  'GREATER_OR_EQUAL',
  'GREATER',
  'NO_OP',
];

/** What batches are made of here. */
export type BatchMember = Exclude<Operation, CheckAndMutate>;

/** Draws operations. `nowMs` is the clock; families are drawn from all names, so some operations are refused. */
export class Workload {
  readonly #random: SeededRandom;
  readonly #options: WorkloadOptions;
  readonly #nowMs: () => number;
  #values = 0;
  #nonces = 0n;
  #names = 0;

  constructor(random: SeededRandom, options: WorkloadOptions, nowMs: () => number) {
    this.#random = random;
    this.#options = options;
    this.#nowMs = nowMs;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.#random.int(list.length)]!;
  }

  chance(probability: number): boolean {
    return this.#random.chance(probability);
  }

  /** Half of all operations go to two rows. */
  row(): string {
    return this.chance(0.5) ? ROWS[this.#random.int(2) * 4]! : this.pick(ROWS);
  }

  #family(): string {
    return this.chance(0.65) ? 'f' : this.chance(0.9) ? 'g' : this.pick(FAMILIES);
  }

  #column(counters: number): string {
    return `${this.#family()}:${this.pick(this.chance(counters) ? COUNTERS : TEXTS)}`;
  }

  #ts(): number | undefined {
    if (!this.chance(this.#options.explicitTimestamps)) return undefined;
    if (this.chance(0.7)) return 1 + this.#random.int(12);
    return this.#nowMs() + this.pick([-100_000, -20_000, -1000, -1, 0, 1, 5000]);
  }

  #value(): string {
    const name = `v${++this.#values}`;
    if (!this.chance(this.#options.longValues)) return this.chance(0.05) ? '' : name;
    return name.padEnd(this.#random.int(this.#options.longLength), `${name}.`);
  }

  #nonce(): Nonce {
    return { group: BigInt(this.#random.int(2)), nonce: ++this.#nonces };
  }

  #mutationOptions(): MutationOptions {
    const durability = this.pick(this.#options.durabilities);
    const ts = this.#ts();
    return {
      ...(durability === undefined ? {} : { durability }),
      ...(ts === undefined ? {} : { ts }),
      ...(this.chance(0.06) ? { ttl: this.pick([1, 5, 50, 5000, 100_000]) } : {}),
      ...(this.chance(0.2) ? { nonce: this.#nonce() } : {}),
    };
  }

  #values_(): Values {
    const count = 1 + (this.chance(0.4) ? this.#random.int(4) : 0);
    if (this.chance(0.2)) {
      return Array.from({ length: count }, () => {
        const ts = this.#ts();
        const [family, qualifier] = this.#column(0.1).split(':') as [string, string];
        return {
          family,
          qualifier,
          value: this.#value(),
          ...(ts === undefined ? {} : { ts }),
          ...(this.chance(0.1) ? { ttl: this.pick([2, 2000, 60_000]) } : {}),
        };
      });
    }
    const values: Record<string, string | bigint> = {};
    for (let i = 0; i < count; i++) {
      if (this.chance(0.1)) values[`${this.#family()}:n1`] = BigInt(this.#random.int(1000));
      else values[this.#column(0)] = this.#value();
    }
    return values;
  }

  #put(row: string): Mutation {
    return { put: row, values: this.#values_(), options: this.#mutationOptions() };
  }

  /** `fixed`: only what needs no read. */
  #delete(row: string, fixed: boolean): Mutation {
    const { durability, nonce, ts } = this.#mutationOptions();
    const common = {
      ...(durability === undefined ? {} : { durability }),
      ...(nonce === undefined ? {} : { nonce }),
    };
    const stamped = ts === undefined ? {} : { ts };
    const spec = ((): DeleteSpec => {
      switch (this.#random.int(7)) {
        case 0:
          return stamped;
        case 1:
          return { families: [this.#family()], ...stamped };
        case 2:
          return { familyVersions: [this.#family()], ts: ts ?? 3 };
        case 3:
          return { families: [this.#family()], columns: [this.#column(0.2)], ...stamped };
        case 4:
          return fixed
            ? { versions: [this.#column(0.2)], ts: ts ?? 5 }
            : { versions: [this.#column(0.2)], ...stamped };
        default:
          return { columns: [this.#column(0.3)], ...stamped };
      }
    })();
    return { delete: row, spec: { ...spec, ...common } };
  }

  #modifyOptions(): IncrementOptions {
    const range = this.chance(0.08) ? { timeRange: this.#range() } : {};
    return {
      ...this.#mutationOptions(),
      ...range,
      ...(this.chance(0.15) ? { returnResults: false } : {}),
    };
  }

  #increment(row: string, suffix: string = ''): Mutation {
    const amounts: Record<string, bigint | number> = {};
    const count = this.chance(0.2) ? 2 : 1;
    for (let i = 0; i < count; i++) {
      const column = this.chance(0.04) ? this.#column(0) : `${this.#family()}:n${1 + i}`;
      amounts[column + suffix] = this.chance(0.02) ? (1n << 63n) - 1n : this.#random.int(9) - 2;
    }
    return { increment: row, amounts, options: this.#modifyOptions() };
  }

  #append(row: string, suffix: string = ''): Mutation {
    const values = { [`${this.#family()}:s${suffix}`]: `.${++this.#values}` };
    return { append: row, values, options: this.#modifyOptions() };
  }

  /** Increments and appends of one row mutation have columns of their own, and no deletes beside them. */
  #rowMutations(row: string): Mutation[] {
    const count = 1 + this.#random.int(4);
    return Array.from({ length: count }, (_, i) => {
      const pick = this.#random.int(8);
      if (pick < 4) return this.#put(row);
      if (pick < 6) return this.#delete(row, false);
      return pick === 6 ? this.#increment(row, `_${i}`) : this.#append(row, `_${i}`);
    });
  }

  #condition(): ColumnCondition {
    const isNumber = this.chance(0.3);
    const value = isNumber ? BigInt(this.#random.int(20)) : `v${this.#random.int(1000)}`;
    return {
      column: this.#column(isNumber ? 1 : 0),
      value: this.chance(0.35) ? null : value,
      ...(this.chance(0.8) ? { operator: this.pick(OPERATORS) } : {}),
      ...(this.chance(0.08) ? { timeRange: this.#range() } : {}),
    };
  }

  write(): Write {
    const row = this.row();
    const pick = this.#random.int(100);
    if (pick < 35) return { kind: 'put', mutation: this.#put(row) };
    if (pick < 50) return { kind: 'delete', mutation: this.#delete(row, false) };
    if (pick < 65) return { kind: 'increment', mutation: this.#increment(row) };
    if (pick < 73) return { kind: 'append', mutation: this.#append(row) };
    if (pick < 82) return { kind: 'mutateRow', row, mutations: this.#rowMutations(row) };
    if (pick < 92) {
      const mutations = this.chance(0.4) ? this.#rowMutations(row) : [this.#put(row)];
      return { kind: 'check', row, condition: this.#condition(), mutations };
    }
    return { kind: 'mutateRows', mutations: this.#rowsMutations() };
  }

  #rowsMutations(): Mutation[] {
    const near = this.pick([['a', 'b1'], ['m', 'd', 'e'], ['n', 'z'], ROWS]);
    return Array.from({ length: 2 + this.#random.int(3) }, () => {
      const row = this.pick(near);
      const mutation = this.chance(0.7) ? this.#put(row) : this.#delete(row, true);
      return withoutNonce(mutation);
    });
  }

  batch(): BatchMember[] {
    const count = 2 + this.#random.int(6);
    return Array.from({ length: count }, () => {
      if (this.chance(0.15)) return { get: this.row(), options: this.readOptions() };
      for (;;) {
        const write = this.write();
        if (write.kind === 'check' || write.kind === 'mutateRows') continue;
        if (write.kind !== 'mutateRow') return write.mutation;
        return { mutateRow: write.row, mutations: write.mutations };
      }
    });
  }

  #range(): TimeRange {
    const min = this.pick([0, 2, 5, this.#nowMs() - 20_000]);
    if (this.chance(0.2)) return { min };
    return { min, max: min + this.pick([0, 1, 4, 10, 100_000]) };
  }

  readOptions(): ReadOptions {
    if (this.chance(0.3)) return {};
    return {
      ...(this.chance(0.35)
        ? { columns: Array.from({ length: 1 + this.#random.int(3) }, () => this.#column(0.3)) }
        : {}),
      ...(this.chance(0.12) ? { families: [this.#family()] } : {}),
      ...(this.chance(0.5) ? { versions: 1 + this.#random.int(5) } : {}),
      ...(this.chance(0.15)
        ? { timeRange: this.#range() }
        : this.chance(0.05)
          ? { ts: 1 + this.#random.int(12) }
          : {}),
      ...(this.chance(0.05) ? { familyTimeRanges: { [this.#family()]: this.#range() } } : {}),
      ...(this.chance(0.07)
        ? { storeLimit: this.#random.int(4), storeOffset: this.#random.int(3) }
        : {}),
    };
  }

  scanOptions(): ScanOptions {
    const reversed = this.chance(0.3);
    const [low, high] = [this.row(), this.row()].sort() as [string, string];
    const [start, stop] = reversed ? [high, low] : [low, high];
    const rows = ((): ScanOptions => {
      if (this.chance(0.4)) return {};
      if (this.chance(0.2)) return { prefix: this.pick(['b', 'm', 'z']) };
      return {
        start,
        ...(this.chance(0.7) ? { stop } : {}),
        ...(this.chance(0.3) ? { startInclusive: this.chance(0.5) } : {}),
        ...(this.chance(0.3) ? { stopInclusive: this.chance(0.5) } : {}),
      };
    })();
    const { columns, ...read } = this.readOptions();
    const raw = this.chance(0.1);
    return {
      ...read,
      ...rows,
      ...(columns === undefined || raw ? {} : { columns }),
      ...(raw ? { raw, versions: 1_000_000 } : {}),
      ...(reversed ? { reversed } : {}),
      ...(this.chance(0.2) ? { limit: this.#random.int(5) } : {}),
      ...(this.chance(0.2) ? { batch: 1 + this.#random.int(4) } : {}),
      ...(this.chance(0.1) ? { maxResultSizeBytes: 1 + this.#random.int(500) } : {}),
    };
  }

  read(): Read {
    const pick = this.#random.int(100);
    const options = this.readOptions();
    if (pick < 40) return { kind: 'get', row: this.row(), options };
    if (pick < 50) return { kind: 'getSync', row: this.row(), options };
    if (pick < 54) return { kind: 'exists', row: this.row(), options };
    if (pick < 60) return { kind: 'getMany', rows: [this.row(), this.row(), this.row()], options };
    if (pick < 66) {
      return { kind: 'count', options: { ...this.scanOptions(), batch: 1_000_000, raw: false } };
    }
    return {
      kind: 'scan',
      options: this.scanOptions(),
      fetch: this.pick([0, 1, 2, 3, 1000]),
      fetches: this.chance(0.25) ? 1 + this.#random.int(3) : Infinity,
      pauseMs: this.chance(0.5) ? 0 : this.#random.float() * 6,
    };
  }

  /** Cells to load, no two of one key. */
  load(families: readonly string[]): { cells: LoadCell[]; move: boolean } {
    const cells = new Map<string, LoadCell>();
    for (let count = 1 + this.#random.int(12); count > 0; count--) {
      const type = this.chance(0.75) ? PUT : this.pick([DELETE, DELETE_COLUMN, DELETE_FAMILY]);
      const ts = this.chance(0.4) ? null : this.chance(0.6) ? 1 + this.#random.int(12) : 1_000_000;
      const cell = {
        row: this.pick(ROWS),
        family: this.pick(families),
        qualifier: type === DELETE_FAMILY ? '' : this.pick(TEXTS),
        ts,
        type,
        value: type === PUT ? this.#value() : '',
        ttlMs: 0,
      };
      cells.set([cell.row, cell.family, cell.qualifier, ts, type].join('/'), cell);
    }
    return { cells: [...cells.values()], move: this.chance(0.5) };
  }

  /** Mostly a new one. */
  snapshotName(): string {
    return this.chance(0.1) ? 'snapshot1' : `snapshot${++this.#names}`;
  }

  maintenance(): Maintenance {
    return randomMaintenance(
      this.#random,
      () => this.pick(SPLIT_ROWS),
      () => `pin${++this.#names}`,
      this.#options.isRegional,
    );
  }

  family(name: string): FamilySpec {
    return {
      name,
      VERSIONS: this.pick([1, 1, 2, 3, 5]),
      ...(this.chance(0.2) ? { TTL: this.pick([1, 20, 50_000]) } : {}),
      ...(this.chance(0.15) ? { MIN_VERSIONS: 1 } : {}),
      ...(this.chance(0.2) ? { KEEP_DELETED_CELLS: this.pick(['TRUE', 'TTL', 'FALSE']) } : {}),
      ...(this.chance(0.3) ? { NEW_VERSION_BEHAVIOR: true } : {}),
      ...(this.chance(0.5)
        ? { DATA_BLOCK_ENCODING: this.pick(['PREFIX', 'DIFF', 'FAST_DIFF', 'ROW_INDEX_V1']) }
        : {}),
      ...(this.chance(0.5) ? { BLOCKSIZE: 1024 } : {}),
      ...(this.chance(0.5) ? { BLOOMFILTER: this.pick(['NONE', 'ROW', 'ROWCOL']) } : {}),
      ...(this.chance(0.1) ? { DURABILITY: this.pick(['ASYNC_WAL', 'SYNC_WAL', 'SKIP_WAL']) } : {}),
    };
  }

  create(name: string): Change {
    const splits = this.chance(0.4) ? [] : SPLIT_KEYS.filter(() => this.chance(0.6));
    const families = ['f', 'g', ...(this.chance(0.3) ? ['h'] : [])].map((f) => this.family(f));
    const durability = this.chance(0.15)
      ? { DURABILITY: this.pick(['ASYNC_WAL', 'SYNC_WAL']) }
      : {};
    const spec = {
      name,
      families,
      ...durability,
      ...(splits.length > 0 ? { SPLITS: splits } : {}),
      ...this.pick(SPLIT_RULES),
    };
    return { kind: 'create', spec, splits };
  }

  /** A change of an existing table with these families. */
  change(families: readonly string[], isEnabled: boolean): Change {
    if (!isEnabled) return { kind: this.pick(['enable', 'enable', 'enable', 'truncate', 'drop']) };
    const pick = this.#random.int(20);
    if (pick < 6) return { kind: 'modifyFamily', family: this.family(this.pick(FAMILIES)) };
    if (pick < 8) {
      const durability = this.pick(['USE_DEFAULT', 'ASYNC_WAL', 'FSYNC_WAL']);
      const spec = { families: [this.family(this.pick(families))], DURABILITY: durability };
      return { kind: 'alterTable', spec: { name: '', ...spec } };
    }
    if (pick < 11) return { kind: 'addFamily', family: this.family(this.pick(FAMILIES)) };
    if (pick < 14) return { kind: 'dropFamily', family: this.pick(FAMILIES) };
    if (pick < 17) return { kind: 'truncate' };
    return { kind: pick === 17 ? 'drop' : 'disable' };
  }
}

function without<T extends object, K extends keyof T>(value: T, name: K): Omit<T, K> {
  const copy = { ...value };
  delete copy[name];
  return copy;
}

function withoutNonce(mutation: Mutation): Mutation {
  if ('delete' in mutation) {
    return { delete: mutation.delete, spec: without(mutation.spec ?? {}, 'nonce') };
  }
  return { ...mutation, options: without(mutation.options ?? {}, 'nonce') };
}

/** The nonce that the engine takes for these mutations: the first one's that has any. */
export function nonceOf(mutations: readonly Mutation[]): Nonce | undefined {
  for (const mutation of mutations) {
    const nonce = 'delete' in mutation ? mutation.spec?.nonce : mutation.options?.nonce;
    if (nonce !== undefined) return nonce;
  }
  return undefined;
}

export function durabilityOf(mutation: Mutation): Durability | undefined {
  return 'delete' in mutation ? mutation.spec?.durability : mutation.options?.durability;
}
