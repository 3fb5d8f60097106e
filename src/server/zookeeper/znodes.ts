/**
 * The znodes that HBase's clients and tools read (protocol/bootstrap.md section 3). Data of a node: byte 0xff, int32 length of
 * an id, the id, "PBUF", a message; without the head for namespaces.
 *
 *     /hbase/hbaseid               ClusterId { 1 cluster_id }
 *     /hbase/master                Master { 1 master, 2 rpc_version, 3 info_port }
 *     /hbase/meta-region-server    MetaRegionServer { 1 server, 2 rpc_version, 3 state (3: open) }
 *     /hbase/rs/<server name>      RegionServerInfo { 1 infoPort }
 *     /hbase/running               ClusterUp { 1 start_date }
 *     /hbase/backup-masters, /hbase/table/<table>, /hbase/namespace/<namespace>
 */
import {
  MessageWriter,
  encodeNamespace,
  encodeServerName,
  encodeTableState,
  serverNameText,
  withMagic,
} from '../../wire/index.ts';
import type { Cluster } from '../meta/index.ts';

export const ROOT = '/hbase';
const OPEN = 3;

export interface Znode {
  readonly data: Uint8Array;
  /** Names, not paths. */
  readonly children: readonly string[];
  /** It would go with the server's session. */
  readonly isEphemeral: boolean;
}

const folder = (children: readonly string[]): Znode => ({
  data: new Uint8Array(0),
  children,
  isEphemeral: false,
});

/** The node at this path as a client sees it whose connection arrived at this address; null if there is none. */
export function znodeAt(
  cluster: Cluster,
  path: string,
  peer: { readonly localAddress: string },
): Znode | null {
  if (path === '/') return folder(['hbase', 'zookeeper']);
  if (path === '/zookeeper') return folder([]);
  if (path !== ROOT && !path.startsWith(`${ROOT}/`)) return null;
  const [, , top, name, ...rest] = path.split('/');
  if (rest.length > 0) return null;
  if (top === undefined) return folder(TOP_NAMES);
  return name === undefined ? topNode(cluster, top, peer) : lowerNode(cluster, top, name, peer);
}

const TOP_NAMES = [
  'backup-masters',
  'hbaseid',
  'master',
  'meta-region-server',
  'namespace',
  'rs',
  'running',
  'table',
];

function topNode(
  cluster: Cluster,
  name: string,
  peer: { readonly localAddress: string },
): Znode | null {
  const { engine, place } = cluster;
  const server = cluster.serverName(peer);
  const node = (message: MessageWriter, isEphemeral = false): Znode => ({
    data: withHead(`master:${server.port}`, withMagic(message.finish())),
    children: [],
    isEphemeral,
  });
  switch (name) {
    case 'hbaseid':
      return node(new MessageWriter().text(1, cluster.clusterId));
    case 'master':
      return node(
        new MessageWriter().bytes(1, encodeServerName(server)).int(2, 0).int(3, place.httpPort),
        true,
      );
    case 'meta-region-server':
      return node(new MessageWriter().bytes(1, encodeServerName(server)).int(2, 0).int(3, OPEN));
    case 'running':
      return node(new MessageWriter().text(1, new Date(place.startCode).toUTCString()));
    case 'rs':
      return folder([serverNameText(server)]);
    case 'table':
      return folder(
        engine.catalog
          .userTables()
          .map((table) => table.name)
          .sort(),
      );
    case 'namespace':
      return folder(engine.schema.namespaces());
    default:
      return TOP_NAMES.includes(name) ? folder([]) : null;
  }
}

function lowerNode(
  cluster: Cluster,
  top: string,
  name: string,
  peer: { readonly localAddress: string },
): Znode | null {
  const { engine, place } = cluster;
  const server = cluster.serverName(peer);
  if (top === 'rs' && name === serverNameText(server)) {
    const info = new MessageWriter().int(1, place.httpPort).finish();
    const data = withHead(`regionserver:${server.port}`, withMagic(info));
    return { data, children: [], isEphemeral: true };
  }
  if (top === 'table') {
    const table = engine.catalog.userTables().find((other) => other.name === name);
    if (table === undefined) return null;
    const data = withHead(`master:${server.port}`, withMagic(encodeTableState(table.enabled)));
    return { data, children: [], isEphemeral: false };
  }
  if (top === 'namespace' && engine.schema.namespaces().includes(name)) {
    const configuration = engine.manifest.get('namespace', name)?.configuration ?? {};
    return { data: encodeNamespace({ name, configuration }), children: [], isEphemeral: false };
  }
  return null;
}

/** HBase puts eight bytes of chance behind the text of an id; nobody reads them. */
const ID_TAIL: Uint8Array = new Uint8Array(8);

function withHead(id: string, data: Uint8Array): Uint8Array {
  const idBytes = Buffer.concat([Buffer.from(id, 'latin1'), ID_TAIL]);
  const head = Buffer.alloc(5);
  head[0] = 0xff;
  head.writeInt32BE(idBytes.length, 1);
  return Buffer.concat([head, idBytes, data]);
}
