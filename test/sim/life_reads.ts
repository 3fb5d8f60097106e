/** How a life reads, and what is recorded of it. */
import type { AsOf, ReadOptions, Result, ScanOptions } from '../../src/model/index.ts';
import { cellsText, fromAnswer } from './cells.ts';
import { physicalMs, show } from './checker.ts';
import { SimFailure, type ReadRecord } from './history.ts';
import { LifeCore } from './life_core.ts';
import type { Read } from './operations.ts';

/** Reads of a life: issued, recorded with the moment that they must show, and judged where the model is not needed. */
export class ReadingLife extends LifeCore {
  /** Some reads are as of a moment that was, or see what is not yet committed. */
  withMoment(read: Read): Read {
    const pick = this.parts.random.int(20);
    const asOf = this.#pastMoment(pick);
    if (asOf !== undefined) return { ...read, options: { ...read.options, asOf } };
    if (pick !== 5) return read;
    return { ...read, options: { ...read.options, isolation: 'READ_UNCOMMITTED' } };
  }

  #pastMoment(pick: number): AsOf | undefined {
    const { random, env, pins, moments } = this.parts;
    const { acked, told } = this.parts.told;
    const oneOf = <T>(list: readonly T[]): T | undefined =>
      list.length === 0 ? undefined : list[random.int(list.length)];
    switch (pick) {
      case 0:
        return oneOf(this.entries)?.tso;
      case 1:
        return random.chance(0.5) ? told : acked;
      case 2:
        return new Date(env.clock.nowMs() - random.int(8));
      case 3:
        return oneOf(random.chance(0.5) ? moments.slice(-12) : moments);
      case 4:
        return oneOf(pins.live(this.clockMax))?.tso;
      default:
        return undefined;
    }
  }

  /** Null when the table is not there to be read. `isNow`: the moment is that of this call. */
  recordRead(
    step: number,
    table: string,
    read: ReadRecord['read'],
    isNow: boolean,
  ): ReadRecord | null {
    const { server } = this.parts;
    const { asOf, isolation } = read.options;
    const known = server.catalog.find(table);
    if (asOf === undefined && known?.enabled !== true) return null;
    const schemas = server.manifest.get('table', known?.id ?? 0)?.schemas ?? [];
    const called = this.instant(table);
    let tso: bigint | null = isNow ? called.readPoint : null;
    let nowMs: number | null = isNow ? called.nowMs : null;
    if (isNow && isolation === 'READ_UNCOMMITTED') tso = called.applied;
    if (typeof asOf === 'bigint') tso = asOf;
    else if (asOf instanceof Date) tso = ((BigInt(asOf.getTime()) + 1n) << 18n) - 1n;
    if (asOf !== undefined) nowMs = physicalMs(tso!);
    const record: ReadRecord = {
      step,
      table,
      read,
      called,
      tableId: known?.id ?? 0,
      schemaTso: schemas.at(-1)?.tso ?? 0n,
      tso,
      nowMs,
      answered: null,
      rows: [],
      isCut: false,
      error: null,
    };
    this.reads.push(record);
    return record;
  }

  async read(table: string, read: Read): Promise<void> {
    const { journal } = this.parts;
    const { step } = journal;
    const isNow = !(read.kind === 'scan' && read.fetch === 0);
    journal.note(() => `${step} ${table} ${read.kind} ${show(read)}`);
    const record = this.recordRead(step, table, read, isNow);
    try {
      const rows = await this.#runRead(table, read, record);
      if (record !== null) this.wasRead(record, rows);
    } catch (error) {
      if (this.isOver) return;
      if (!(error instanceof Error) || error instanceof SimFailure) throw error;
      if (record !== null) this.readFailed(record, error);
      else journal.answer(() => `${step} ! ${error.name}`);
    }
  }

  async #runRead(table: string, read: Read, record: ReadRecord | null): Promise<string[]> {
    const api = this.connection.table(table);
    switch (read.kind) {
      case 'get':
        return [resultText(await api.get(read.row, read.options))];
      case 'getSync':
        return [resultText(api.getSync(read.row, read.options))];
      case 'exists':
        return [String(await api.exists(read.row, read.options))];
      case 'getMany':
        return (await api.getMany(read.rows, read.options)).map(resultText);
      case 'count':
        return [String(await api.count(read.options))];
      case 'scan':
        return this.#runScan(table, read, record);
    }
  }

  async #runScan(
    table: string,
    read: Extract<Read, { kind: 'scan' }>,
    record: ReadRecord | null,
  ): Promise<string[]> {
    const { env } = this.parts;
    const scanner = this.connection.table(table).scan(read.options);
    const rows: string[] = [];
    let fetches = 0;
    const step = record?.step ?? 0;
    const take = (result: Result): void => {
      checkPart(step, result, read.options);
      rows.push(resultText(result));
    };
    if (read.fetch === 0) {
      for await (const result of scanner) {
        take(result);
        if (++fetches >= read.fetches) break;
        if (read.pauseMs > 0 && fetches % 2 === 0) await env.timers.sleep(read.pauseMs);
      }
    } else {
      for (;;) {
        const results = await scanner.nextBatch(read.fetch);
        if (results.length === 0) break;
        if (results.length > read.fetch)
          throw new SimFailure(step, `${results.length} results a fetch`);
        for (const result of results) take(result);
        if (++fetches >= read.fetches) break;
        if (read.pauseMs > 0) await env.timers.sleep(read.pauseMs);
      }
      await scanner.close();
    }
    if (record !== null) record.isCut = fetches >= read.fetches;
    return rows;
  }

  /** The disk may have to be asked for this table. */
  hasFiles(table: string): boolean {
    const { catalog, past } = this.server;
    const dropped = past.dropped.map((one) => one.table).filter(({ name }) => name === table);
    const live = catalog.find(table);
    return [...dropped, ...(live === undefined ? [] : [live])].some(({ regions }) =>
      regions.some(({ stores, formerStores }) =>
        [...stores, ...formerStores].some(
          ({ files, history }) => files.length + history.length > 0,
        ),
      ),
    );
  }

  /** Whether a read of the past was refused for a reason that is given. */
  #isPastRefused({ table: name, read }: ReadRecord, tso: bigint, error: Error): boolean {
    const table = this.parts.model.at(name, tso);
    switch (error.name) {
      case 'TableNotFoundException':
        return table === null;
      case 'TableNotEnabledException':
        return this.parts.model.find(name)?.isEnabled === false;
      case 'NoSuchColumnFamilyException': {
        const version = table?.versions.findLast((one) => one.tso <= tso);
        const names = version?.families.map(({ rules }) => rules.name) ?? [];
        return familiesAsked(read.options).some((one) => !names.includes(one));
      }
      case 'SnapshotTooOld':
        return (
          !this.parts.pins.keeps(tso, this.clockMax) && this.isForgotten(table?.id ?? null, tso)
        );
      default:
        return false;
    }
  }

  /** Whether the engine may refuse this moment: by its retention, or below a floor that it has raised (the ledger judges those). */
  isForgotten(tableId: number | null, tso: bigint): boolean {
    const { manifest, settings, oracle } = this.server;
    const promised = BigInt(Math.max(0, oracle.physicalMs - settings.historyRetentionMs)) << 18n;
    if (tso < promised) return true;
    return ['history.floor', `history.floor/${tableId}`].some(
      (name) => tso < BigInt(manifest.get('setting', name)?.value ?? 0),
    );
  }

  /** History goes sooner than nonces do. */
  get isShortlived(): boolean {
    const { historyRetentionMs, historyBytesMax } = this.server.settings;
    return historyBytesMax !== null || historyRetentionMs < 30 * 60_000;
  }

  wasRead(record: ReadRecord, rows: readonly string[]): void {
    if (this.isOver) return;
    record.rows = rows;
    if (record.read.options.asOf !== undefined) this.parts.journal.count('reads as of');
    record.answered = this.answered(record.table);
    this.parts.journal.answer(() => `${record.step} = ${rows.join(' | ')}`);
  }

  readFailed(record: ReadRecord, error: Error): void {
    if (this.isOver) return;
    record.error = error;
    record.answered = this.answered(record.table);
    this.parts.journal.answer(() => `${record.step} ! ${error.name}`);
    const { called, answered, step, read } = record;
    if (called.isChanging || called.schemaTurn !== answered.schemaTurn) return;
    if (record.tso !== null && read.options.asOf !== undefined) {
      if (this.#isPastRefused(record, record.tso, error)) return;
    }
    switch (error.name) {
      case 'NoSuchColumnFamilyException': {
        const table = this.parts.model.find(record.table);
        const names = table?.current.families.map(({ rules }) => rules.name) ?? [];
        const asked = [...(read.options.families ?? []), ...(read.options.columns ?? [])];
        if (asked.some((one) => !names.includes(String(one).split(':')[0]!))) return;
        break;
      }
      case 'NotInMemoryException':
        if (this.hasFiles(record.table)) return;
        break;
      case 'SnapshotInFuture':
        if (this.isFaulty || (record.tso !== null && record.tso > called.told)) return;
        break;
      case 'SnapshotNotVisible':
        if (read.kind === 'getSync' && record.tso! > called.readPoint) return;
        if (this.isFaulty) return;
        break;
      default:
        if (this.isFaulty || this.isStopping) return;
    }
    throw new SimFailure(step, `${read.kind} failed: ${error.stack ?? error.message}`);
  }
}

/** The families that a read names. */
function familiesAsked({ columns = [], families = [] }: ReadOptions): string[] {
  return [...families, ...columns].map((one) => String(one).split(':')[0]!);
}

export const resultText = (result: Result | null): string =>
  result === null ? 'null' : cellsText(result.cells.map(fromAnswer));

function checkPart(step: number, result: Result, options: ScanOptions): void {
  if (result.size !== result.cells.length)
    throw new SimFailure(step, 'size is not the count of cells');
  const batch = options.batch ?? Infinity;
  if (result.size > batch)
    throw new SimFailure(step, `${result.size} cells in a batch of ${batch}`);
  if (result.partial && batch === Infinity)
    throw new SimFailure(step, 'a part of a row without batch');
}
