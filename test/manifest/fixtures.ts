/** A machine for manifest tests, and one record of each collection with every field set to something telling. */
import { InlineExecutor, SeededRandom, SimClock, SimFs, SimTimers } from '../../src/io/index.ts';
import type { Env, FsFault, FsOp } from '../../src/io/index.ts';
import type {
  CollectionName,
  Edit,
  FileRecord,
  RegionRecord,
  TableRecord,
} from '../../src/manifest/index.ts';

export interface TestEnv extends Env {
  readonly fs: SimFs;
}

/** Operations take effect in the call: no virtual time has to pass. */
export function testEnv(fs: SimFs = new SimFs({ random: new SeededRandom(1) })): TestEnv {
  const timers = new SimTimers();
  const env: TestEnv = {
    fs,
    clock: new SimClock(timers),
    random: new SeededRandom(7),
    timers,
    executor: new InlineExecutor(() => env),
  };
  return env;
}

/** Fails the `nth` operation of a kind from now on, once. */
export function failNth(fs: SimFs, kind: FsOp['kind'], nth: number, fault: FsFault): void {
  const at = fs.countOf(kind) + nth;
  fs.failWhen = (op) => (op.kind === kind && op.count === at ? fault : null);
}

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');

export function fileRecord(id: number, more: Partial<FileRecord> = {}): FileRecord {
  return {
    id,
    tableId: 1,
    regionId: 2,
    familyId: 3,
    path: `data/default/t/60cf3460762c7213ab519b0384f99485/f/${id}`,
    kind: 'store',
    sizeBytes: 2 ** 40 + 1,
    cellCount: 12_345,
    firstRow: bytes('a\x00\xff'),
    lastRow: bytes(''),
    minTimestamp: 0n,
    maxTimestamp: 9_223_370_282_904_775_684n,
    minWriteNumber: 468_412_345_614_336_017n,
    maxWriteNumber: 2n ** 64n - 1n,
    maxFlushedTso: 468_412_345_646_579_753n,
    dropTso: null,
    stamp: { writeNumber: 5n, timestamp: null },
    reference: { fileId: 9, fromRow: bytes('m'), toRow: bytes('') },
    level: 1,
    flags: ['major', 'bulk'],
    addedTso: 1n << 18n,
    removedTso: null,
    ...more,
  };
}

export function regionRecord(id: number, more: Partial<RegionRecord> = {}): RegionRecord {
  return {
    id,
    tableId: 1,
    encodedName: '60cf3460762c7213ab519b0384f99485',
    regionIdMs: 1_700_000_000_000,
    startKey: bytes('m'),
    endKey: bytes(''),
    createdTso: 7n,
    parents: [1],
    state: 'open',
    removedTso: null,
    ...more,
  };
}

export function tableRecord(id: number, name: string): TableRecord {
  const schema = {
    name,
    attributes: { DURABILITY: 'SYNC_WAL', __proto__x: 'é' },
    configuration: {},
    families: [
      { name: 'f', attributes: { VERSIONS: '3' }, configuration: { 'a.b': '1' } },
      { name: 'g', attributes: {}, configuration: {} },
    ],
  };
  return {
    id,
    name,
    enabled: true,
    createdTso: 3n,
    droppedTso: null,
    schemas: [{ tso: 3n, schema, familyIds: { f: 1, g: 2 } }],
  };
}

/** At least one put of each collection but `store`. */
export const oneOfEach: readonly Edit[] = [
  {
    collection: 'namespace',
    record: { name: 'ns', configuration: { 'k e y': 'ü' }, createdTso: 1n },
  },
  { collection: 'table', record: tableRecord(1, 'ns:t') },
  { collection: 'region', record: regionRecord(2) },
  { collection: 'file', record: fileRecord(4) },
  { collection: 'flushed', record: { regionId: 2, familyId: 3, tso: 2n ** 59n } },
  {
    collection: 'oracle',
    record: {
      v: 1,
      windowEndMs: 1_786_851_295_123,
      committedTso: 468_412_345_646_579_753n,
      external: true,
      cleanCursor: null,
      stampsMayBeLost: false,
    },
  },
  {
    collection: 'snapshot',
    record: {
      name: 's1',
      tso: 5n,
      createdMs: 6,
      kind: 'table',
      owner: 'me',
      expiresMs: 7,
      tableIds: [1],
      fileIds: [4],
      schemas: [tableRecord(1, 'ns:t').schemas[0]!.schema],
      tables: [
        {
          id: 9,
          familyIds: { f: 1, g: 2 },
          regions: [{ id: 17, startKey: Buffer.alloc(0), endKey: Buffer.from('m') }],
        },
      ],
    },
  },
  {
    collection: 'transaction',
    record: {
      id: 468_412_345_646_579_700n,
      namespace: 'default',
      label: 'job7-0-42-3',
      state: 'PREPARED',
      reason: null,
      tso: null,
      digest: 'crc32c:9f1e0a77',
      createdMs: 1,
      deadlineMs: 2,
      fileIds: [4],
      detail: bytes('\x80\x81'),
    },
  },
  {
    collection: 'backup',
    record: {
      id: 'b1',
      kind: 'full',
      parentId: null,
      location: '/b',
      fromTso: 0n,
      toTso: 9n,
      createdMs: 3,
      tableIds: [1],
      state: 'complete',
      detail: bytes(''),
    },
  },
  {
    collection: 'hold',
    record: { id: 'h', owner: 'o', tso: 1n, createdMs: 1, expiresMs: null, log: true },
  },
  { collection: 'droppedId', record: { kind: 'family', id: 8, tso: 4n } },
  { collection: 'nonces', record: { asOfTso: 4n, body: Buffer.alloc(300, 0xc1) } },
  { collection: 'setting', record: { name: 'x', value: 'y'.repeat(300) } },
];

/** Keys of the records in `oneOfEach`. */
export const keysOfEach: Readonly<
  Record<Exclude<CollectionName, 'store'>, string | number | bigint>
> = {
  namespace: 'ns',
  table: 1,
  region: 2,
  file: 4,
  flushed: '2/3',
  oracle: 'only',
  snapshot: 's1',
  transaction: 468_412_345_646_579_700n,
  backup: 'b1',
  hold: 'h',
  droppedId: 'family/8',
  nonces: 'only',
  setting: 'x',
};
