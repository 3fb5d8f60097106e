/**
 * Judges the life of a store when it is over: replays its commits in TSO order against the model, then looks at every answer
 * at its moment. Strict serializability: each commit does exactly what its operation does on the state below its TSO, and
 * each read shows one state that was current between its call and its answer.
 */
import type { Mutation } from '../../src/model/index.ts';
import { cellsText, cellText, type ModelCell } from './cells.ts';
import { DataError, effectOf, holds, rowOf, type CommitPlace, type Effect } from './effects.ts';
import {
  SimFailure,
  type GroupRead,
  type Instant,
  type Intent,
  type ReadRecord,
} from './history.ts';
import type { FileEvent, FlushClaim } from './file_watch.ts';
import type { Ledger } from './ledger.ts';
import type { Model, ModelTable, Moment, SchemaVersion } from './model.ts';
import type { Commit, Entry } from './observe.ts';
import { durabilityOf } from './operations.ts';

export const physicalMs = (tso: bigint): number => Number(tso >> 18n);

const DURABILITIES: readonly string[] = [
  'USE_DEFAULT',
  'SKIP_WAL',
  'ASYNC_WAL',
  'SYNC_WAL',
  'FSYNC_WAL',
];

export interface LifeHistory {
  readonly entries: readonly Entry[];
  readonly intents: readonly Intent[];
  readonly reads: readonly ReadRecord[];
  /** Changes of files, those first that were applied, in their order. */
  readonly events: readonly FileEvent[];
  readonly claims: readonly FlushClaim[];
  /** What USE_DEFAULT means: its number in the log. */
  readonly defaultDurability: string;
}

export class Checker {
  readonly #model: Model;
  readonly #ledger: Ledger;
  /** Commits that exist, by nonce. */
  readonly nonces = new Map<string, bigint>();
  /** Nonces of commits that skipped the log: a flush may have kept them over a crash, or not. */
  readonly uncertainNonces = new Set<string>();
  /** Milliseconds in which a row got a marker without timestamp. */
  readonly #markers = new Map<string, number>();
  /** Answers that could not be judged, since a change of schema overlapped them. */
  leniencies = 0;

  constructor(model: Model, ledger: Ledger) {
    this.#model = model;
    this.#ledger = ledger;
  }

  check(history: LifeHistory): void {
    // An opening starts in a new millisecond, and what a crash has lost hides nothing.
    this.#markers.clear();
    this.#replay(history);
    for (const intent of history.intents) this.#checkIntent(intent, history);
    for (const read of history.reads) this.#checkRead(read, history);
  }

  // ---- Commits -----------------------------------------------------------------------------------------------------

  #replay(history: LifeHistory): void {
    const { entries, intents, defaultDurability } = history;
    const files = fileSteps(history);
    const done = new Map<bigint, Intent[]>();
    for (const intent of intents) {
      if (intent.state !== 'done' || intent.tso === null) continue;
      const known = done.get(intent.tso);
      if (known === undefined) done.set(intent.tso, [intent]);
      else known.push(intent);
    }
    const open = intents.filter(({ state }) => state === 'pending' || state === 'unknown');
    for (const [i, entry] of entries.entries()) {
      this.#playFiles(files, i);
      if (entry.kind !== 'commit') continue;
      const claimants = done.get(entry.tso) ?? [];
      const { intent, effect, place } = this.#claim(entry, claimants, open);
      this.#checkDurability(entry, intent, place, defaultDurability);
      this.#checkMarkers(entry, intent, effect, place);
      this.#checkNonce(entry, intent);
      for (const cell of entry.cells) {
        const family = place.version.families.find(({ rules }) => rules.name === cell.family);
        place.table.add(family!.id, cell);
      }
      done.delete(entry.tso);
      for (const other of claimants) if (other !== intent) this.#checkRepeat(other, entry.tso);
    }
    this.#playFiles(files, Infinity);
    for (const [tso, claimants] of done) {
      for (const intent of claimants) this.#checkRepeat(intent, tso);
    }
  }

  /** Plays the changes of files that were applied before the i-th commit. */
  #playFiles(files: FileStep[], index: number): void {
    for (;;) {
      const [next] = files;
      if (next === undefined || next.entryCount > index) return;
      files.shift();
      if ('edits' in next) this.#ledger.play(next, next.turn);
      else this.#ledger.claim(next);
    }
  }

  /** The operation that made a commit. */
  #claim(
    entry: Commit,
    claimants: readonly Intent[],
    open: Intent[],
  ): { intent: Intent; effect: Effect; place: CommitPlace } {
    const table = this.#model.tables.get(entry.tableId);
    if (table === undefined) throw new SimFailure(0, `commit ${entry.tso} to an unknown table`);
    const version = table.versionAt(entry.tso);
    const wanted = cellsText(sorted(entry.cells));
    const seen = new Set<string>();
    const candidates = claimants.length > 0 ? claimants : open;
    for (const intent of candidates) {
      if (intent.table !== table.name || intent.nonce !== entry.nonce) continue;
      for (const place of placesOf(table, version, entry, intent)) {
        const effect = tryEffect(place, intent);
        if (effect === null) continue;
        const got = cellsText(sorted(effect.cells));
        seen.add(got);
        if (got !== wanted) continue;
        if (intent.state === 'done' && intent.answer !== effect.answer) {
          if (claimants.length > 1) continue;
          throw new SimFailure(
            intent.step,
            `${intent.kind} answered ${intent.answer}, its commit ${entry.tso} makes ${effect.answer}`,
          );
        }
        if (claimants.length === 0) {
          open.splice(open.indexOf(intent), 1);
          intent.tso = entry.tso;
        }
        return { intent, effect, place };
      }
    }
    const step = claimants[0]?.step ?? 0;
    const whose = claimants.length > 0 ? claimants[0]!.kind : 'nobody waits for it';
    throw new SimFailure(
      step,
      `commit ${entry.tso} of ${table.name} (${whose}) wrote\n  ${wanted}\nand should have written\n  ${[...seen].join('\n  ') || 'nothing'}`,
    );
  }

  #checkDurability(entry: Commit, intent: Intent, place: CommitPlace, byDefault: string): void {
    let strongest = 0;
    for (const mutation of intent.mutations) {
      strongest = Math.max(
        strongest,
        DURABILITIES.indexOf(durabilityOf(mutation) ?? 'USE_DEFAULT'),
      );
    }
    if (strongest === 0) {
      for (const { family } of entry.cells) {
        const rules = place.version.families.find((known) => known.rules.name === family)!.rules;
        const words = [rules.durability, place.version.durability, byDefault];
        const word = words.find((one) => one !== 'USE_DEFAULT')!;
        strongest = Math.max(strongest, DURABILITIES.indexOf(word));
      }
    }
    if (strongest === entry.durability) return;
    throw new SimFailure(
      intent.step,
      `commit ${entry.tso} has durability ${entry.durability}, not ${strongest}`,
    );
  }

  /** A put without timestamp is never hidden by an older marker without timestamp, except within one batch. */
  #checkMarkers(entry: Commit, intent: Intent, effect: Effect, place: CommitPlace): void {
    const ms = physicalMs(entry.tso);
    const keyOf = (row: string): string => `${place.table.id}/${row}`;
    if (intent.batchMs === null) {
      for (const row of effect.latestPuts) {
        if (this.#markers.get(keyOf(row)) !== ms) continue;
        throw new SimFailure(
          intent.step,
          `put ${entry.tso} on ${row} in the millisecond of a marker`,
        );
      }
    }
    for (const row of effect.latestMarkers) this.#markers.set(keyOf(row), ms);
  }

  #checkNonce(entry: Commit, intent: Intent): void {
    if (entry.nonce === null) return;
    const before = this.nonces.get(entry.nonce);
    if (before !== undefined) {
      throw new SimFailure(
        intent.step,
        `nonce ${entry.nonce} committed twice: ${before}, ${entry.tso}`,
      );
    }
    this.nonces.set(entry.nonce, entry.tso);
  }

  /** An answer for a commit of an earlier request with the same nonce. */
  #checkRepeat(intent: Intent, tso: bigint): void {
    const known = intent.nonce === null ? undefined : this.nonces.get(intent.nonce);
    if (known === undefined && intent.nonce !== null && this.uncertainNonces.has(intent.nonce)) {
      this.leniencies++;
      return;
    }
    if (known !== tso) {
      throw new SimFailure(intent.step, `${intent.kind} answered ${tso}, which nobody committed`);
    }
    const table = this.#model.find(intent.table);
    if (isOverlapped(intent) || table === null || table.current.tso > tso) {
      this.leniencies++;
      return;
    }
    const columns = returnedColumns(intent.mutations);
    const row = rowOf(intent.mutations[0]!);
    const moment = { tso, nowMs: physicalMs(tso) };
    const cells = columns.length === 0 ? [] : table.read(table.current, row, { columns }, moment);
    if (cellsText(cells) === intent.answer) return;
    throw new SimFailure(
      intent.step,
      `repeated ${intent.kind} of ${tso} answered ${intent.answer}, not ${cellsText(cells)}`,
    );
  }

  // ---- Answers without a commit ------------------------------------------------------------------------------------

  #checkIntent(intent: Intent, { entries }: LifeHistory): void {
    const { state, error } = intent;
    if (state === 'done' && intent.tso !== null) return this.#checkOrder(intent);
    if (state === 'done') return this.#checkFalse(intent, entries);
    if (state === 'refused' && error !== null) this.#checkRefusal(intent, error, entries);
  }

  #checkOrder({ step, tso, called, answered, nonce, kind }: Intent): void {
    if (nonce === null && tso! <= called.told) {
      throw new SimFailure(step, `${kind} got ${tso}, not above ${called.told}, told before`);
    }
    if (answered!.readPoint < tso!) {
      throw new SimFailure(
        step,
        `${kind} ${tso} was answered at read point ${answered!.readPoint}`,
      );
    }
  }

  #checkFalse(intent: Intent, entries: readonly Entry[]): void {
    if (isOverlapped(intent)) {
      this.leniencies++;
      return;
    }
    const row = rowOf(intent.mutations[0]!);
    const isFalse = (place: CommitPlace): boolean => {
      try {
        return !holds(place, row, intent.condition!);
      } catch (error) {
        if (error instanceof DataError) return false;
        throw error;
      }
    };
    if (this.#sometimes(intent, entries, isFalse)) return;
    throw new SimFailure(intent.step, `${intent.kind} on ${row} answered false, and was never`);
  }

  #checkRefusal(intent: Intent, error: Error, entries: readonly Entry[]): void {
    const { name } = error;
    const isSo = (place: CommitPlace): boolean => {
      try {
        const row = rowOf(intent.mutations[0]!);
        if (intent.condition !== null && !holds(place, row, intent.condition)) return false;
        effectOf(place, intent.mutations, intent.condition);
        return false;
      } catch (expected) {
        if (!(expected instanceof DataError)) throw expected;
        return expected.code === name;
      }
    };
    if (isOverlapped(intent)) {
      this.leniencies++;
      return;
    }
    if (this.#sometimes(intent, entries, isSo)) return;
    throw new SimFailure(
      intent.step,
      `${intent.kind} was refused without reason: ${error.message}`,
    );
  }

  /** Whether something held at a state that the operation may have seen. */
  #sometimes(
    intent: Intent,
    entries: readonly Entry[],
    isSo: (place: CommitPlace) => boolean,
  ): boolean {
    const answered = intent.answered!;
    const table = this.#model.at(intent.table, intent.called.applied);
    if (table === null) return isOverlapped(intent);
    if (intent.error?.name !== 'NoSuchColumnFamilyException')
      this.#checkWaited(intent, entries, table);
    for (const tso of momentsBetween(entries, intent.called.applied, answered.readPoint)) {
      for (const nowMs of times(physicalMs(tso), intent)) {
        const version = table.versions.findLast((one) => one.tso <= tso);
        if (version === undefined) continue;
        for (const turn of turns(intent.called.turn, answered.turn)) {
          if (isSo({ table, version, tso: tso + 1n, stampMs: nowMs, nowMs, turn })) return true;
        }
      }
    }
    return false;
  }

  /** An answer that wrote nothing waits, too, until what the row held at the call may be seen by everybody. */
  #checkWaited(intent: Intent, entries: readonly Entry[], table: ModelTable): void {
    const row = rowOf(intent.mutations[0]!);
    const held = entries.findLast(
      (entry) =>
        entry.kind === 'commit' &&
        entry.tso <= intent.called.applied &&
        entry.tableId === table.id &&
        entry.cells.some((cell) => cell.row === row),
    );
    const { readPoint } = intent.answered!;
    if (held === undefined || held.tso <= readPoint) return;
    throw new SimFailure(
      intent.step,
      `${intent.kind} answered at read point ${readPoint}, before ${held.tso}, which it read`,
    );
  }

  // ---- Reads -------------------------------------------------------------------------------------------------------

  #checkRead(record: ReadRecord, { entries }: LifeHistory): void {
    const { step, answered, tso, called, read } = record;
    if (answered === null || record.error !== null) return;
    if (read.options.asOf !== undefined && tso !== null) return this.#checkAsOf(record, tso);
    const table = this.#model.tables.get(record.tableId);
    const version = table?.versions.findLast((one) => one.tso === record.schemaTso);
    const isUncommitted = read.options.isolation === 'READ_UNCOMMITTED';
    // A scan that does not keep to a read point shows no moment.
    const hasMoment = !(isUncommitted && (read.kind === 'scan' || read.kind === 'count'));
    if (table === undefined || version === undefined || isOverlapped(record) || !hasMoment) {
      this.leniencies++;
      return;
    }
    if (tso !== null && tso < called.acked && !isUncommitted) {
      throw new SimFailure(
        step,
        `a read at ${tso} does not show ${called.acked}, acknowledged before`,
      );
    }
    const last = isUncommitted ? answered.applied : answered.readPoint;
    // It may have waited for a block, and seen a part of what was committed meanwhile.
    const isTorn = isUncommitted && answered.applied !== called.applied;
    if (isTorn) {
      this.leniencies++;
      return;
    }
    const moments: Moment[] =
      tso !== null
        ? [{ tso, nowMs: record.nowMs! }]
        : momentsBetween(entries, called.readPoint, last).flatMap((one) =>
            times(physicalMs(one), record).map((nowMs) => ({ tso: one, nowMs })),
          );
    // What is not committed is read as the files are now.
    const views = isUncommitted
      ? turns(called.turn, answered.turn).flatMap((turn) =>
          moments.map((one) => ({ ...one, turn })),
        )
      : moments;
    const where =
      tso === null ? `between ${called.readPoint} and ${answered.readPoint}` : `at ${tso}`;
    this.#compare(record, table, version, views, where);
  }

  /** A read as of a moment shows the table that had the name then, as it was then, whatever happened since. */
  #checkAsOf(record: ReadRecord, tso: bigint): void {
    const table = this.#model.at(record.table, tso);
    const version = table?.versions.findLast((one) => one.tso <= tso);
    if (table === null || version === undefined) {
      throw new SimFailure(record.step, `${record.table} was read as of ${tso}, when it was not`);
    }
    this.#compare(record, table, version, [{ tso, nowMs: physicalMs(tso) }], `as of ${tso}`);
  }

  #compare(
    record: ReadRecord,
    table: ModelTable,
    version: SchemaVersion,
    moments: readonly Moment[],
    where: string,
  ): void {
    const { step, read, isCut, rows } = record;
    let expected: readonly string[] = [];
    for (const moment of moments) {
      expected = expectedRows(table, version, record, moment);
      const wanted = isCut ? expected.slice(0, rows.length) : expected;
      if (wanted.join('\n') === rows.join('\n')) return;
    }
    throw new SimFailure(
      step,
      `${read.kind} of ${record.table} ${where}${isCut ? ' (cut)' : ''} ${show(read)} gave\n  ${rows.join('\n  ')}\nnot\n  ${expected.join('\n  ')}\n${explain(table, version, rows, expected)}`,
    );
  }
}

type FileStep = FileEvent | FlushClaim;

/** Changes of files and claims about them, in the order in which they came to be. */
function fileSteps({ events, claims }: LifeHistory): FileStep[] {
  const applied = events.filter(({ turn }) => turn > 0);
  return [...applied, ...claims].sort(
    (a, b) => a.turn - b.turn || Number('tableId' in a) - Number('tableId' in b),
  );
}

/** The stored cells of the first column in which two answers differ, and its family's rules. */
export function explain(
  table: ModelTable,
  version: SchemaVersion,
  is: readonly string[],
  should: readonly string[],
): string {
  const left = is.join(' ').split(' ');
  const right = should.join(' ').split(' ');
  const differing =
    left.find((cell) => !right.includes(cell)) ?? right.find((cell) => !left.includes(cell)) ?? '';
  const [, row, name, qualifier] = /^(.+?)\/(\w+):(.*?)\//.exec(differing) ?? [];
  const family = version.families.find(({ rules }) => rules.name === name);
  if (row === undefined || family === undefined) return '';
  const cells = [...table.allOf(family.id)].filter((cell) => cell.row === row);
  const near = cells.filter((cell) => cell.type !== 4 || cell.qualifier === qualifier);
  const stored = sorted(near).map(
    (cell) =>
      `${cellText(cell)}${cell.isInFile === true ? ' (file)' : ''}${cell.dropTso === undefined ? '' : ` (dropped ${cell.dropTso})`}`,
  );
  return `stored: ${stored.join(' ')}\nrules: ${show(family.rules)}`;
}

/** As text, with bigints. */
export const show = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part));

/** What a read answers at a moment, one text a row. */
export function expectedRows(
  table: ModelTable,
  version: SchemaVersion,
  { read }: Pick<ReadRecord, 'read'>,
  moment: Moment,
): string[] {
  switch (read.kind) {
    case 'get':
    case 'getSync':
      return [cellsText(table.read(version, read.row, read.options, moment))];
    case 'exists':
      return [String(table.read(version, read.row, read.options, moment).length > 0)];
    case 'getMany':
      return read.rows.map((row) => cellsText(table.read(version, row, read.options, moment)));
    case 'count':
      return [String(table.scan(version, read.options, moment).length)];
    case 'scan':
      return table.scan(version, read.options, moment).flatMap((cells) => {
        const batch = read.options.batch ?? Infinity;
        const parts: string[] = [];
        for (let at = 0; at < cells.length; at += batch) {
          parts.push(cellsText(cells.slice(at, at + batch)));
          if (batch === Infinity) break;
        }
        return parts;
      });
  }
}

const sorted = (cells: readonly ModelCell[]): ModelCell[] =>
  cells.toSorted((a, b) => (cellsText([a]) < cellsText([b]) ? -1 : 1));

/** The times at which TTL may have been judged. */
function times(atMs: number, record: { called: Instant; answered: Instant | null }): number[] {
  const { called, answered } = record;
  return [...new Set([atMs, called.nowMs, answered?.nowMs ?? atMs])];
}

/** States that the operation of a commit may have read. */
function placesOf(
  table: ModelTable,
  version: SchemaVersion,
  { tso, turn: last = 0 }: Commit,
  intent: Intent,
): CommitPlace[] {
  const stampMs = intent.batchMs ?? physicalMs(tso);
  return times(physicalMs(tso), intent).flatMap((nowMs) =>
    turns(intent.called.turn, last).map((turn) => ({ table, version, tso, stampMs, nowMs, turn })),
  );
}

/** From the last to the first: what was begun before a change of files may have seen them as they were. */
function turns(first: number, last: number): number[] {
  return Array.from({ length: Math.max(1, last - first + 1) }, (_, i) => last - i);
}

/** Null: the operation cannot commit there. */
function tryEffect(place: CommitPlace, intent: Intent): Effect | null {
  const { mutations, condition, group } = intent;
  try {
    if (group !== null) {
      const floors = groupFloors(place, group);
      return floors === null ? null : effectOf({ ...place, floors }, mutations);
    }
    if (condition !== null && !holds(place, rowOf(mutations[0]!), condition)) return null;
    return effectOf(place, mutations, condition);
  } catch (error) {
    if (error instanceof DataError) return null;
    throw error;
  }
}

/** The newest timestamps that a transaction has read, by row; null: its reads are not true just below its commit. */
function groupFloors(
  { table, version, tso, turn, nowMs }: CommitPlace,
  reads: readonly GroupRead[],
): Map<string, number> | null {
  const floors = new Map<string, number>();
  for (const { row, options, answer } of reads) {
    const cells = table.read(version, row, options, { tso: tso - 1n, turn, nowMs });
    if (cellsText(cells) !== answer) return null;
    for (const { ts } of cells) floors.set(row, Math.max(ts, floors.get(row) ?? 0));
  }
  return floors;
}

/** The state at `from` and after each commit up to `to`. */
function momentsBetween(entries: readonly Entry[], from: bigint, to: bigint): bigint[] {
  const within = entries.filter(({ tso }) => tso > from && tso <= to).map(({ tso }) => tso);
  return [from, ...within];
}

/** The table was changed between call and answer. */
export function isOverlapped(record: { called: Instant; answered: Instant | null }): boolean {
  const { called, answered } = record;
  return called.isChanging || (answered !== null && answered.schemaTurn !== called.schemaTurn);
}

function returnedColumns(mutations: readonly Mutation[]): string[] {
  return mutations.flatMap((mutation) => {
    if (!('increment' in mutation) && !('append' in mutation)) return [];
    if (mutation.options?.returnResults === false) return [];
    return Object.keys('increment' in mutation ? mutation.amounts : mutation.values);
  });
}
