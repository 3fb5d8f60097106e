/** The shell's commands on data. */
import { toStringBinary } from '../../cell/index.ts';
import { IllegalArgumentException, splitColumn } from '../../model/index.ts';
import type { Column, DeleteSpec, MutationOptions } from '../../model/index.ts';
import { printResult } from '../data_commands.ts';
import { cellJson, cellText, columnText, twoColumns } from '../output.ts';
import { isHash, textOf, type ShellValue } from './literals.ts';
import { columnOf, columnsOf, getOptions, scanOptions } from './read_arguments.ts';
import {
  bytesArgument,
  integerArgument,
  requireArgumentCount,
  textArgument,
  type ShellArguments,
  type ShellCommand,
} from './session.ts';

const DATA = 'data';
const SCAN_BATCH = 500;

const put: ShellCommand = {
  name: 'put',
  group: DATA,
  usage:
    "put 't', 'r', 'f:q', 'value'\nput 't', 'r', 'f:q', 'value', 1700000000000\nput 't', 'r', 'f:q', 'value', {TTL => 60000}",
  async run({ store, printer }, args) {
    requireArgumentCount(args, 4, 6);
    const column = columnArgument(args, 2);
    const { family, qualifier } = splitColumn(column);
    const value = bytesArgument(args, 3, 'value');
    const tso = await store
      .table(textArgument(args, 0, 'table'))
      .put(
        bytesArgument(args, 1, 'row'),
        [{ family, qualifier, value }],
        putOptions(args.slice(4)),
      );
    if (printer.json) printer.either({ tso }, '');
  },
};

function putOptions(args: ShellArguments): MutationOptions {
  const last = args.at(-1);
  const hash = isHash(last) ? last : undefined;
  const ts = integerArgument(
    hash === undefined ? last : args.length > 1 ? args[0] : null,
    'timestamp',
  );
  const names = [...(hash?.keys() ?? [])].map((name) => textOf(name));
  const unknown = names.find((name) => name !== 'TTL');
  if (unknown !== undefined) throw new IllegalArgumentException(`Unknown option ${unknown} of put`);
  const ttl = integerArgument(hash?.get('TTL'), 'TTL');
  return {
    ...(ts === undefined ? {} : { ts }),
    ...(ttl === undefined ? {} : { ttl: Number(ttl) }),
  };
}

function columnArgument(args: ShellArguments, index: number): Column {
  const value = args[index];
  if (typeof value !== 'string' && !(value instanceof Uint8Array)) {
    throw new IllegalArgumentException(`argument ${index + 1} must be the column`);
  }
  return columnOf(value);
}

const get: ShellCommand = {
  name: 'get',
  group: DATA,
  usage:
    "get 't', 'r'\nget 't', 'r', 'f:q', 'g'\nget 't', 'r', {COLUMN => ['f:q'], VERSIONS => 3, TIMERANGE => [0, 5]}",
  async run({ store, printer }, args) {
    requireArgumentCount(args, 2, 100);
    const table = store.table(textArgument(args, 0, 'table'));
    const result = await table.get(bytesArgument(args, 1, 'row'), getOptions(args.slice(2)));
    if (printer.json) {
      for (const cell of result?.cells ?? []) printer.line(cellJson(cell));
      return;
    }
    printer.line(twoColumns('COLUMN', 'CELL'));
    for (const cell of result?.cells ?? []) {
      printer.line(twoColumns(` ${columnText(cell)}`, cellText(cell)));
    }
    printer.line(`${result === null ? 0 : 1} row(s)`);
  },
};

const scan: ShellCommand = {
  name: 'scan',
  group: DATA,
  usage:
    "scan 't'\nscan 't', {COLUMNS => ['f:q', 'g'], LIMIT => 10, STARTROW => 'a', STOPROW => 'm'}\nscan 't', {RAW => true, VERSIONS => 10}\nscan 't', {ROWPREFIXFILTER => 'ab', REVERSED => true, TIMERANGE => [0, 5]}\nscan 't', {FILTER => \"PrefixFilter('ab') AND KeyOnlyFilter()\"}",
  async run(session, args) {
    const { store, printer } = session;
    requireArgumentCount(args, 1, 2);
    const options = hashArgument(args, 1);
    await using scanner = store
      .table(textArgument(args, 0, 'table'))
      .scan(scanOptions(options, 'scan'));
    if (!printer.json) printer.line(twoColumns('ROW', 'COLUMN+CELL'));
    let rows = 0;
    for (;;) {
      const results = await scanner.nextBatch(SCAN_BATCH);
      for (const result of results) {
        printResult(result, printer);
        if (!result.partial) rows += 1;
      }
      if (results.length === 0 || session.isStopped || !(await printer.flushIfFull())) break;
    }
    if (!printer.json) printer.line(`${rows} row(s)${session.isStopped ? ' (interrupted)' : ''}`);
  },
};

function hashArgument(args: ShellArguments, index: number): ReadonlyMap<ShellValue, ShellValue> {
  const value = args[index];
  if (value === undefined) return new Map();
  if (!isHash(value)) throw new IllegalArgumentException(`argument ${index + 1} must be a hash`);
  return value;
}

const count: ShellCommand = {
  name: 'count',
  group: DATA,
  usage: "count 't'\ncount 't', {COLUMNS => 'f', STARTROW => 'a', STOPROW => 'm'}",
  async run({ store, printer }, args) {
    requireArgumentCount(args, 1, 2);
    const table = textArgument(args, 0, 'table');
    const options =
      hashArgument(args, 1).size > 0 ? scanOptions(hashArgument(args, 1), 'count') : {};
    const rows = await store.table(table).count(options);
    printer.either({ count: rows, table }, [`${rows} row(s)`, `=> ${rows}`]);
  },
};

/** HBase: `delete` marks one version of a column, `deleteall` all of them, a family or the row. */
function deletion(name: 'delete' | 'deleteall', usage: string): ShellCommand {
  const isAll = name === 'deleteall';
  return {
    name,
    group: DATA,
    usage,
    async run({ store, printer }, args) {
      requireArgumentCount(args, isAll ? 2 : 3, 4);
      const ts = integerArgument(args[3], 'timestamp');
      const spec: DeleteSpec = {
        ...(args[2] === undefined || args[2] === null ? {} : columnsToDelete(args[2], isAll)),
        ...(ts === undefined ? {} : { ts }),
      };
      const table = store.table(textArgument(args, 0, 'table'));
      const tso = await table.delete(bytesArgument(args, 1, 'row'), spec);
      if (printer.json) printer.either({ tso }, '');
    },
  };
}

function columnsToDelete(value: ShellValue, isAll: boolean): DeleteSpec {
  const columns = columnsOf(value);
  const isFamily = (column: Column): column is string =>
    typeof column === 'string' && !column.includes(':');
  const families = columns.filter(isFamily);
  const rest = columns.filter((column) => !isFamily(column));
  return {
    ...(families.length === 0 ? {} : { families }),
    ...(rest.length === 0 ? {} : isAll ? { columns: rest } : { versions: rest }),
  };
}

const incr: ShellCommand = {
  name: 'incr',
  group: DATA,
  usage: "incr 't', 'r', 'f:q'\nincr 't', 'r', 'f:q', 10",
  async run({ store, printer }, args) {
    requireArgumentCount(args, 3, 4);
    const column = textArgument(args, 2, 'column');
    const amount = integerArgument(args[3], 'amount') ?? 1n;
    const { result } = await store
      .table(textArgument(args, 0, 'table'))
      .increment(bytesArgument(args, 1, 'row'), { [column]: amount });
    const value = result?.int64(column) ?? null;
    printer.either({ value }, `COUNTER VALUE = ${value}`);
  },
};

const append: ShellCommand = {
  name: 'append',
  group: DATA,
  usage: "append 't', 'r', 'f:q', 'more'",
  async run({ store, printer }, args) {
    requireArgumentCount(args, 4, 4);
    const column = textArgument(args, 2, 'column');
    const { result } = await store
      .table(textArgument(args, 0, 'table'))
      .append(bytesArgument(args, 1, 'row'), { [column]: bytesArgument(args, 3, 'value') });
    const value = result?.value(column) ?? new Uint8Array(0);
    printer.either({ value }, `CURRENT VALUE = ${toStringBinary(value)}`);
  },
};

const getCounter: ShellCommand = {
  name: 'get_counter',
  group: DATA,
  usage: "get_counter 't', 'r', 'f:q'",
  async run({ store, printer }, args) {
    requireArgumentCount(args, 3, 3);
    const column = textArgument(args, 2, 'column');
    const result = await store
      .table(textArgument(args, 0, 'table'))
      .get(bytesArgument(args, 1, 'row'), { columns: [column] });
    const value = result?.int64(column) ?? null;
    printer.either(
      { value },
      value === null ? 'No counter found at specified coordinates' : `COUNTER VALUE = ${value}`,
    );
  },
};

export const DML_COMMANDS: readonly ShellCommand[] = [
  put,
  get,
  scan,
  count,
  deletion('delete', "delete 't', 'r', 'f:q'\ndelete 't', 'r', 'f:q', 1700000000000"),
  deletion(
    'deleteall',
    "deleteall 't', 'r'\ndeleteall 't', 'r', 'f:q'\ndeleteall 't', 'r', 'f:q', 5",
  ),
  incr,
  append,
  getCounter,
];
