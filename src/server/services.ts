/** What a server serves: the services of the native RPC, the regions that are made up, and the ZooKeeper door. */
import type { Door } from './door.ts';
import type { RpcServiceFactory, ServerParts, SystemRegion } from './rpc/service.ts';

/** In no particular order. */
export const SERVICES: readonly RpcServiceFactory[] = [];

/** What the regions that are made up are made of. */
export type SystemRegionsFactory = (
  parts: Omit<ServerParts, 'systemRegions'>,
) => readonly SystemRegion[];

export const SYSTEM_REGIONS: readonly SystemRegionsFactory[] = [];

/** Makes the ZooKeeper door; null: there is none. */
export const ZOOKEEPER: ((parts: ServerParts) => Door) | null = null;
