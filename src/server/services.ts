/** What a server serves: the services of the native RPC and the ZooKeeper door, over one cluster. */
import { adminService } from './admin/index.ts';
import type { Door } from './door.ts';
import { masterServices } from './master/index.ts';
import { Cluster } from './meta/index.ts';
import { bootstrapNodeService, registryService } from './registry/index.ts';
import { clientService } from './rpc/client_service/index.ts';
import type { RpcService, RpcServiceFactory, ServerParts } from './rpc/service.ts';
import { ZooKeeperDoor } from './zookeeper/index.ts';

/** Services made of the parts alone, in no particular order. */
const SERVICES: readonly RpcServiceFactory[] = [clientService];

export interface Served {
  readonly services: readonly RpcService[];
  readonly zookeeper: Door;
  /** To be called when the doors are closed. */
  close(): Promise<void>;
}

/** Makes them all. The caller closes what it gets. */
export async function serve(bare: Omit<ServerParts, 'systemRegions'>): Promise<Served> {
  const cluster = await Cluster.start(bare.engine, bare.place);
  const parts: ServerParts = { ...bare, systemRegions: cluster.systemRegions };
  const services = [
    ...SERVICES.map((make) => make(parts)),
    registryService(cluster),
    bootstrapNodeService(cluster),
    ...masterServices(cluster),
    adminService(cluster),
  ];
  return {
    services,
    zookeeper: new ZooKeeperDoor(cluster, bare.env),
    close: async () => {
      for (const service of services) service.close?.();
      await cluster.close();
    },
  };
}
