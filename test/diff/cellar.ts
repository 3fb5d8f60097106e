/** Cellar as a side of the comparison: the embedded engine on a file system in memory, which outlives the connection. */
import { setTimeout as sleep } from 'node:timers/promises';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import { StoreException, memoryEnv } from '../../src/io/index.ts';
import type { Env } from '../../src/io/index.ts';
import type {
  CheckAndMutate,
  CompareOperator,
  DeleteSpec,
  FilterInput,
  IncrementOptions,
  Mutation,
  Operation,
  OperationOutcome,
  ReadOptions,
  Result,
  ScanOptions,
  Table,
} from '../../src/model/index.ts';
import type {
  Answer,
  AnswerCell,
  AppendCommand,
  BatchCommand,
  CheckCommand,
  Column,
  Command,
  ErrorAnswer,
  Family,
  Filtered,
  IncrementCommand,
  MutationCommand,
  Range,
  ReadCommand,
  ScanCommand,
  Side,
  TableEvent,
} from './commands.ts';
import { specOf } from './filters.ts';
import { writeLoadFiles } from './load_files.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const text = (data: Uint8Array): string => Buffer.from(data).toString('latin1');
/** Operations that take the clock are kept in milliseconds of their own, as on the other side. */
const CLOCK_STEP_MS = 2;
const ROWS_A_FETCH = 1000;
const LOAD_FOLDER = '/load';

export class CellarSide implements Side {
  readonly #env: Env = memoryEnv();
  #connection: EmbeddedConnection | null = null;

  async #open(): Promise<EmbeddedConnection> {
    this.#connection ??= await open('/diff', {
      env: this.#env,
      autoCompact: false,
      blockingSync: false,
    });
    return this.#connection;
  }

  async close(): Promise<void> {
    await this.#connection?.close();
    this.#connection = null;
  }

  async create(
    table: string,
    families: readonly Family[],
    splits: readonly string[],
  ): Promise<void> {
    const { admin } = await this.#open();
    const spec = { name: table, families: [...families] };
    await admin.createTable(splits.length === 0 ? spec : { ...spec, splits: splits.map(bytes) });
  }

  async event(table: string, event: TableEvent): Promise<string> {
    const { admin } = await this.#open();
    switch (event.op) {
      case 'flush':
        await admin.flush(table);
        return table;
      case 'compact':
        await admin.compact(table);
        return table;
      case 'major':
        await admin.compact(table, { major: true });
        return table;
      case 'reopen':
        await this.close();
        return table;
      case 'alter':
        // HBase closes the regions, and flushes them as the table was.
        await admin.flush(table);
        for (const family of event.families) await admin.modifyFamily(table, family);
        return table;
      case 'load':
        // HBase flushes first.
        await admin.flush(table);
        await writeLoadFiles(this.#env, LOAD_FOLDER, event.cells);
        await admin.bulkLoad(table, LOAD_FOLDER, { move: true });
        return table;
      case 'clone': {
        await admin.flush(table);
        await admin.snapshot(`${table}_s`, table);
        await admin.cloneSnapshot(`${table}_s`, `${table}c`);
        await admin.deleteSnapshot(`${table}_s`);
        return `${table}c`;
      }
    }
  }

  async run(name: string, lanes: readonly (readonly object[])[]): Promise<Answer[][]> {
    const table = (await this.#open()).table(name);
    return Promise.all(
      lanes.map(async (lane) => {
        const answers: Answer[] = [];
        for (const command of lane) answers.push(await settled(table, command as Command));
        return answers;
      }),
    );
  }
}

function errorOf(error: unknown): ErrorAnswer {
  if (!(error instanceof StoreException)) throw error;
  return { error: error.code, message: error.message };
}

async function settled(table: Table, command: Command): Promise<Answer> {
  try {
    if ('latest' in command) await sleep(CLOCK_STEP_MS);
    return await run(table, command);
  } catch (error) {
    return errorOf(error);
  }
}

async function run(table: Table, command: Command): Promise<Answer> {
  switch (command.op) {
    case 'put':
    case 'delete': {
      const mutation = toMutation(command);
      if ('put' in mutation) await table.put(mutation.put, mutation.values, mutation.options);
      else if ('delete' in mutation) await table.delete(mutation.delete, mutation.spec);
      return 'ok';
    }
    case 'increment':
      return cellsOf(
        (await table.increment(bytes(command.row), amountsOf(command), changeOptions(command)))
          .result,
      );
    case 'append':
      return cellsOf(
        (await table.append(bytes(command.row), valuesOf(command), changeOptions(command))).result,
      );
    case 'mutateRow':
      return cellsOf(
        (await table.mutateRow(bytes(command.row), command.mutations.map(toMutation))).result,
      );
    case 'check': {
      const { checkAndMutate, condition, action } = toCheck(command);
      return checkedOf(await table.checkAndMutate(checkAndMutate, condition, action));
    }
    case 'checkAll': {
      const outcomes = await table.checkAndMutateAll(command.checks.map(toCheck));
      return { outcomes: outcomes.map((one) => (one.ok ? checkedOf(one) : errorOf(one.error))) };
    }
    case 'batch': {
      const outcomes = await table.batch(command.operations.map(toOperation));
      return { outcomes: outcomes.map(outcomeOf) };
    }
    case 'mutateRows':
      await table.mutateRows(command.mutations.map(toMutation));
      return 'ok';
    case 'exists':
      return table.exists(bytes(command.row), readOptions(command));
    case 'getMany': {
      const results = await table.getMany(command.rows.map(bytes), readOptions(command));
      return { outcomes: results.map(cellsOf) };
    }
    case 'get':
      return cellsOf(await table.get(bytes(command.row), readOptions(command)));
    case 'scan':
      return scan(table, command);
  }
}

async function scan(table: Table, command: ScanCommand): Promise<Answer> {
  const results: (readonly AnswerCell[])[] = [];
  await using scanner = table.scan(scanOptions(command));
  for (;;) {
    const batch = await scanner.nextBatch(command.caching ?? ROWS_A_FETCH);
    if (batch.length === 0) return results;
    for (const result of batch) results.push(cellsOf(result) ?? []);
  }
}

function cellsOf(result: Result | null): AnswerCell[] | null {
  if (result === null) return null;
  return result.cells.map((cell) => [
    text(cell.row),
    cell.family,
    text(cell.qualifier),
    Number(cell.ts),
    cell.type,
    text(cell.value),
  ]);
}

function outcomeOf(outcome: OperationOutcome): Answer {
  if (!outcome.ok) return errorOf(outcome.error);
  if (outcome.processed === undefined) return cellsOf(outcome.result);
  return checkedOf({ processed: outcome.processed, result: outcome.result });
}

const checkedOf = (answer: { processed: boolean; result: Result | null }): Answer => ({
  processed: answer.processed,
  result: cellsOf(answer.result),
});

const rangeOf = ([min, max]: Range): { min: number; max: number } => ({ min, max });
const columnOf = ([family, qualifier]: Column): readonly [string, Uint8Array] => [
  family,
  bytes(qualifier),
];

function toOperation(command: BatchCommand['operations'][number]): Operation {
  switch (command.op) {
    case 'get':
      return { get: bytes(command.row), options: readOptions(command) };
    case 'mutateRow':
      return { mutateRow: bytes(command.row), mutations: command.mutations.map(toMutation) };
    case 'check':
      return toCheck(command);
    default:
      return toMutation(command);
  }
}

function toCheck({ row, condition, mutations }: CheckCommand): CheckAndMutate {
  const base = { checkAndMutate: bytes(row), action: mutations.map(toMutation) };
  const { timeRange } = condition;
  const range = timeRange === undefined ? {} : { timeRange: rangeOf(timeRange) };
  if (!('column' in condition)) {
    const filter = filterOf(condition) ?? '';
    return { ...base, condition: { filter, ...range } };
  }
  const { column, operator, value } = condition;
  return {
    ...base,
    condition: {
      column: columnOf(column),
      operator: operator as CompareOperator,
      value: value === null ? null : bytes(value),
      ...range,
    },
  };
}

/** The filter of a command as a side gets it: JSON, or a text in `filterText`. */
function filterOf(command: Filtered & { readonly filterText?: string }): FilterInput | undefined {
  if (command.filterText !== undefined) return bytes(command.filterText);
  return command.filter === undefined ? undefined : specOf(command.filter);
}

function toMutation(command: MutationCommand): Mutation {
  const row = bytes(command.row);
  switch (command.op) {
    case 'put':
      return {
        put: row,
        values: command.cells.map(({ f, q, ts, v }) => ({
          family: f,
          qualifier: bytes(q),
          value: bytes(v),
          ...(ts === undefined ? {} : { ts }),
        })),
        ...(command.ttl === undefined ? {} : { options: { ttl: command.ttl } }),
      };
    case 'delete': {
      const { ts, columns, versions, families, familyVersions } = command;
      const spec: DeleteSpec = {
        ...(ts === undefined ? {} : { ts }),
        ...(columns === undefined ? {} : { columns: columns.map(columnOf) }),
        ...(versions === undefined ? {} : { versions: versions.map(columnOf) }),
        ...(families === undefined ? {} : { families }),
        ...(familyVersions === undefined ? {} : { familyVersions }),
      };
      return { delete: row, spec };
    }
    case 'increment':
      return { increment: row, amounts: amountsOf(command), options: changeOptions(command) };
    case 'append':
      return { append: row, values: valuesOf(command), options: changeOptions(command) };
  }
}

const amountsOf = (command: IncrementCommand): Record<string, bigint> =>
  Object.fromEntries(command.amounts.map(([f, q, amount]) => [`${f}:${q}`, BigInt(amount)]));

const valuesOf = (command: AppendCommand): Record<string, Uint8Array> =>
  Object.fromEntries(command.values.map(([f, q, value]) => [`${f}:${q}`, bytes(value)]));

function changeOptions(command: IncrementCommand | AppendCommand): IncrementOptions {
  const { timeRange, ttl, quiet } = command;
  return {
    returnResults: quiet === undefined,
    ...(ttl === undefined ? {} : { ttl }),
    ...(timeRange === undefined ? {} : { timeRange: rangeOf(timeRange) }),
  };
}

function readOptions(command: ReadCommand): ReadOptions {
  const { columns, families, versions, timeRange, familyTimeRanges } = command;
  const { storeLimit, storeOffset } = command;
  const filter = filterOf(command);
  return {
    ...(filter === undefined ? {} : { filter }),
    ...(columns === undefined ? {} : { columns: columns.map(columnOf) }),
    ...(families === undefined ? {} : { families }),
    ...(versions === undefined ? {} : { versions }),
    ...(timeRange === undefined ? {} : { timeRange: rangeOf(timeRange) }),
    ...(familyTimeRanges === undefined
      ? {}
      : {
          familyTimeRanges: Object.fromEntries(
            familyTimeRanges.map(([family, range]) => [family, rangeOf(range)]),
          ),
        }),
    ...(storeLimit === undefined ? {} : { storeLimit }),
    ...(storeOffset === undefined ? {} : { storeOffset }),
  };
}

function scanOptions(command: ScanCommand): ScanOptions {
  const { limit, batch, maxResultSizeBytes } = command;
  return {
    ...readOptions(command),
    start: bytes(command.start ?? ''),
    startInclusive: command.startInclusive ?? true,
    stop: bytes(command.stop ?? ''),
    stopInclusive: command.stopInclusive ?? false,
    reversed: command.reversed === 1,
    raw: command.raw === 1,
    isolation: command.uncommitted === 1 ? 'READ_UNCOMMITTED' : 'READ_COMMITTED',
    ...(limit === undefined ? {} : { limit }),
    ...(batch === undefined ? {} : { batch }),
    ...(maxResultSizeBytes === undefined ? {} : { maxResultSizeBytes }),
  };
}
