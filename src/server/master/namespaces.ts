/**
 * MasterService on namespaces (protocol/admin.md section 4). A descriptor is field 1 of what is sent for it, the nonce's
 * group field 2.
 */
import { ConstraintException, DoNotRetryIOException, parseTableName } from '../../model/index.ts';
import { MessageWriter, decodeNamespace, encodeNamespace } from '../../wire/index.ts';
import type { Handlers } from '../meta/handlers.ts';
import type { Master } from './master.ts';

export function namespaceHandlers(master: Master): Handlers {
  const { schema, manifest } = master.engine;
  const descriptor = (name: string): Uint8Array => {
    const configuration = manifest.get('namespace', name)?.configuration ?? {};
    return encodeNamespace({ name, configuration });
  };
  return {
    CreateNamespace: (request, call) =>
      master.procedure(
        { request, call, nonceAt: 2, kind: 'CreateNamespaceProcedure' },
        async () => {
          const { name, configuration } = decodeNamespace(request.message(1));
          await schema.createNamespace(name, configuration);
        },
      ),
    ModifyNamespace: (request, call) =>
      master.procedure(
        { request, call, nonceAt: 2, kind: 'ModifyNamespaceProcedure' },
        async () => {
          const { name, configuration } = decodeNamespace(request.message(1));
          master.checkNamespace(name);
          await schema.modifyNamespace(name, configuration);
        },
      ),
    DeleteNamespace: (request, call) =>
      master.procedure(
        { request, call, nonceAt: 2, kind: 'DeleteNamespaceProcedure' },
        async () => {
          const name = request.text(1);
          if (name === null) throw new DoNotRetryIOException('namespaceName is missing');
          master.checkNamespace(name);
          checkEmpty(master, name);
          await schema.dropNamespace(name);
        },
      ),
    GetNamespaceDescriptor: (request) => {
      const name = request.text(1) ?? '';
      master.checkNamespace(name);
      return new MessageWriter().bytes(1, descriptor(name)).finish();
    },
    ListNamespaceDescriptors: () =>
      new MessageWriter().allBytes(1, schema.namespaces().map(descriptor)).finish(),
    ListNamespaces: () => new MessageWriter().texts(1, schema.namespaces()).finish(),
  };
}

/** Throws ConstraintException in HBase's words. */
function checkEmpty({ engine }: Master, name: string): void {
  const tables = engine.catalog
    .userTables()
    .filter((table) => parseTableName(table.name).namespace === name);
  if (tables.length === 0 || name === 'default') return;
  throw new ConstraintException(
    `Only empty namespaces can be removed. Namespace ${name} has ${tables.length} tables`,
  );
}
