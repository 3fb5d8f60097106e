/**
 * MasterService's switches and what a cluster does by itself (protocol/admin.md section 6). One server has nothing to
 * balance; split, merge and normalizer are the engine's own, the others keep what they were set to.
 */
import { EMPTY_MESSAGE, MessageWriter, decodeTableName } from '../../wire/index.ts';
import type { Fields } from '../../wire/index.ts';
import { boolMessage, nothing } from '../meta/handlers.ts';
import type { Handler, Handlers } from '../meta/handlers.ts';
import { namePattern } from '../meta/regex.ts';
import type { SwitchName } from '../meta/index.ts';
import type { Master } from './master.ts';

/** Numbers on the wire: MasterSwitchType. */
const SWITCH_TYPES = ['split', 'merge'] as const;

export function switchHandlers(master: Master): Handlers {
  const { switches } = master.cluster;
  const { splitter } = master.engine;
  const turn =
    (name: SwitchName): Handler =>
    (request) =>
      boolMessage(1, switches.turn(name, request.bool(1, true)));
  const isOn =
    (name: SwitchName): Handler =>
    () =>
      boolMessage(1, switches.isOn(name));
  return {
    SetBalancerRunning: turn('balancer'),
    IsBalancerEnabled: isOn('balancer'),
    Balance: () => {
      const ran = switches.isOn('balancer');
      return new MessageWriter().bool(1, ran).int(2, 0).int(3, 0).finish();
    },
    EnableCatalogJanitor: turn('catalogJanitor'),
    IsCatalogJanitorEnabled: isOn('catalogJanitor'),
    RunCatalogScan: () => new MessageWriter().int(1, 0).finish(),
    SetCleanerChoreRunning: turn('cleanerChore'),
    IsCleanerChoreEnabled: isOn('cleanerChore'),
    RunCleanerChore: () => boolMessage(1, true),
    SwitchSnapshotCleanup: turn('snapshotCleanup'),
    IsSnapshotCleanupEnabled: isOn('snapshotCleanup'),
    SwitchRpcThrottle: turn('rpcThrottle'),
    IsRpcThrottleEnabled: isOn('rpcThrottle'),
    SwitchExceedThrottleQuota: turn('exceedThrottle'),
    ReplicationPeerModificationSwitch: turn('replicationPeerModification'),
    IsReplicationPeerModificationEnabled: isOn('replicationPeerModification'),
    GetReplicationPeerModificationProcedures: nothing,
    SetSplitOrMergeEnabled: async (request) => {
      const message = new MessageWriter();
      for (const type of request.ints(3)) {
        message.bool(1, await splitter.turn(switchOf(type), request.bool(1, true)));
      }
      return message.finish();
    },
    IsSplitOrMergeEnabled: (request) => boolMessage(1, splitter.isOn(switchOf(request.int(1, 0)))),
    SetNormalizerRunning: async (request) =>
      boolMessage(1, await splitter.turn('normalizer', request.bool(1, true))),
    IsNormalizerEnabled: () => boolMessage(1, splitter.isOn('normalizer')),
    Normalize: (request) => normalize(master, request),
    IsMasterInMaintenanceMode: () => boolMessage(1, false),
    FlushMasterStore: () => EMPTY_MESSAGE,
  };
}

const switchOf = (type: number): 'split' | 'merge' => SWITCH_TYPES[type] ?? 'split';

/** The tables named, or that match, or else those that ask for it. */
async function normalize({ engine }: Master, request: Fields): Promise<Uint8Array> {
  const { splitter, catalog } = engine;
  if (!splitter.isOn('normalizer')) return boolMessage(1, false);
  const names = new Set(request.messages(1).map(decodeTableName));
  const regex = request.text(2);
  const namespace = request.text(3) ?? '';
  const matches = regex === null ? (): boolean => true : namePattern(regex);
  const tables = catalog.userTables().filter(({ name, schema }) => {
    if (schema.attributes['NORMALIZATION_ENABLED']?.toLowerCase() !== 'true') return false;
    if (names.size > 0 && !names.has(name)) return false;
    if (namespace !== '' && !name.startsWith(`${namespace}:`)) return false;
    return matches(name);
  });
  await engine.track(() => splitter.normalize(tables));
  return boolMessage(1, true);
}
