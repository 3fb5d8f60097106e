/** The master's services: administration (protocol/admin.md), mending, locks. */
import { MessageWriter } from '../../wire/index.ts';
import type { Cluster } from '../meta/index.ts';
import { serviceOf } from '../meta/handlers.ts';
import type { RpcService } from '../rpc/service.ts';
import { clusterStatus } from './cluster_status.ts';
import { featureHandlers } from './features.ts';
import { hbckService } from './hbck.ts';
import { Locks, lockService } from './locks.ts';
import { Master } from './master.ts';
import { namespaceHandlers } from './namespaces.ts';
import { regionHandlers } from './regions.ts';
import { snapshotHandlers } from './snapshots.ts';
import { switchHandlers } from './switches.ts';
import { tableHandlers } from './tables.ts';

export function masterServices(cluster: Cluster): RpcService[] {
  const master = new Master(cluster);
  const locks = new Locks(cluster.engine.env, master.procedures);
  return [masterService(master, locks), hbckService(master), lockService(locks)];
}

function masterService(master: Master, locks: Locks): RpcService {
  return serviceOf('MasterService', {
    ...featureHandlers(master),
    ...switchHandlers(master),
    ...tableHandlers(master),
    ...namespaceHandlers(master),
    ...regionHandlers(master),
    ...snapshotHandlers(master),
    GetLocks: () => new MessageWriter().allBytes(1, locks.resources()).finish(),
    GetClusterStatus: (request, call) => clusterStatus(master, request, call),
  });
}
