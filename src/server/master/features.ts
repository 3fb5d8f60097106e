/**
 * MasterService where a cluster of one server without security, quotas and replication has nothing to say: it answers as
 * HBase does with the feature off.
 */
import { DoNotRetryIOException } from '../../model/index.ts';
import { EMPTY_MESSAGE, MessageWriter } from '../../wire/index.ts';
import type { Fields } from '../../wire/index.ts';
import { boolMessage, noLogEntries, nothing } from '../meta/handlers.ts';
import type { Handler, Handlers } from '../meta/handlers.ts';
import { RemoteException } from '../rpc/exceptions.ts';
import type { Master } from './master.ts';

/** SecurityCapabilitiesResponse.Capability */
const SIMPLE_AUTHENTICATION = 0;
/** The procedure that flushed a table before FlushTable was there. */
const FLUSH_PROCEDURE = 'flush-table-proc';
/** The one behind a snapshot of an enabled table: the instance is its name, the table a setting. */
const SNAPSHOT_PROCEDURE = 'online-snapshot';
const EXPECTED_TIMEOUT_MS = 60_000;

const refuse =
  (message: string): Handler =>
  () => {
    throw new DoNotRetryIOException(message);
  };

const noSecurity: Handler = refuse(
  'java.lang.UnsupportedOperationException: No AccessController coprocessor: security is off',
);
const noQuotas: Handler = refuse('java.lang.UnsupportedOperationException: quota support disabled');

export function featureHandlers(master: Master): Handlers {
  const noReplication: Handler = () => {
    if (!master.cluster.switches.isOn('replicationPeerModification')) {
      throw new DoNotRetryIOException('Replication peer modification disabled');
    }
    throw new DoNotRetryIOException(
      'java.lang.UnsupportedOperationException: a single server has no replication',
    );
  };
  return {
    IsMasterRunning: () => boolMessage(1, true),
    getSecurityCapabilities: () => new MessageWriter().int(1, SIMPLE_AUTHENTICATION).finish(),
    Grant: noSecurity,
    Revoke: noSecurity,
    GetUserPermissions: nothing,
    HasUserPermissions: noSecurity,
    SetQuota: noQuotas,
    GetQuotaStates: nothing,
    GetSpaceQuotaRegionSizes: nothing,
    AddReplicationPeer: noReplication,
    RemoveReplicationPeer: noReplication,
    EnableReplicationPeer: noReplication,
    DisableReplicationPeer: noReplication,
    UpdateReplicationPeerConfig: noReplication,
    IsReplicationPeerEnabled: noReplication,
    GetReplicationPeerConfig: (request) => {
      throw new RemoteException('ReplicationPeerNotFoundException', request.text(1) ?? '');
    },
    ListReplicationPeers: nothing,
    ListDecommissionedRegionServers: nothing,
    DecommissionRegionServers: nothing,
    RecommissionRegionServer: nothing,
    ClearDeadServers: nothing,
    GetLogEntries: noLogEntries,
    ExecMasterService: (request) => {
      const service = request.message(2)?.text(2) ?? '';
      throw new RemoteException(
        'UnknownProtocolException',
        `No registered Master Coprocessor Endpoint found for ${service}`,
      );
    },
    Shutdown: refuse('the server is stopped where it was started'),
    StopMaster: refuse('the server is stopped where it was started'),
    ...procedureHandlers(master),
  };
}

function procedureHandlers(master: Master): Handlers {
  const { procedures } = master;
  return {
    getProcedureResult: (request) => procedures.result(request.int(1, 0)),
    AbortProcedure: () => boolMessage(1, false),
    GetProcedures: () => new MessageWriter().allBytes(1, procedures.list()).finish(),
    ExecProcedure: async (request) => {
      await execute(master, request.message(1));
      return new MessageWriter().int(1, EXPECTED_TIMEOUT_MS).finish();
    },
    ExecProcedureWithRet: async (request) => {
      await execute(master, request.message(1));
      return EMPTY_MESSAGE;
    },
    IsProcedureDone: (request) => {
      const signature = request.message(1)?.text(1) ?? '';
      if (signature === FLUSH_PROCEDURE || signature === SNAPSHOT_PROCEDURE)
        return boolMessage(1, true);
      throw unknownProcedure(signature);
    },
  };
}

/** Done when it returns. ProcedureDescription: 1 signature, 2 instance, 4 configuration { 1 name, 2 value }. */
async function execute({ engine }: Master, asked: Fields | null): Promise<void> {
  const signature = asked?.text(1) ?? '';
  const instance = asked?.text(2) ?? '';
  if (signature === FLUSH_PROCEDURE) {
    await engine.track(() => engine.background.flushTable(engine.catalog.enabled(instance)));
    return;
  }
  if (signature !== SNAPSHOT_PROCEDURE) throw unknownProcedure(signature);
  const settings = asked?.messages(4) ?? [];
  const table = settings.find((setting) => setting.text(1) === 'table')?.text(2) ?? '';
  await engine.track(() => engine.snapshots.create(instance, table));
}

function unknownProcedure(signature: string): DoNotRetryIOException {
  return new DoNotRetryIOException(`The procedure is not registered: ${signature}`);
}
