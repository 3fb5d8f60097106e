/**
 * GetClusterStatus (protocol/admin.md section 6). Clients name what they want by numbers; none named: all.
 *
 *     ClusterStatus   1 hbase_version { 1 version }, 2 live_servers { 1 server, 2 server_load }, 5 cluster_id
 *                     { 1 cluster_id }, 7 master, 9 balancer_on, 10 master_info_port, 11 servers_name,
 *                     12 table_region_states_count { 1 table_name, 2 counts }
 *     counts          1 open_regions, 2 split_regions, 3 closed_regions, 4 regions_in_transition, 5 total_regions
 */
import { MessageWriter, encodeServerName, encodeTableName } from '../../wire/index.ts';
import type { Fields } from '../../wire/index.ts';
import { HBASE_VERSION } from '../meta/index.ts';
import { serverLoad } from '../meta/loads.ts';
import type { RpcCall } from '../rpc/service.ts';
import type { Master } from './master.ts';

/** Numbers on the wire. */
const OPTIONS = {
  hbaseVersion: 0,
  clusterId: 1,
  liveServers: 2,
  master: 4,
  balancerOn: 8,
  masterInfoPort: 9,
  serversName: 10,
  tableToRegionsCount: 11,
} as const;

export function clusterStatus(master: Master, request: Fields, { peer }: RpcCall): Uint8Array {
  const asked = request.ints(1);
  const wants = (option: keyof typeof OPTIONS): boolean =>
    asked.length === 0 || asked.includes(OPTIONS[option]);
  const { cluster } = master;
  const server = encodeServerName(cluster.serverName(peer));
  const status = new MessageWriter();
  if (wants('hbaseVersion')) {
    status.bytes(1, new MessageWriter().text(1, HBASE_VERSION).finish());
  }
  if (wants('liveServers')) {
    status.bytes(2, new MessageWriter().bytes(1, server).bytes(2, serverLoad(cluster)).finish());
  }
  if (wants('clusterId')) {
    status.bytes(5, new MessageWriter().text(1, cluster.clusterId).finish());
  }
  if (wants('master')) status.bytes(7, server);
  if (wants('balancerOn')) status.bool(9, cluster.switches.isOn('balancer'));
  if (wants('masterInfoPort')) status.int(10, cluster.place.httpPort);
  if (wants('serversName')) status.bytes(11, server);
  if (wants('tableToRegionsCount')) status.allBytes(12, tableCounts(master));
  return new MessageWriter().bytes(1, status.finish()).finish();
}

function tableCounts({ engine, cluster }: Master): Uint8Array[] {
  const user = engine.catalog.userTables().map(({ name, enabled, regions }) => {
    const total = enabled ? regions.length : 0;
    return { name, open: total, total };
  });
  const own = cluster.system.regionInfos().map(({ table }) => ({ name: table, open: 1, total: 1 }));
  return [...user, ...own].map(({ name, open, total }) => {
    const counts = new MessageWriter()
      .int(1, open)
      .int(2, 0)
      .int(3, total - open)
      .int(4, 0);
    return new MessageWriter()
      .bytes(1, encodeTableName(name))
      .bytes(2, counts.int(5, total).finish())
      .finish();
  });
}
