/**
 * The registry that needs no ZooKeeper (protocol/bootstrap.md section 2; messages/Registry.md). Requests are empty.
 *
 *     GetClusterIdResponse             1 cluster_id
 *     GetActiveMasterResponse          1 server_name
 *     GetMastersResponse               1 master_servers { 1 server_name, 2 is_active }
 *     GetMetaRegionLocationsResponse   1 meta_locations { 1 region_info, 2 server_name, 3 seq_num }
 *     GetBootstrapNodesResponse        1 server_name
 *     GetAllBootstrapNodesResponse     1 node
 */
import { MessageWriter, encodeRegionInfo, encodeServerName } from '../../wire/index.ts';
import { META_REGION } from '../meta/index.ts';
import type { Cluster } from '../meta/index.ts';
import type { RpcAnswer, RpcCall, RpcService } from '../rpc/service.ts';

type Make = (server: Uint8Array, message: MessageWriter) => MessageWriter;

/** ClientMetaService: what a client asks before anything else. */
export function registryService(cluster: Cluster): RpcService {
  const answer =
    (make: Make) =>
    ({ peer }: RpcCall): RpcAnswer => {
      const server = encodeServerName(cluster.serverName(peer));
      return { message: make(server, new MessageWriter()).finish() };
    };
  return {
    name: 'ClientMetaService',
    methods: new Map([
      ['GetClusterId', answer((_server, message) => message.text(1, cluster.clusterId))],
      ['GetActiveMaster', answer((server, message) => message.bytes(1, server))],
      [
        'GetMasters',
        answer((server, message) =>
          message.bytes(1, new MessageWriter().bytes(1, server).bool(2, true).finish()),
        ),
      ],
      ['GetMetaRegionLocations', answer((server, m) => m.bytes(1, metaLocation(server)))],
      ['GetBootstrapNodes', answer((server, message) => message.bytes(1, server))],
    ]),
  };
}

/** BootstrapNodeService, which servers ask each other. */
export function bootstrapNodeService(cluster: Cluster): RpcService {
  const nodes = ({ peer }: RpcCall): RpcAnswer => ({
    message: new MessageWriter().bytes(1, encodeServerName(cluster.serverName(peer))).finish(),
  });
  return { name: 'BootstrapNodeService', methods: new Map([['GetAllBootstrapNodes', nodes]]) };
}

function metaLocation(server: Uint8Array): Uint8Array {
  return new MessageWriter()
    .bytes(1, encodeRegionInfo(META_REGION))
    .bytes(2, server)
    .int(3, -1)
    .finish();
}
