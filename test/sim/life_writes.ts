/** How a life writes: each request with what it asks for, what it was answered, and what could be said about that at once. */
import type { Mutation, OperationOutcome, Result } from '../../src/model/index.ts';
import { cellsText, fromAnswer } from './cells.ts';
import { show } from './checker.ts';
import { SimFailure, type GroupRead, type Intent } from './history.ts';
import { resultText } from './life_reads.ts';
import { ShelvingLife } from './life_shelf.ts';
import { nonceOf, type Write } from './operations.ts';

/** Errors after which nobody knows whether the commit exists. */
const REFUSALS: ReadonlySet<string> = new Set([
  'TableNotFoundException',
  'TableNotEnabledException',
  'NoSuchColumnFamilyException',
  'DoNotRetryIOException',
  'IOException',
  'WrongRegionException',
  'RegionTooBusyException',
]);

export class WritingLife extends ShelvingLife {
  /** Issues one write and records its answer. */
  async write(table: string, write: Write): Promise<void> {
    const { journal } = this.parts;
    const step = journal.step;
    const api = this.connection.table(table);
    const intent = this.intend(step, table, write.kind, mutationsOf(write), {
      condition: write.kind === 'check' ? write.condition : null,
      batchMs: null,
      write,
    });
    journal.note(() => `${step} ${table} ${write.kind} ${show(write)}`);
    try {
      switch (write.kind) {
        case 'put':
        case 'delete': {
          const { mutation } = write;
          const tso =
            'put' in mutation
              ? await api.put(mutation.put, mutation.values, mutation.options)
              : 'delete' in mutation
                ? await api.delete(mutation.delete, mutation.spec)
                : 0n;
          return this.done(intent, tso, null);
        }
        case 'increment':
        case 'append': {
          const { mutation } = write;
          const { tso, result } =
            'increment' in mutation
              ? await api.increment(mutation.increment, mutation.amounts, mutation.options)
              : 'append' in mutation
                ? await api.append(mutation.append, mutation.values, mutation.options)
                : { tso: 0n, result: null };
          return this.done(intent, tso, result);
        }
        case 'mutateRow': {
          const { tso, result } = await api.mutateRow(write.row, write.mutations);
          return this.done(intent, tso, result);
        }
        case 'mutateRows':
          return this.done(intent, await api.mutateRows(write.mutations), null);
        case 'check': {
          const [only] = write.mutations;
          const action = write.mutations.length === 1 ? only! : write.mutations;
          const { processed, tso, result } = await api.checkAndMutate(
            write.row,
            write.condition,
            action,
          );
          if (processed !== (tso !== null))
            throw new Error('processed without a TSO, or not with one');
          return this.done(intent, tso, result);
        }
      }
    } catch (error) {
      this.failed(intent, error);
    }
  }

  intend(
    step: number,
    table: string,
    kind: string,
    mutations: readonly Mutation[],
    rest: Pick<Intent, 'condition' | 'batchMs' | 'write'>,
    group: readonly GroupRead[] | null = null,
  ): Intent {
    const nonce = kind === 'mutateRows' ? undefined : nonceOf(mutations);
    const intent: Intent = {
      step,
      kind,
      table,
      mutations,
      ...rest,
      group,
      nonce: nonce === undefined ? null : nonceKey(nonce),
      called: this.instant(table),
      state: 'pending',
      answered: null,
      tso: null,
      answer: 'null',
      error: null,
    };
    this.intents.push(intent);
    return intent;
  }

  done(intent: Intent, tso: bigint | null, result: Result | null): void {
    if (this.isOver) return;
    intent.state = 'done';
    intent.tso = tso;
    intent.answer = result === null ? 'null' : cellsText(result.cells.map(fromAnswer));
    intent.answered = this.answered(intent.table);
    if (tso !== null) this.tell(tso, true);
    this.parts.journal.answer(() => `${intent.step} = ${tso} ${intent.answer}`);
  }

  failed(intent: Intent, error: unknown): void {
    if (this.isOver) return;
    if (!(error instanceof Error)) throw new SimFailure(intent.step, `threw ${String(error)}`);
    intent.error = error;
    intent.answered = this.answered(intent.table);
    this.parts.journal.answer(() => `${intent.step} ! ${error.name} ${error.message}`);
    if (!REFUSALS.has(error.name)) {
      intent.state = 'unknown';
      // A repeat is answered by a read as of the first, which may be too long ago for a short retention.
      const isForgotten = error.name === 'SnapshotTooOld' && intent.nonce !== null;
      if (!isForgotten || !this.isShortlived) this.checkFault(intent.step, error);
      return;
    }
    intent.state = 'refused';
    this.checkRefusalNow(intent, error);
  }

  /** Refusals that depend on more than data are judged at once; the rest is the checker's. */
  checkRefusalNow(intent: Intent, error: Error): void {
    const { model } = this.parts;
    if (error.name === 'RegionTooBusyException') {
      intent.state = 'unknown';
      this.parts.journal.count('refused for memory');
      // It may have been given free since.
      const [, used, limit] = /holds (\d+) of (\d+) bytes/.exec(error.message) ?? [];
      if (Number(used) > Number(limit) / 2) return;
      throw new SimFailure(intent.step, `busy without need: ${error.message}`);
    }
    if (intent.called.isChanging || this.turn(intent.table).turn !== intent.called.schemaTurn)
      return;
    const table = model.find(intent.table);
    const isRight = ((): boolean => {
      switch (error.name) {
        case 'TableNotFoundException':
          return table === null;
        case 'TableNotEnabledException':
          return table !== null && !table.isEnabled;
        case 'WrongRegionException': {
          const now = this.instant(intent.table).borders;
          if (now?.join() !== intent.called.borders?.join()) return true;
          const regions = intent.mutations.map((one) => regionOf(now ?? [], rowText(one)));
          return intent.kind === 'mutateRows' && new Set(regions).size > 1;
        }
        default:
          return table !== null && table.isEnabled;
      }
    })();
    if (!isRight) throw new SimFailure(intent.step, `${intent.kind} was refused: ${error.message}`);
    // Only what was refused for data or families is left to judge.
    const onData = ['DoNotRetryIOException', 'IOException', 'NoSuchColumnFamilyException'];
    if (!onData.includes(error.name)) {
      intent.state = 'unknown';
    }
  }
  async batch(table: string): Promise<void> {
    const { workload, journal, server } = this.parts;
    const step = journal.step;
    const operations = workload.batch();
    journal.note(() => `${step} ${table} batch ${show(operations)}`);
    const batchMs = server.reads.clock.followedMs();
    const records = operations.map((operation) => {
      if ('get' in operation) {
        const read = {
          kind: 'get' as const,
          row: String(operation.get),
          options: operation.options ?? {},
        };
        return this.recordRead(step, table, read, false);
      }
      const mutations = 'mutateRow' in operation ? operation.mutations : [operation];
      const kind = 'mutateRow' in operation ? 'mutateRow' : Object.keys(operation)[0]!;
      return this.intend(step, table, kind, mutations, { condition: null, batchMs, write: null });
    });
    let outcomes: OperationOutcome[];
    try {
      outcomes = await this.connection.table(table).batch(operations);
    } catch (error) {
      if (this.isOver) return;
      for (const record of records)
        if (record !== null && 'state' in record) this.failed(record, error);
      return;
    }
    if (this.isOver) return;
    for (const [i, outcome] of outcomes.entries()) {
      const record = records[i]!;
      if (record === null) continue;
      if ('state' in record) {
        if (outcome.ok) this.done(record, outcome.tso, outcome.result);
        else this.failed(record, outcome.error);
      } else if (outcome.ok) this.wasRead(record, [resultText(outcome.result)]);
      else this.readFailed(record, outcome.error);
    }
  }
}

export function mutationsOf(write: Write): readonly Mutation[] {
  return 'mutation' in write ? [write.mutation] : write.mutations;
}

/** Index of the region that holds the row, by the start keys. */
const regionOf = (borders: readonly string[], row: string): number =>
  borders.filter((key) => row >= key).length;

function rowText(mutation: Mutation): string {
  if ('put' in mutation) return String(mutation.put);
  return 'delete' in mutation ? String(mutation.delete) : '';
}

function nonceKey({ group, nonce }: { group: bigint; nonce: bigint }): string {
  const hex = (part: bigint): string => BigInt.asUintN(64, part).toString(16).padStart(16, '0');
  return hex(group) + hex(nonce);
}
