/** The one process that stands for a cluster: its id, its tables of tables, and the address that clients are told. */
import type { RegionServer } from '../../engine/index.ts';
import type { ServerName } from '../../wire/index.ts';
import type { ServerPlace } from '../place.ts';
import type { SystemRegion } from '../rpc/service.ts';
import { Switches } from './switches.ts';
import { SystemTables } from './system_tables.ts';

/** The version that clients are told; they choose by it what they may ask. */
export const HBASE_VERSION = '2.6.3';

export class Cluster {
  readonly engine: RegionServer;
  readonly place: ServerPlace;
  readonly system: SystemTables;
  readonly switches: Switches = new Switches();

  private constructor(engine: RegionServer, place: ServerPlace, system: SystemTables) {
    this.engine = engine;
    this.place = place;
    this.system = system;
  }

  get clusterId(): string {
    return this.place.clusterId;
  }

  /** Engine and place stay the caller's; the cluster must be closed before the engine. */
  static async start(engine: RegionServer, place: ServerPlace): Promise<Cluster> {
    return new Cluster(engine, place, await SystemTables.open(engine, place));
  }

  /** hbase:meta and hbase:namespace, for the service of gets and scans. */
  get systemRegions(): readonly SystemRegion[] {
    return this.system.regions;
  }

  /** This server as a client is told it whose connection arrived at `localAddress`. */
  serverName(peer: { readonly localAddress: string }): ServerName {
    return { ...this.place.addressFor(peer), startCode: this.place.startCode };
  }

  close(): Promise<void> {
    return this.system.close();
  }
}
