/**
 * MasterService where a cluster of one server without security, quotas and replication has nothing to say: it answers as
 * HBase does with the feature off.
 */
import { DoNotRetryIOException } from '../../model/index.ts';
import { EMPTY_MESSAGE, MessageWriter } from '../../wire/index.ts';
import { boolMessage, nothing } from '../meta/handlers.ts';
import type { Handler, Handlers } from '../meta/handlers.ts';
import { RemoteException } from '../rpc/exceptions.ts';
import type { Master } from './master.ts';

/** SecurityCapabilitiesResponse.Capability */
const SIMPLE_AUTHENTICATION = 0;
/** The procedure that flushed a table before FlushTable was there. */
const FLUSH_PROCEDURE = 'flush-table-proc';
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
const noReplication: Handler = refuse(
  'java.lang.UnsupportedOperationException: a single server has no replication',
);

export function featureHandlers(master: Master): Handlers {
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
    GetLocks: () => EMPTY_MESSAGE,
    ExecProcedure: async (request) => {
      const asked = request.message(1);
      await execute(master, asked?.text(1) ?? '', asked?.text(2) ?? '');
      return new MessageWriter().int(1, EXPECTED_TIMEOUT_MS).finish();
    },
    ExecProcedureWithRet: async (request) => {
      const asked = request.message(1);
      await execute(master, asked?.text(1) ?? '', asked?.text(2) ?? '');
      return EMPTY_MESSAGE;
    },
    IsProcedureDone: (request) => {
      const signature = request.message(1)?.text(1) ?? '';
      if (signature === FLUSH_PROCEDURE) return boolMessage(1, true);
      throw unknownProcedure(signature);
    },
  };
}

async function execute({ engine }: Master, signature: string, instance: string): Promise<void> {
  if (signature !== FLUSH_PROCEDURE) throw unknownProcedure(signature);
  await engine.track(() => engine.background.flushTable(engine.catalog.enabled(instance)));
}

function unknownProcedure(signature: string): DoNotRetryIOException {
  return new DoNotRetryIOException(`The procedure is not registered: ${signature}`);
}
