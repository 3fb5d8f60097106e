/** MasterService: administration (protocol/admin.md). */
import type { Cluster } from '../meta/index.ts';
import { serviceOf } from '../meta/handlers.ts';
import type { RpcService } from '../rpc/service.ts';
import { clusterStatus } from './cluster_status.ts';
import { featureHandlers } from './features.ts';
import { Master } from './master.ts';
import { namespaceHandlers } from './namespaces.ts';
import { regionHandlers } from './regions.ts';
import { snapshotHandlers } from './snapshots.ts';
import { switchHandlers } from './switches.ts';
import { tableHandlers } from './tables.ts';

export function masterService(cluster: Cluster): RpcService {
  const master = new Master(cluster);
  return serviceOf('MasterService', {
    ...featureHandlers(master),
    ...switchHandlers(master),
    ...tableHandlers(master),
    ...namespaceHandlers(master),
    ...regionHandlers(master),
    ...snapshotHandlers(master),
    GetClusterStatus: (request, call) => clusterStatus(master, request, call),
  });
}
