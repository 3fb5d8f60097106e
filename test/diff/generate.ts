/** Random rounds from a seed. Everything is small, so that rows, columns and timestamps meet. */
import type { SeededRandom } from '../../src/io/index.ts';
import { endsByRow } from './filters.ts';
import { FilterGenerator } from './generate_filters.ts';
import { NOW, takesClock } from './commands.ts';
import type {
  BatchCommand,
  CheckCommand,
  Column,
  Command,
  Family,
  Filtered,
  GetCommand,
  LoadedCell,
  MutationCommand,
  Range,
  Read,
  ReadCommand,
  ScanCommand,
  TableEvent,
  Write,
} from './commands.ts';
import {
  forgetsMarker,
  isPlain,
  isPrefixCoded,
  leavesEmptyColumn,
  showsExpired,
  stampsTwice,
} from './avoided.ts';
import { isSplit } from './round.ts';
import type { Case, Round } from './round.ts';

const HOUR_MS = 3_600_000;
/** Families with a TTL live an hour: these are expired, whenever the case runs. */
const EXPIRED = [NOW - 2 * HOUR_MS, NOW - 2 * HOUR_MS + 1, NOW - 2 * HOUR_MS + 2];
const RECENT = [NOW - 9000, NOW - 8999, NOW - 8998, NOW - 8997, NOW - 8996, NOW - 8995];
const SMALL = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const FUTURE = NOW + 500_000_000;
const ROWS = ['a', 'b', 'aa', 'b\0', 'b\0\0', 'c\xff', 'd', ''];
const LOADED_ROWS = ['b\0\0', 'aaa'];
const QUALIFIERS = ['', 'a', 'b', 'ab', '\0', '\xff'];
/** Qualifiers that are text: increments and appends name columns as text. */
const TEXT_QUALIFIERS = ['', 'a', 'b', 'ab'];
const OPERATORS = [
  'LESS',
  'LESS_OR_EQUAL',
  'EQUAL',
  'NOT_EQUAL',
  'GREATER_OR_EQUAL',
  'GREATER',
  'EQUAL',
  'NO_OP',
];
/** All files of a store are merged by a compaction only up to this count (hbase.hstore.compaction.max). */
const FILES_MAX = 10;
const READS_A_STATE = 10;
const NUMBERS = ['\0\0\0\0\0\0\0\x05', '\0\0\0\0\0\0\0\0', '\xff'.repeat(8), '\0\0\0\0\0\0\x01\0'];

function pick<T>(random: SeededRandom, of: readonly T[]): T {
  return of[random.int(of.length)]!;
}

/** 1 … `most` members, each once, in any order. */
function some<T>(random: SeededRandom, of: readonly T[], most: number): T[] {
  const left = [...of];
  const chosen: T[] = [];
  for (let count = 1 + random.int(most); count > 0 && left.length > 0; count--) {
    chosen.push(...left.splice(random.int(left.length), 1));
  }
  return chosen;
}

export class Generator {
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  round(cases: number): Round {
    const random = this.#random;
    const families = ['f', 'g'].slice(0, 1 + random.int(2)).map((name) => this.#family(name));
    const events = this.#events(families);
    // Regions of a few cases have files that HBase passes over by their times (README.md).
    const isNew = families.some((family) => 'NEW_VERSION_BEHAVIOR' in family);
    const hasSplits = random.chance(0.5);
    const tables = {
      families,
      splits:
        hasSplits && !isNew ? splitsFor(events, some(random, ['aa', 'b', 'b\0', 'c\xff'], 2)) : [],
      splitEvery: 1 + Math.floor(cases / 6),
    };
    return {
      ...tables,
      events,
      cases: Array.from({ length: cases }, (_, index) =>
        new CaseGenerator(this.#random.fork(), families, isSplit(tables, index)).make(events),
      ),
    };
  }

  #family(name: string): Family {
    const random = this.#random;
    const family: Record<string, string | Record<string, string>> & { name: string } = { name };
    family['VERSIONS'] = pick(random, ['1', '1', '2', '3', '5', '2147483647']);
    if (random.chance(0.35)) {
      family['TTL'] = '3600';
      if (random.chance(0.5)) family['MIN_VERSIONS'] = pick(random, ['1', '2']);
      if (Number(family['MIN_VERSIONS'] ?? 0) >= Number(family['VERSIONS'])) {
        family['VERSIONS'] = '3';
      }
    }
    if (random.chance(0.5)) {
      family['KEEP_DELETED_CELLS'] =
        'TTL' in family ? pick(random, ['TRUE', 'TTL']) : pick(random, ['TRUE', 'TRUE', 'FALSE']);
    }
    // HBase counts markers as versions where both are set (README.md).
    const keeps = (family['KEEP_DELETED_CELLS'] ?? 'FALSE') !== 'FALSE';
    if (!keeps && random.chance(0.4)) family['NEW_VERSION_BEHAVIOR'] = 'true';
    if (showsExpired(family)) family['MIN_VERSIONS'] = '1';
    if (random.chance(0.6)) {
      family['DATA_BLOCK_ENCODING'] = pick(random, ['PREFIX', 'DIFF', 'FAST_DIFF', 'ROW_INDEX_V1']);
    }
    if (random.chance(0.6)) {
      family['BLOOMFILTER'] = pick(random, ['NONE', 'ROWCOL', 'ROWCOL', 'ROWPREFIX_FIXED_LENGTH']);
      // With both HBase looks for ever for a named column that a file does not have (README.md).
      const isNew = 'NEW_VERSION_BEHAVIOR' in family;
      if (isNew && family['BLOOMFILTER'] === 'ROWCOL') family['BLOOMFILTER'] = 'ROW';
      if (family['BLOOMFILTER'] === 'ROWPREFIX_FIXED_LENGTH') {
        family['CONFIGURATION'] = {
          'RowPrefixBloomFilter.prefix_length': pick(random, ['5', '6']),
        };
      }
    }
    if (random.chance(0.3)) family['BLOCKSIZE'] = '1024';
    if (random.chance(0.2)) family['COMPRESSION'] = 'GZ';
    return family;
  }

  /** Files never get so many that a compaction would leave some out: which ones is chance. */
  #events(families: readonly Family[]): TableEvent[] {
    const events: TableEvent[] = [];
    // HBase passes over files by their times although each version counts there (README.md).
    const isNew = families.some((family) => 'NEW_VERSION_BEHAVIOR' in family);
    let files = 0;
    const flush = (): void => {
      events.push({ op: 'flush' });
      files++;
    };
    for (let count = 3 + this.#random.int(5); count > 0; count--) {
      const kind = this.#random.int(13);
      if (kind < 5 && files < FILES_MAX) flush();
      else if (kind < 8) {
        // A compaction without HBase's least count of files does nothing.
        while (files < 3) flush();
        events.push({ op: 'compact' });
        files = 1;
      } else if (kind < 9) {
        events.push({ op: 'flush' }, { op: 'major' });
        files = 1;
      } else if (kind < 10 && files < FILES_MAX) {
        flush();
        events.push({ op: 'clone' });
      } else if (kind < 11 && files < FILES_MAX) {
        // HBase opens the regions again, and flushes them as the table was.
        flush();
        events.push({ op: 'alter', families: families.map((one) => this.#altered(one)) });
      } else if (kind < 12 && files + 1 < FILES_MAX && !isNew) {
        flush();
        events.push({ op: 'load', cells: this.#loaded(families) });
        files++;
      } else events.push({ op: 'reopen' });
    }
    events.push({ op: 'flush' }, { op: 'major' }, { op: 'reopen' });
    return events;
  }

  /** Cells of a bulk load, each key once, in rows no shorter and with values no other than filters can bear (README.md). */
  #loaded(families: readonly Family[]): LoadedCell[] {
    const random = this.#random;
    const hasTtl = families.some((family) => family['TTL'] !== undefined);
    const times = hasTtl ? [...EXPIRED, ...RECENT] : [...SMALL, ...RECENT];
    const cells = new Map<string, LoadedCell>();
    for (let count = 2 + random.int(8); count > 0; count--) {
      const type = pick(random, ['Put', 'Put', 'Put', 'Delete', 'DeleteColumn'] as const);
      const cell = {
        row: pick(random, LOADED_ROWS),
        f: pick(random, families).name,
        q: pick(random, ['a', 'b', 'ab']),
        ts: pick(random, times),
        type,
        v: type === 'Put' ? pick(random, NUMBERS) : '',
      };
      cells.set(JSON.stringify({ ...cell, v: '' }), cell);
    }
    return [...cells.values()];
  }

  /** Another VERSIONS, MIN_VERSIONS, encoding or Bloom filter; what the cases of the round rely on stays. */
  #altered(family: Family): Family {
    const random = this.#random;
    const versions = pick(random, ['1', '2', '3', '5']);
    return {
      ...family,
      VERSIONS: versions,
      ...('TTL' in family && versions !== '1' ? { MIN_VERSIONS: pick(random, ['0', '1']) } : {}),
      ...('TTL' in family && versions === '1' ? { MIN_VERSIONS: '0' } : {}),
      ...(isPlain(family)
        ? {}
        : {
            DATA_BLOCK_ENCODING: pick(random, [
              'NONE',
              (family['DATA_BLOCK_ENCODING'] as string | undefined) ?? 'NONE',
            ]),
          }),
      ...(family['BLOOMFILTER'] === 'ROWCOL' ? { BLOOMFILTER: 'ROW' } : {}),
    };
  }
}

/** One, where compactions are to find the same count of files on both sides: HBase makes files without cells, too (README.md). */
const splitsFor = (events: readonly TableEvent[], splits: readonly string[]): string[] => {
  // Files are loaded as they are: whoever loads into several regions cuts them first.
  if (events.some(({ op }) => op === 'load')) return [];
  return events.some(({ op }) => op === 'compact') ? splits.slice(0, 1) : splits.toSorted();
};

/** One case: a few rows, columns and timestamps, and what is done and asked of them. */
class CaseGenerator {
  readonly #random: SeededRandom;
  readonly #families: readonly string[];
  readonly #rows: readonly string[];
  readonly #columns: readonly Column[];
  readonly #textQualifiers: readonly string[];
  readonly #hasEmptyQualifier: boolean;
  readonly #deletesFamilies: boolean;
  readonly #isNumeric: boolean;
  readonly #isSplit: boolean;
  /** With NEW_VERSION_BEHAVIOR. */
  readonly #newFamilies: readonly string[];
  readonly #filters: FilterGenerator;
  readonly #times: readonly number[];
  #values = 0;

  constructor(random: SeededRandom, families: readonly Family[], isSplit: boolean) {
    this.#random = random;
    this.#isSplit = isSplit;
    this.#families = families.map(({ name }) => name);
    this.#rows = some(this.#random, ROWS, 3);
    // HBase's tracker for NEW_VERSION_BEHAVIOR fails on empty qualifiers, and otherwise it may overlook family markers
    // behind them (README.md).
    this.#newFamilies = families
      .filter((family) => family['NEW_VERSION_BEHAVIOR'] !== undefined)
      .map(({ name }) => name);
    const isNew = this.#newFamilies.length > 0;
    const isCoded = families.some(isPrefixCoded);
    const hasTtl = families.some((family) => family['TTL'] !== undefined);
    const isSafe = families.every(isPlain);
    this.#hasEmptyQualifier = !isNew && isSafe && random.chance(0.3);
    // An expired family marker sends HBase to the next column, too.
    this.#deletesFamilies = !this.#hasEmptyQualifier && !(isCoded && hasTtl) && random.chance(0.85);
    this.#isNumeric = random.chance(0.15);
    const named = (qualifier: string): boolean => this.#hasEmptyQualifier || qualifier !== '';
    this.#textQualifiers = TEXT_QUALIFIERS.filter(named);
    const qualifiers = some(random, QUALIFIERS.filter(named), 3);
    this.#columns = this.#families.flatMap((family) => qualifiers.map((q): Column => [family, q]));
    const times = hasTtl ? [...EXPIRED, ...RECENT, ...RECENT] : [...SMALL, ...SMALL, ...RECENT];
    const future = random.chance(0.1) ? [FUTURE] : [];
    this.#times = [...some(random, times, 6), ...future];
    this.#filters = new FilterGenerator({
      random,
      rows: ROWS,
      families: this.#families,
      qualifiers,
      times: this.#times,
      values: this.#isNumeric ? NUMBERS : ['x', 'y', '\xff', 'v1', 'v2', 'v3', '', 'zz'],
      isNumeric: this.#isNumeric,
      prefixLengthMax: Math.min(...this.#rows.map((row) => row.length)),
    });
  }

  make(events: readonly TableEvent[]): Case {
    const segments: Command[][] = [];
    for (let segment = 0; segment <= events.length; segment++) {
      const commands: Command[] = [];
      const after = segment === 0 ? null : events[segment - 1]!.op;
      // Right after most events nothing is written: what is read is what the event left.
      const isQuiet = segment > 0 && (after !== 'flush' || this.#random.chance(0.4));
      if (isQuiet) commands.push(...this.#reads());
      const writes = isQuiet && this.#random.chance(0.5) ? 0 : 1 + this.#random.int(5);
      for (let i = 0; i < writes; i++) commands.push(this.#write());
      if (writes > 0) commands.push(...this.#reads());
      segments.push(commands);
    }
    return segments;
  }

  // ---- Writes ----------------------------------------------------------------------------------------------------------

  #write(): Write {
    const random = this.#random;
    const row = pick(random, this.#rows);
    const chance = random.int(100);
    if (chance < 74) return this.#mutation(row);
    if (chance < 80) return { op: 'mutateRow', row, mutations: this.#mutations(row) };
    if (chance < 90) return this.#check(row);
    if (chance < 93) {
      return { op: 'checkAll', checks: this.#checks(row) };
    }
    if (chance < 97) {
      return { op: 'batch', operations: this.#rows.map((one) => this.#operation(one)) };
    }
    return { op: 'mutateRows', mutations: this.#rows.map((one) => this.#blind(one)) };
  }

  /** Of one commit. Not those of which HBase forgets a marker (README.md). */
  #mutations(row: string): MutationCommand[] {
    for (;;) {
      const mutations = this.#list(1 + this.#random.int(3), () => this.#mutation(row));
      if (!this.#newFamilies.some((family) => forgetsMarker(mutations, family))) return mutations;
    }
  }

  /** After a condition HBase asks the clock once for puts, and again for increments and appends. */
  #checkedMutations(row: string): MutationCommand[] {
    for (;;) {
      const mutations = this.#mutations(row);
      if (!stampsTwice(mutations)) return mutations;
    }
  }

  #operation(row: string): BatchCommand['operations'][number] {
    const chance = this.#random.int(10);
    if (chance < 2) return this.#get(row);
    if (chance < 3) return { op: 'mutateRow', row, mutations: this.#mutations(row) };
    if (chance < 4) return this.#mildCheck(row);
    const mutation = this.#mutation(row);
    // No such family: this one alone fails.
    return mutation.op === 'put' && this.#random.chance(0.2)
      ? { ...mutation, cells: [{ f: 'none', q: 'a', v: 'v', ts: 1 }] }
      : mutation;
  }

  /** A put or delete that needs neither the row nor the clock. */
  #blind(row: string): MutationCommand {
    for (;;) {
      const mutation = this.#random.chance(0.7) ? this.#put(row) : this.#delete(row);
      if (!takesClock(mutation)) return mutation;
    }
  }

  #check(row: string): CheckCommand {
    const random = this.#random;
    const timeRange = random.chance(0.2) ? { timeRange: this.#range() } : {};
    const mutations = random.chance(0.5) ? [this.#mutation(row)] : this.#checkedMutations(row);
    if (random.chance(0.3)) {
      return { op: 'check', row, condition: { ...this.#filtered(), ...timeRange }, mutations };
    }
    const operator = pick(random, OPERATORS);
    return {
      op: 'check',
      row,
      condition: {
        column: pick(random, this.#columns),
        operator,
        value: random.chance(0.3) ? null : this.#value(),
        ...timeRange,
      },
      mutations,
    };
  }

  /** Not one that makes HBase fail the whole request. */
  #mildCheck(row: string): CheckCommand {
    for (;;) {
      const check = this.#check(row);
      if (!('operator' in check.condition) || check.condition.operator !== 'NO_OP') return check;
    }
  }

  /** Of one request. Only one takes the clock: another may do so in the same millisecond or the next. */
  #checks(row: string): CheckCommand[] {
    for (;;) {
      const checks = this.#list(1 + this.#random.int(3), () => this.#mildCheck(row));
      if (checks.filter(takesClock).length <= 1) return checks;
    }
  }

  /** README.md says where HBase is wrong. */
  #filtered(read: ReadCommand & { op?: 'scan'; reversed?: 1; raw?: 1 } = {}): Filtered {
    const without: string[] = [];
    if (read.reversed === 1) without.push('FuzzyRowFilter', 'FilterList MUST_PASS_ONE');
    if (read.columns !== undefined) without.push('PrefixFilter');
    // The older versions of an unnamed empty qualifier are other columns to HBase, unless a block holds them all.
    const countsVersions = this.#hasEmptyQualifier && read.columns === undefined;
    if (countsVersions || this.#namesNewColumns(read)) {
      without.push('ColumnPaginationFilter', 'ColumnCountGetFilter');
    }
    if (read.raw === 1) without.push('LongComparator', 'BigDecimalComparator');
    let filter = this.#filters.filterWithout(without);
    while (read.op === 'scan' && read.columns !== undefined && endsByRow(filter)) {
      filter = this.#filters.filterWithout(without);
    }
    return this.#random.chance(0.3) ? { filter, asText: 1 } : { filter };
  }

  /** Several versions of named columns with NEW_VERSION_BEHAVIOR: HBase does not leave a column when a filter says so. */
  #namesNewColumns({ columns = [], versions = 1 }: ReadCommand): boolean {
    return versions > 1 && columns.some(([family]) => this.#newFamilies.includes(family));
  }

  #list<T>(count: number, make: () => T): T[] {
    return Array.from({ length: count }, make);
  }

  #mutation(row: string): MutationCommand {
    const random = this.#random;
    const chance = random.int(100);
    if (chance < 62) return this.#put(row);
    if (chance < 86) return this.#delete(row);
    const columns = some(
      this.#random,
      this.#families.flatMap((family) => this.#textQualifiers.map((q): Column => [family, q])),
      2,
    );
    const options = {
      ...(random.chance(0.2) ? { timeRange: this.#range() } : {}),
      ...(random.chance(0.1) ? { ttl: HOUR_MS } : {}),
      ...(random.chance(0.2) ? { quiet: 1 as const } : {}),
    };
    // What was appended to is no number any more.
    if (chance < 93 || this.#isNumeric) {
      const amounts = columns.map(
        ([f, q]) => [f, q, pick(this.#random, ['1', '-1', '0', '9223372036854775807'])] as const,
      );
      return { op: 'increment', row, amounts, ...options };
    }
    const values = columns.map(([f, q]) => [f, q, this.#value()] as const);
    return { op: 'append', row, values, ...options };
  }

  #put(row: string): MutationCommand {
    const takesClock = this.#random.chance(0.06);
    const cells = some(this.#random, this.#columns, 3).map(([f, q]) => ({
      f,
      q,
      v: this.#value(),
      ...(takesClock ? {} : { ts: pick(this.#random, this.#times) }),
    }));
    // A life of one millisecond is over, one of an hour is not, for any time that is written down.
    const lives = takesClock ? [HOUR_MS] : [1, HOUR_MS];
    return {
      op: 'put',
      row,
      cells,
      ...(this.#random.chance(0.08) ? { ttl: pick(this.#random, lives) } : {}),
    };
  }

  #delete(row: string): MutationCommand {
    const random = this.#random;
    const takesClock = random.chance(0.12);
    const ts = takesClock ? {} : { ts: pick(this.#random, this.#times) };
    const base = { op: 'delete', row, ...ts } as const;
    // Family markers come first; not beside empty qualifiers.
    switch (this.#deletesFamilies ? random.int(9) : 4 + random.int(5)) {
      case 0:
        return base;
      case 1:
      case 2:
        return { ...base, families: some(this.#random, this.#families, 2) };
      case 3:
        return takesClock
          ? base
          : { ...base, familyVersions: some(this.#random, this.#families, 2) };
      case 4:
      case 5:
        return { ...base, columns: some(this.#random, this.#columns, 2) };
      default:
        return { ...base, versions: some(this.#random, this.#columns, 2) };
    }
  }

  #value(): string {
    if (this.#isNumeric) return pick(this.#random, NUMBERS);
    const values = ['', '\0\0\0\0\0\0\0\x05', 'x', 'y', '\xff'];
    return this.#random.chance(0.3) ? pick(this.#random, values) : `v${++this.#values}`;
  }

  /** [min, max) around the times in use. */
  #range(): Range {
    const bound = (): number =>
      Math.max(0, pick(this.#random, [...this.#times, NOW]) + this.#random.int(3) - 1);
    const a = bound();
    const b = bound();
    return this.#random.chance(0.3) ? [0, Math.max(a, b)] : [Math.min(a, b), Math.max(a, b)];
  }

  // ---- Reads -----------------------------------------------------------------------------------------------------------

  /** Everything that is there, everything that may be seen, and a few questions. */
  #reads(): Read[] {
    return [
      { op: 'scan', raw: 1, versions: 100 },
      { op: 'scan', versions: 100 },
      ...this.#list(READS_A_STATE, () => this.#read()),
    ];
  }

  #read(): Read {
    const chance = this.#random.int(100);
    const row = pick(this.#random, this.#rows);
    if (chance < 40) return this.#get(row);
    if (chance < 43) return { op: 'exists', row, ...this.#getOptions() };
    if (chance < 48) return { op: 'getMany', rows: this.#rows, ...this.#getOptions() };
    return this.#scan();
  }

  #get(row: string): GetCommand {
    return { op: 'get', row, ...this.#getOptions() };
  }

  #getOptions(): ReadCommand {
    const options = this.#options(true);
    return this.#random.chance(0.4) ? { ...options, ...this.#filtered(options) } : options;
  }

  #scan(): ScanCommand {
    const random = this.#random;
    const isRaw = random.chance(0.15);
    const isReversed = random.chance(0.25);
    const hasLimit = random.chance(0.2);
    // HBase's client counts rows that come in parts wrongly, unless the server counts them all in one call.
    const hasBatch = random.chance(0.15) && !(hasLimit && this.#isSplit);
    const start = random.chance(0.3) ? pick(this.#random, ROWS) : undefined;
    const stop = random.chance(0.3) ? pick(this.#random, ROWS) : undefined;
    const scan: ScanCommand = {
      op: 'scan',
      ...(start === undefined ? {} : { start, startInclusive: random.chance(0.7) }),
      ...(stop === undefined ? {} : { stop, stopInclusive: random.chance(0.4) }),
      ...(isReversed ? { reversed: 1 } : {}),
      ...(isRaw ? { raw: 1 } : {}),
      ...(hasLimit ? { limit: 1 + random.int(3) } : {}),
      ...(hasBatch ? { batch: 1 + random.int(4) } : {}),
      ...(random.chance(0.15) && !(hasLimit && hasBatch) ? { caching: 1 + random.int(2) } : {}),
      ...(random.chance(0.08) && !hasLimit ? { maxResultSizeBytes: 1 + random.int(200) } : {}),
      ...(random.chance(0.04) ? { uncommitted: 1 } : {}),
      ...this.#options(!isRaw || random.chance(0.03), !isRaw),
    };
    if (leavesEmptyColumn(scan, this.#hasEmptyQualifier)) Object.assign(scan, { versions: 100 });
    // A filter that leaves the empty column, where family markers are, makes HBase look for the next one for ever.
    const hasEmpty = this.#hasEmptyQualifier || this.#deletesFamilies;
    // Columns are refused in raw scans: one mistake at a time.
    const hasOdd = isReversed || hasEmpty || scan.columns !== undefined;
    const isFiltered = random.chance(0.4) && !(isRaw && hasOdd);
    return isFiltered ? { ...scan, ...this.#filtered(scan) } : scan;
  }

  #options(mayNameColumns: boolean, hasRanges = true): ReadCommand {
    const random = this.#random;
    const columns = mayNameColumns && random.chance(0.3);
    return {
      ...(columns ? { columns: some(this.#random, this.#columns, 3) } : {}),
      ...(random.chance(0.12) ? { families: some(this.#random, this.#families, 2) } : {}),
      ...(random.chance(0.7) ? { versions: pick(this.#random, [1, 2, 3, 10]) } : {}),
      ...(hasRanges && random.chance(0.3) ? { timeRange: this.#range() } : {}),
      ...(hasRanges && random.chance(0.08)
        ? { familyTimeRanges: [[pick(this.#random, this.#families), this.#range()] as const] }
        : {}),
      ...(random.chance(0.1) ? { storeLimit: 1 + random.int(3) } : {}),
      ...(random.chance(0.1) ? { storeOffset: random.int(3) } : {}),
    };
  }
}
