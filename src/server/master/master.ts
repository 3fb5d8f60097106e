/** What the parts of MasterService share. */
import {
  ConstraintException,
  NamespaceNotFoundException,
  TableNotFoundException,
} from '../../model/index.ts';
import type { RegionServer, TableState } from '../../engine/index.ts';
import type { Region } from '../../region/index.ts';
import { MessageWriter } from '../../wire/index.ts';
import type { Fields } from '../../wire/index.ts';
import { META_TABLE, NAMESPACE_TABLE } from '../meta/index.ts';
import type { Cluster } from '../meta/index.ts';
import type { RpcCall } from '../rpc/service.ts';
import { Procedures, nonceOf } from './procedures.ts';

export class Master {
  readonly cluster: Cluster;
  readonly engine: RegionServer;
  readonly procedures: Procedures;

  constructor(cluster: Cluster) {
    this.cluster = cluster;
    this.engine = cluster.engine;
    this.procedures = new Procedures(cluster.engine.env);
  }

  /**
   * Does the work as a procedure and answers a message with its number in field 1. `nonceAt`: the field of the nonce's
   * group; the nonce is in the next one.
   */
  async procedure(
    { request, call, nonceAt, kind, failsLater = false }: ProcedureCall,
    work: () => Promise<void>,
  ): Promise<Uint8Array> {
    const owner = call.peer.user;
    const asked = { kind, owner, nonce: nonceOf(request, nonceAt), failsLater };
    const id = await this.procedures.run(asked, () => this.engine.track(work));
    return new MessageWriter().int(1, id).finish();
  }

  /** Throws NamespaceNotFoundException. */
  checkNamespace(name: string): void {
    if (this.engine.schema.namespaces().includes(name)) return;
    throw new NamespaceNotFoundException(name);
  }

  /** When a region was last compacted as a whole, Unix milliseconds; 0: its files come from no such compaction. */
  majorCompactionMs(region: Region): number {
    const stamps = region.stores.flatMap(({ files }) =>
      files.flatMap(({ info }) => {
        const record = this.engine.manifest.get('file', info.id);
        return record?.flags.includes('major') === true ? [Number(record.addedTso >> 18n)] : [];
      }),
    );
    return stamps.length === 0 ? 0 : Math.min(...stamps);
  }

  /** A user's table. Throws TableNotFoundException with the bare name, as HBase does. */
  table(name: string): TableState {
    const table = this.engine.catalog.find(name);
    if (table === undefined) throw new TableNotFoundException(name);
    return table;
  }
}

export interface ProcedureCall {
  readonly request: Fields;
  readonly call: RpcCall;
  readonly nonceAt: number;
  readonly kind: string;
  /** As with HBase, a failure is told by the procedure's result only: default false. */
  readonly failsLater?: boolean;
}

export const isSystemTable = (name: string): boolean =>
  name === META_TABLE || name === NAMESPACE_TABLE;

/** Throws ConstraintException for the tables that nobody may change. */
export function refuseSystemTable(name: string, what: string): void {
  if (isSystemTable(name)) throw new ConstraintException(`Cannot ${what} catalog table ${name}`);
}
