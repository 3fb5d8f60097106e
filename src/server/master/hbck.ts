/**
 * HbckService (protocol/messages/Master.md): what HBase's Hbck and HBCK2 mend a cluster with. There is one server, whose regions
 * are open as long as their table is enabled, so that most of it finds nothing to mend.
 *
 *     SetTableStateInMeta            table_name 1, table_state 2 → the state before
 *     SetRegionStateInMeta           { region 1, state 2 } → { region 1, state before 2 }
 *     Assigns, Unassigns             regions 1, override 2 → a procedure's number each, -1 for none
 *     BypassProcedure                numbers 1 → a bool each
 *     ScheduleServerCrashProcedure   servers 1 → a number each
 */
import { DoNotRetryIOException, UnknownRegionException } from '../../model/index.ts';
import {
  MessageWriter,
  TABLE_DISABLED,
  TABLE_ENABLED,
  decodeRegionSpecifier,
  decodeTableName,
  encodeTableState,
} from '../../wire/index.ts';
import type { Fields } from '../../wire/index.ts';
import { boolMessage, nothing, serviceOf } from '../meta/handlers.ts';
import type { RpcCall, RpcService } from '../rpc/service.ts';
import { refuseSystemTable } from './master.ts';
import type { Master } from './master.ts';
import { isMeta, regionOf } from './regions.ts';

/** Procedure.NO_PROC_ID: nothing was begun. */
const NO_PROCEDURE = -1;
/** RegionState.State */
const OPEN = 3;
const CLOSED = 6;
const TRANSIT = 'TransitRegionStateProcedure';

export function hbckService(master: Master): RpcService {
  return serviceOf('HbckService', {
    SetTableStateInMeta: (request) => setTableState(master, request),
    SetRegionStateInMeta: (request) => setRegionStates(master, request),
    // Without override HBase refuses to open what is open.
    Assigns: (request, call) =>
      transits(master, request, call, (isOpen) => !isOpen || request.bool(2, false)),
    Unassigns: (request, call) => transits(master, request, call, () => true),
    BypassProcedure: (request) => {
      const message = new MessageWriter();
      // Only those can be passed by that run: none does for long.
      for (let i = request.ints(1).length; i > 0; i--) message.bool(1, false);
      return message.finish();
    },
    ScheduleServerCrashProcedure: (request) => numbers(request.messages(1).map(() => NO_PROCEDURE)),
    ScheduleSCPsForUnknownServers: nothing,
    RunHbckChore: () => boolMessage(1, true),
    FixMeta: nothing,
  });
}

function numbers(ids: readonly number[]): Uint8Array {
  const message = new MessageWriter();
  for (const id of ids) message.int(1, id);
  return message.finish();
}

async function setTableState(master: Master, request: Fields): Promise<Uint8Array> {
  const name = decodeTableName(request.message(1));
  const state = request.message(2)?.int(1, TABLE_ENABLED) ?? TABLE_ENABLED;
  refuseSystemTable(name, 'change the state of');
  if (state !== TABLE_ENABLED && state !== TABLE_DISABLED) {
    throw new DoNotRetryIOException(`Table ${name} is either enabled or disabled here`);
  }
  const table = master.table(name);
  const { schema } = master.engine;
  const was = table.enabled;
  const enabled = state === TABLE_ENABLED;
  if (was !== enabled) await master.engine.track(() => schema.setEnabled(table.name, enabled));
  return new MessageWriter().bytes(1, encodeTableState(was)).finish();
}

/** A region's state is its table's; null for a region that is not known. */
function stateOf(master: Master, name: Uint8Array): number | null {
  if (isMeta(name)) return OPEN;
  try {
    return regionOf(master, name).table.enabled ? OPEN : CLOSED;
  } catch (error) {
    if (error instanceof UnknownRegionException) return null;
    throw error;
  }
}

function setRegionStates(master: Master, request: Fields): Uint8Array {
  const states = request.messages(1);
  for (const asked of states) {
    const name = decodeRegionSpecifier(asked.message(1));
    const state = stateOf(master, name);
    if (state === null) throw new UnknownRegionException(Buffer.from(name).toString('latin1'));
    if (state !== asked.int(2, OPEN)) {
      throw new DoNotRetryIOException(
        `Region ${Buffer.from(name).toString('latin1')} is as its table is: set the state of the table`,
      );
    }
  }
  // Each was in the state that it is to have.
  return new MessageWriter().allBytes(1, request.allBytes(1)).finish();
}

/** Regions stay where they are; a procedure that has nothing to do tells so. */
async function transits(
  master: Master,
  request: Fields,
  call: RpcCall,
  isWanted: (isOpen: boolean) => boolean,
): Promise<Uint8Array> {
  const ids: number[] = [];
  for (const specifier of request.messages(1)) {
    const state = stateOf(master, decodeRegionSpecifier(specifier));
    const isBegun = state !== null && isWanted(state === OPEN);
    const asked = { kind: TRANSIT, owner: call.peer.user, nonce: null };
    ids.push(isBegun ? await master.procedures.run(asked, () => Promise.resolve()) : NO_PROCEDURE);
  }
  return numbers(ids);
}
