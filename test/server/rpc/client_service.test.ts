/** ClientService at the level of frames: what each call answers, and what it refuses as HBase does (protocol/client-service.md). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { open } from '../../../src/embedded/index.ts';
import type { StoreConnection } from '../../../src/embedded/index.ts';
import { startServer } from '../../../src/server/index.ts';
import type { RunningServer } from '../../../src/server/index.ts';
import type { ProtoWriter } from '../../../src/wire/index.ts';
import { FrameClient } from './frame_client.ts';
import type { Answer } from './frame_client.ts';
import {
  APPEND,
  DELETE,
  INCREMENT,
  PUT,
  binaryComparator,
  cellBlock,
  cellTexts,
  fieldsOf,
  filter,
  getRequest,
  message,
  mutateRequest,
  nested,
  region as writeRegion,
  writeCondition,
  writeGet,
  writeMutation,
} from './messages.ts';
import type { ConditionFields, GetFields, MutationFields } from './messages.ts';

let connection: StoreConnection;
let server: RunningServer;
let client: FrameClient;
/** The regions ["", m) and [m, "") of the table. */
let first: Uint8Array;
let second: Uint8Array;
let table = '';
let tables = 0;

beforeAll(async () => {
  connection = await open();
  server = await startServer({ connection, port: 0 });
  client = await FrameClient.connect(server.addresses.rpc!);
});

beforeEach(async () => {
  table = `t${++tables}`;
  await connection.admin.createTable({
    name: table,
    families: [{ name: 'f', VERSIONS: 3 }, 'g'],
    SPLITS: ['m'],
  });
  const regions = await connection.regions(table);
  [first, second] = regions.map(({ name }) => name) as [Uint8Array, Uint8Array];
});

afterAll(async () => {
  client.close();
  await server.close();
  await connection.close();
});

async function get(fields: GetFields, at = first): Promise<string[]> {
  return cellTexts((await client.call('Get', getRequest(at, fields))).cells);
}

function mutate(
  fields: MutationFields,
  more: { condition?: ConditionFields; nonceGroup?: bigint } = {},
  cells?: Uint8Array,
): Promise<Answer> {
  return client.call('Mutate', mutateRequest(first, fields, more), cells);
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

async function refusal(answer: Promise<unknown>): Promise<string> {
  const error = (await answer.then(
    () => new Error('it was not refused'),
    (reason: unknown) => reason,
  )) as { className?: string; message: string; doNotRetry?: boolean };
  return `${error.className} ${error.doNotRetry === true ? 'final' : 'retried'}`;
}

describe('get', () => {
  test('an absent row, and existence', async () => {
    const absent = await client.call('Get', getRequest(first, { row: 'a' }));
    expect(hex(absent.message)).toBe('0a021000'); // As recorded: golden/wire/3-get.
    const asked = { row: 'a', existenceOnly: true };
    const exists = await client.call('Get', getRequest(first, asked));
    expect(hex(exists.message)).toBe('0a0410001800');
    await mutate({ type: PUT, row: 'a', values: { 'f:q': 'v' } });
    const there = await client.call('Get', getRequest(first, asked));
    expect(hex(there.message)).toBe('0a0410001801');
  });

  test('columns, versions, a filter', async () => {
    for (const ts of [1n, 2n, 3n]) {
      await mutate({ type: PUT, row: 'a', values: { 'f:q': `v${ts}`, 'g:q': `w${ts}` }, ts });
    }
    expect(await get({ row: 'a' })).toEqual(['a/f:q@3=v3', 'a/g:q@3=w3']);
    expect(await get({ row: 'a', versions: 2, columns: ['f'] })).toEqual([
      'a/f:q@3=v3',
      'a/f:q@2=v2',
    ]);
    const keyOnly = filter('KeyOnlyFilter', Buffer.from('0800', 'hex'));
    expect(await get({ row: 'a', columns: ['g:q'], filter: keyOnly })).toEqual(['a/g:q@3=']);
  });

  test('is refused as HBase refuses it', async () => {
    expect(await refusal(get({ row: 'a', columns: ['nope'] }))).toBe(
      'NoSuchColumnFamilyException final',
    );
    expect(await refusal(get({ row: 'z' }))).toBe('WrongRegionException retried');
    expect(await refusal(get({ row: 'a' }, Buffer.from('no,,1.x.')))).toBe(
      'NotServingRegionException retried',
    );
    expect(await refusal(get({ row: '' }))).toBe('DoNotRetryIOException final');
    const unknown = filter('NoSuchFilter', new Uint8Array(0));
    expect(await refusal(get({ row: 'a', filter: unknown }))).toBe('DoNotRetryIOException final');
    await connection.admin.disableTable(table);
    expect(await refusal(get({ row: 'a' }))).toBe('NotServingRegionException retried');
  });

  test('a region by its encoded name', async () => {
    await mutate({ type: PUT, row: 'a', values: { 'f:q': 'v' }, ts: 1n });
    const [{ encodedName } = { encodedName: '' }] = await connection.regions(table);
    expect(await get({ row: 'a' }, Buffer.from(encodedName))).toEqual(['a/f:q@1=v']);
  });

  test('old clients, and those without codec, find cells in the message', async () => {
    await mutate({ type: PUT, row: 'a', values: { 'f:q': 'v' }, ts: 9n });
    for (const options of [{ version: '1.2.6' }, { codec: '' }]) {
      const old = await FrameClient.connect(server.addresses.rpc!, options);
      const { message: answer, cells } = await old.call('Get', getRequest(first, { row: 'a' }));
      old.close();
      expect(cells.length).toBe(0);
      const result = fieldsOf(fieldsOf(answer).get(1)![0] as Uint8Array);
      const cell = fieldsOf(result.get(1)![0] as Uint8Array);
      const text = [1, 2, 3, 6].map((field) =>
        Buffer.from(cell.get(field)![0] as Uint8Array).toString(),
      );
      expect([...text, cell.get(4)![0], cell.get(5)![0]]).toEqual(['a', 'f', 'q', 'v', 9n, 4n]);
    }
  });
});

describe('mutate', () => {
  test('puts in either form, deletes of each kind', async () => {
    const put = await mutate({ type: PUT, row: 'a', values: { 'f:a': '1', 'f:b': '2' }, ts: 5n });
    expect(hex(put.message)).toBe('1001');
    await mutate({ type: PUT, row: 'b', cellCount: 2 }, {}, cellBlock('b/f:a@5=1', 'b/g:b@6=2'));
    expect(await get({ row: 'b' })).toEqual(['b/f:a@5=1', 'b/g:b@6=2']);
    await mutate({ type: DELETE, row: 'a', values: { 'f:a': '' }, ts: 5n, deleteType: 1 });
    expect(await get({ row: 'a' })).toEqual(['a/f:b@5=2']);
    await mutate({ type: DELETE, row: 'b', ts: 5n });
    expect(await get({ row: 'b' })).toEqual(['b/g:b@6=2']);
    expect(hex((await mutate({ type: PUT, row: 'c' })).message)).toBe('1001');
  });

  test('a delete of the newest version, and of the newest two', async () => {
    for (const ts of [1n, 2n, 3n]) {
      await mutate({ type: PUT, row: 'a', values: { 'f:q': `v${ts}` }, ts });
    }
    await mutate({ type: DELETE, row: 'a', values: { 'f:q': '' }, deleteType: 0 });
    expect(await get({ row: 'a' })).toEqual(['a/f:q@2=v2']);
    const twice = message((w) => {
      writeRegion(w, first);
      nested(w, 2, (m) => {
        m.bytes(1, Buffer.from('a'));
        m.uint32(2, DELETE);
        nested(m, 3, (column) => {
          column.bytes(1, Buffer.from('f'));
          for (let i = 0; i < 2; i++) nested(column, 2, (q) => q.bytes(1, Buffer.from('q')));
        });
      });
    });
    await client.call('Mutate', twice);
    expect(await get({ row: 'a', versions: 3 })).toEqual([]);
  });

  test('increments and appends answer the new cells; a nonce makes a repeat harmless', async () => {
    const increment = { type: INCREMENT, row: 'a', values: { 'f:n': 5n }, nonce: 7n };
    const once = await mutate(increment, { nonceGroup: 3n });
    const again = await mutate(increment, { nonceGroup: 3n });
    expect(cellTexts(again.cells)).toEqual(cellTexts(once.cells));
    expect(hex(once.message)).toBe('0a0410012000'); // As recorded: golden/wire/4-put….
    expect(once.cells.subarray(-8)).toEqual(Buffer.from('0000000000000005', 'hex'));
    await mutate({ type: APPEND, row: 'a', values: { 'f:s': 'x' } });
    const appended = await mutate({ type: APPEND, row: 'a', values: { 'f:s': 'y' } });
    expect(cellTexts(appended.cells)[0]).toMatch(/^a\/f:s@\d+=xy$/);
    const quiet = await mutate({
      type: INCREMENT,
      row: 'a',
      values: { 'f:n': 1n },
      attributes: { _rr_: Uint8Array.of(0) },
    });
    expect(hex(quiet.message)).toBe('0a021000');
  });

  test('conditions compare "value OP stored", ask for absence, or filter', async () => {
    await mutate({ type: PUT, row: 'a', values: { 'f:q': 'm' } });
    const tries = async (condition: Partial<ConditionFields>): Promise<string> => {
      const put = { type: PUT, row: 'a', values: { 'g:x': '1' } };
      return hex((await mutate(put, { condition: { row: 'a', ...condition } })).message);
    };
    expect(await tries({ column: 'f:q', value: 'm' })).toBe('1001');
    expect(await tries({ column: 'f:q', value: 'n' })).toBe('1000');
    expect(await tries({ column: 'f:q', value: 'z', compare: 0 })).toBe('1000'); // z < m
    expect(await tries({ column: 'f:q', value: 'z', compare: 5 })).toBe('1001'); // z > m
    expect(await tries({ column: 'f:absent', value: '' })).toBe('1001');
    expect(await tries({ column: 'f:q', value: '' })).toBe('1000');
    const compare = Buffer.concat([
      Buffer.from('0802', 'hex'),
      lengthed(0x12, binaryComparator('m')),
    ]);
    const valueFilter = filter('ValueFilter', lengthed(0x0a, compare));
    expect(await tries({ filter: valueFilter })).toBe('1001');
  });

  test('is refused as HBase refuses it', async () => {
    const values = { 'f:q': 'v' };
    expect(await refusal(mutate({ type: PUT, row: 'z', values }))).toBe(
      'FailedSanityCheckException final',
    );
    expect(await refusal(mutate({ type: INCREMENT, row: 'z', values: { 'f:q': 1n } }))).toBe(
      'WrongRegionException retried',
    );
    expect(await refusal(mutate({ type: PUT, row: 'a', values: { 'no:q': 'v' } }))).toBe(
      'NoSuchColumnFamilyException final',
    );
    await mutate({ type: PUT, row: 'a', values });
    expect(await refusal(mutate({ type: INCREMENT, row: 'a', values: { 'f:q': 1n } }))).toBe(
      'DoNotRetryIOException final',
    );
    expect(await refusal(mutate({ type: PUT, row: 'a', cellCount: 1 }))).toBe(
      'DoNotRetryIOException final',
    );
    const wrongRow = mutate({ type: PUT, row: 'a', cellCount: 1 }, {}, cellBlock('b/f:q@1=v'));
    expect(await refusal(wrongRow)).toBe('WrongRowIOException retried');
    const condition = { row: 'b', column: 'f:q', value: 'v' };
    expect(await refusal(mutate({ type: PUT, row: 'a', values }, { condition }))).toBe(
      'DoNotRetryIOException final',
    );
    const short = mutate({ type: PUT, row: 'a', cellCount: 2 }, {}, cellBlock('a/f:q@1=v'));
    expect(await refusal(short)).toBe('DoNotRetryIOException final');
    const negative = mutate({ type: PUT, row: 'a', values, ts: -1n });
    expect(await refusal(negative)).toBe('DoNotRetryIOException final');
  });

  test('cells live as long as the mutation says', async () => {
    const ttl = Buffer.alloc(8);
    ttl.writeBigInt64BE(1n);
    await mutate({
      type: PUT,
      row: 'a',
      values: { 'f:q': 'v' },
      ts: 1n,
      attributes: { _ttl: ttl },
    });
    expect(await get({ row: 'a' })).toEqual([]);
  });
});

function lengthed(tag: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([tag, bytes.length]), bytes]);
}

type Write = (writer: ProtoWriter) => void;

/** CompareType. */
const NO_OP = 6;

interface RegionActionFields {
  readonly region: Uint8Array;
  readonly atomic?: boolean;
  readonly actions: readonly Write[];
  readonly condition?: ConditionFields;
}

const mutationAction =
  (index: number, fields: MutationFields): Write =>
  (w) => {
    w.uint32(1, index);
    nested(w, 2, (m) => writeMutation(m, fields));
  };

const getAction =
  (index: number, fields: GetFields): Write =>
  (w) => {
    w.uint32(1, index);
    nested(w, 3, (g) => writeGet(g, fields));
  };

interface ActionAnswer {
  readonly index: number;
  readonly cells: number | null;
  readonly exception: string | null;
}

interface RegionAnswer {
  readonly actions: ActionAnswer[];
  readonly exception: string | null;
  readonly processed: boolean | null;
}

const bytesOf = (value: bigint | Uint8Array | undefined): Uint8Array | null =>
  value instanceof Uint8Array ? value : null;

function exceptionName(value: bigint | Uint8Array | undefined): string | null {
  const bytes = bytesOf(value);
  if (bytes === null) return null;
  const name = Buffer.from(bytesOf(fieldsOf(bytes).get(1)![0])!).toString();
  return name.slice(name.lastIndexOf('.') + 1);
}

async function multi(
  regionActions: readonly RegionActionFields[],
  cells?: Uint8Array,
): Promise<{ regions: RegionAnswer[]; cells: string[] }> {
  const request = message((w) => {
    for (const action of regionActions) {
      nested(w, 1, (r) => {
        writeRegion(r, action.region);
        if (action.atomic === true) r.bool(2, true);
        for (const write of action.actions) nested(r, 3, write);
        if (action.condition !== undefined) writeCondition(r, 4, action.condition);
      });
    }
  });
  const answer = await client.call('Multi', request, cells);
  const regions = (fieldsOf(answer.message).get(1) ?? []).map((bytes) => {
    const fields = fieldsOf(bytesOf(bytes)!);
    const processed = fields.get(3)?.[0];
    return {
      actions: (fields.get(1) ?? []).map((action) => actionAnswer(bytesOf(action)!)),
      exception: exceptionName(fields.get(2)?.[0]),
      processed: processed === undefined ? null : processed === 1n,
    };
  });
  return { regions, cells: cellTexts(answer.cells) };
}

function actionAnswer(bytes: Uint8Array): ActionAnswer {
  const fields = fieldsOf(bytes);
  const result = bytesOf(fields.get(2)?.[0]);
  const cells = result === null ? null : Number(fieldsOf(result).get(2)?.[0] ?? -1n);
  return {
    index: Number(fields.get(1)?.[0] ?? 0n),
    cells,
    exception: exceptionName(fields.get(3)?.[0]),
  };
}

/** A put's result: there, without a count. */
const EMPTY = -1;

describe('multi', () => {
  test('each action alone: one fails, the others are done; cells follow the actions', async () => {
    await mutate({ type: PUT, row: 'a', values: { 'f:q': 'old' }, ts: 1n });
    const put = (index: number, row: string): Write =>
      mutationAction(index, { type: PUT, row, cellCount: 1 });
    const { regions, cells } = await multi(
      [
        {
          region: first,
          actions: [
            put(0, 'b'),
            getAction(2, { row: 'a' }),
            put(3, 'c'),
            mutationAction(4, { type: DELETE, row: 'd', ts: 9n }),
          ],
        },
        {
          region: second,
          actions: [
            put(1, 'z'),
            put(5, 'a'),
            mutationAction(6, { type: INCREMENT, row: 'x', cellCount: 1 }),
          ],
        },
      ],
      Buffer.concat([
        cellBlock('b/f:q@5=vb', 'c/no:q@5=vc', 'z/f:q@5=vz', 'a/f:q@5=va'),
        cellBlock('x/f:n@9223372036854775807=\x00\x00\x00\x00\x00\x00\x00\x02'),
      ]),
    );
    expect(regions).toEqual([
      {
        actions: [
          { index: 0, cells: EMPTY, exception: null },
          { index: 2, cells: 1, exception: null },
          { index: 3, cells: null, exception: 'NoSuchColumnFamilyException' },
          { index: 4, cells: EMPTY, exception: null },
        ],
        exception: null,
        processed: null,
      },
      {
        actions: [
          { index: 1, cells: EMPTY, exception: null },
          { index: 5, cells: null, exception: 'FailedSanityCheckException' },
          { index: 6, cells: 1, exception: null },
        ],
        exception: null,
        processed: null,
      },
    ]);
    expect(cells[0]).toBe('a/f:q@1=old');
    expect(cells[1]).toMatch(/^x\/f:n@\d+=/);
    expect(cells[1]!.endsWith(`${'\0'.repeat(7)}\x02`)).toBe(true);
    expect(await get({ row: 'b' })).toEqual(['b/f:q@5=vb']);
    expect(await get({ row: 'z' }, second)).toEqual(['z/f:q@5=vz']);
  });

  test('an unknown region fails as a whole, its cells are passed over', async () => {
    const action = mutationAction(0, { type: PUT, row: 'a', cellCount: 1 });
    const unknown = { region: Buffer.from('no,,1.x.'), actions: [action] };
    const { regions } = await multi(
      [unknown, { region: first, actions: [action] }],
      cellBlock('a/f:q@1=lost', 'a/f:q@2=kept'),
    );
    expect(regions.map(({ exception }) => exception)).toEqual(['NotServingRegionException', null]);
    expect(await get({ row: 'a', versions: 2 })).toEqual(['a/f:q@2=kept']);
  });

  test('row mutations are all or nothing; with a condition they say whether it held', async () => {
    const both = [
      mutationAction(0, { type: PUT, row: 'a', values: { 'f:q': 'v' }, ts: 4n }),
      mutationAction(0, { type: DELETE, row: 'a', values: { 'f:r': '' }, ts: 4n, deleteType: 1 }),
    ];
    expect((await multi([{ region: first, atomic: true, actions: both }])).regions).toEqual([
      {
        actions: [0, 1].map((index) => ({ index, cells: EMPTY, exception: null })),
        exception: null,
        processed: true,
      },
    ]);
    const broken = mutationAction(0, { type: PUT, row: 'a', values: { 'no:q': 'v' } });
    const failed = await multi([{ region: first, atomic: true, actions: [...both, broken] }]);
    expect(failed.regions).toEqual([
      { actions: [], exception: 'NoSuchColumnFamilyException', processed: null },
    ]);
    const condition = { row: 'a', column: 'f:q', value: 'other' };
    const unmet = await multi([{ region: first, atomic: true, actions: both, condition }]);
    expect(unmet.regions).toEqual([
      {
        actions: [0, 1].map((index) => ({ index, cells: null, exception: null })),
        exception: null,
        processed: false,
      },
    ]);
    const rows = [
      mutationAction(0, { type: PUT, row: 'c', values: { 'f:q': '1' }, ts: 1n }),
      mutationAction(0, { type: INCREMENT, row: 'd', values: { 'f:n': 1n } }),
    ];
    const several = await multi([{ region: first, atomic: true, actions: rows }]);
    expect(several.regions[0]).toMatchObject({ processed: true, exception: null });
    expect(several.cells).toHaveLength(1);
  });

  test('NO_OP with a value is no comparison: a plain IOException wherever it stands', async () => {
    const put: MutationFields = { type: PUT, row: 'a', values: { 'f:q': 'new' } };
    const condition: ConditionFields = { row: 'a', column: 'f:q', value: 'v', compare: NO_OP };
    const group = { region: first, atomic: true, actions: [mutationAction(0, put)], condition };
    // With nothing to compare it does not hold, as any operator.
    expect(hex((await mutate(put, { condition })).message)).toBe('1000');
    expect((await multi([group])).regions[0]).toMatchObject({ exception: null, processed: false });

    await mutate({ type: PUT, row: 'a', values: { 'f:q': 'v' }, ts: 1n });
    await expect(mutate(put, { condition })).rejects.toMatchObject({
      className: 'IOException',
      message: expect.stringMatching(/^java\.io\.IOException: .*NO_OP/) as string,
      doNotRetry: false,
    });
    const other = mutationAction(1, { type: PUT, row: 'b', values: { 'f:q': 'b' }, ts: 1n });
    const { regions } = await multi([group, { region: first, actions: [other] }]);
    expect(regions).toEqual([
      { actions: [], exception: 'IOException', processed: null },
      { actions: [{ index: 1, cells: EMPTY, exception: null }], exception: null, processed: null },
    ]);
    const rows = message((w) => {
      nested(w, 1, (m) => writeMutation(m, put));
      writeCondition(w, 5, condition);
    });
    const call = message((w) => {
      writeRegion(w, first);
      nested(w, 2, (c) => {
        c.bytes(1, Buffer.from('a'));
        c.string(2, 'MultiRowMutationService');
        c.string(3, 'MutateRows');
        c.bytes(4, rows);
      });
    });
    expect(await refusal(client.call('ExecService', call))).toBe('IOException retried');
    expect(await get({ row: 'a', versions: 3 })).toEqual(['a/f:q@1=v']);
  });

  test('a get in an atomic group is refused', async () => {
    const group = { region: first, atomic: true, actions: [getAction(0, { row: 'a' })] };
    expect((await multi([group])).regions[0]!.exception).toBe('DoNotRetryIOException');
  });
});

describe('services of a region', () => {
  const exec = async (
    service: string,
    method: string,
    request: Uint8Array,
  ): Promise<Uint8Array> => {
    const call = message((w) => {
      writeRegion(w, first);
      nested(w, 2, (c) => {
        c.bytes(1, Buffer.from('a'));
        c.string(2, service);
        c.string(3, method);
        c.bytes(4, request);
      });
    });
    const { message: answer } = await client.call('ExecService', call);
    return bytesOf(fieldsOf(bytesOf(fieldsOf(answer).get(2)![0])!).get(2)![0])!;
  };

  test('mutations of several rows, with conditions', async () => {
    const request = (value: string): Uint8Array =>
      message((w) => {
        for (const row of ['a', 'b']) {
          nested(w, 1, (m) =>
            writeMutation(m, { type: PUT, row, values: { 'f:q': value }, ts: 3n }),
          );
        }
        writeCondition(w, 5, { row: 'c', column: 'f:q', value: 'go' });
      });
    expect(hex(await exec('MultiRowMutationService', 'MutateRows', request('x')))).toBe('0800');
    await mutate({ type: PUT, row: 'c', values: { 'f:q': 'go' } });
    expect(hex(await exec('MultiRowMutationService', 'MutateRows', request('y')))).toBe('0801');
    expect(await get({ row: 'b' })).toEqual(['b/f:q@3=y']);
  });

  test('figures over a column', async () => {
    for (const [row, n] of [
      ['a', 5n],
      ['b', -2n],
      ['c', 9n],
    ] as const) {
      await mutate({ type: PUT, row, values: { 'f:n': n } });
    }
    await mutate({ type: PUT, row: 'd', values: { 'f:n': 'no number' } });
    const request = message((w) => {
      w.string(1, 'org.apache.hadoop.hbase.client.coprocessor.LongColumnInterpreter');
      nested(w, 2, (scan) =>
        nested(scan, 1, (column) => {
          column.bytes(1, Buffer.from('f'));
          column.bytes(2, Buffer.from('n'));
        }),
      );
    });
    const figures = async (method: string): Promise<string> =>
      hex(await exec('AggregateService', method, request));
    expect(await figures('GetMax')).toBe('0a020809'); // LongMsg { 9 }
    expect(await figures('GetMin')).toBe('0a0b08feffffffffffffffff01');
    expect(await figures('GetSum')).toBe('0a02080c');
    expect(await figures('GetRowNum')).toBe('0a080000000000000004');
    expect(await figures('GetAvg')).toBe('0a02080c12080000000000000004');
    expect(await figures('GetStd')).toBe('0a02080c0a02086e12080000000000000004');
  });

  test('unknown ones are refused', async () => {
    expect(await refusal(exec('NoService', 'Do', new Uint8Array(0)))).toBe(
      'UnknownProtocolException final',
    );
  });
});
