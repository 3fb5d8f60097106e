/**
 * MasterService on snapshots (protocol/admin.md section 7). SnapshotDescription: 1 name, 2 table, 3 creation_time, 4 type,
 * 5 version, 6 owner, 8 ttl (seconds, 0: none). The type is kept as long as the server runs; a snapshot is of its content
 * at one moment whatever its type.
 */
import {
  DoNotRetryIOException,
  SnapshotExistsException,
  TableNotFoundException,
} from '../../model/index.ts';
import { canonicalTableName } from '../../model/index.ts';
import type { SnapshotDescription } from '../../model/index.ts';
import { EMPTY_MESSAGE, Fields, MessageWriter } from '../../wire/index.ts';
import { boolMessage } from '../meta/handlers.ts';
import type { Handlers } from '../meta/handlers.ts';
import { RemoteException } from '../rpc/exceptions.ts';
import type { Master } from './master.ts';

/** What clients may wait for one, in milliseconds. */
const EXPECTED_TIMEOUT_MS = 300_000;
const FLUSH = 1;
const LAYOUT_VERSION = 2;

interface Told {
  readonly type: number;
  readonly owner: string;
  readonly ttl: number;
}

export function snapshotHandlers(master: Master): Handlers {
  const { snapshots } = master.engine;
  /** What was asked for with each. */
  const told = new Map<string, Told>();
  const all = (): SnapshotDescription[] => snapshots.list(() => true);
  return {
    Snapshot: async (request, call) => {
      const asked = snapshotOf(request);
      const name = asked.text(1) ?? '';
      const message = await master.procedure(
        { request, call, nonceAt: 2, kind: 'SnapshotProcedure' },
        async () => {
          if (all().some((snapshot) => snapshot.name === name)) {
            const text = `Snapshot '${name}' already stored on the filesystem.`;
            throw new SnapshotExistsException(text);
          }
          await snapshots.create(name, snapshotTable(master, asked));
          const owner = call.peer.user;
          told.set(name, { type: asked.int(4, FLUSH), owner, ttl: asked.int(8, 0) });
        },
      );
      const id = new Fields(message).int(1, 0);
      return new MessageWriter().int(1, EXPECTED_TIMEOUT_MS).int(2, id).finish();
    },
    GetCompletedSnapshots: () => {
      const messages = all().map((snapshot) => encode(snapshot, told.get(snapshot.name)));
      return new MessageWriter().allBytes(1, messages).finish();
    },
    DeleteSnapshot: async (request) => {
      const name = snapshotOf(request).text(1) ?? '';
      await snapshots.delete(name);
      told.delete(name);
      return EMPTY_MESSAGE;
    },
    IsSnapshotDone: (request) => {
      const name = snapshotOf(request).text(1) ?? '';
      if (all().some((snapshot) => snapshot.name === name)) return boolMessage(1, true);
      throw new RemoteException(
        'UnknownSnapshotException',
        `Snapshot ${name} is not currently running or one of the known completed snapshots.`,
      );
    },
    RestoreSnapshot: (request, call) =>
      master.procedure({ request, call, nonceAt: 2, kind: 'RestoreSnapshotProcedure' }, () =>
        restore(master, snapshotOf(request)),
      ),
  };
}

function snapshotOf(request: Fields): Fields {
  const snapshot = request.message(1);
  if (snapshot === null) throw new DoNotRetryIOException('snapshot is missing');
  return snapshot;
}

function snapshotTable(master: Master, asked: Fields): string {
  const table = asked.text(2);
  if (table === null) throw new DoNotRetryIOException('a snapshot must name its table');
  if (master.engine.catalog.find(table) !== undefined) return table;
  throw new RemoteException(
    'SnapshotCreationException',
    `Table '${table}' doesn't exist, can't take snapshot.`,
    { cause: new TableNotFoundException(table) },
  );
}

/** Into the table it is of, if that is there (it must be disabled), or else into a new one. */
async function restore({ engine }: Master, asked: Fields): Promise<void> {
  const name = asked.text(1) ?? '';
  const [snapshot] = engine.snapshots.list((other) => other === name);
  const own = snapshot?.tables[0];
  const target = canonicalTableName(asked.text(2) ?? own ?? name);
  if (engine.catalog.find(target) === undefined) return engine.snapshots.clone(name, target);
  if (own !== undefined && own !== target) {
    throw new DoNotRetryIOException(
      `Snapshot ${name} is of table ${own}; it cannot be restored into ${target}, which exists`,
    );
  }
  return engine.snapshots.restore(name);
}

function encode(snapshot: SnapshotDescription, told: Told | undefined): Uint8Array {
  return new MessageWriter()
    .text(1, snapshot.name)
    .text(2, snapshot.tables[0] ?? '')
    .int(3, snapshot.createdMs)
    .int(4, told?.type ?? FLUSH)
    .int(5, LAYOUT_VERSION)
    .text(6, told?.owner ?? '')
    .int(8, told?.ttl ?? 0)
    .finish();
}
