/**
 * MasterService on tables: their descriptors, their states, and what changes them (protocol/admin.md section 3; the fields
 * are those of messages/Master.md). A change is a procedure whose number is field 1 of the answer.
 */
import { DoNotRetryIOException, IllegalArgumentException } from '../../model/index.ts';
import type { TableSchema } from '../../model/index.ts';
import { TableNotDisabledException, parseTableName } from '../../model/index.ts';
import {
  MessageWriter,
  decodeFamily,
  decodeTable,
  decodeTableName,
  encodeTable,
  encodeTableName,
  encodeTableState,
} from '../../wire/index.ts';
import type { Fields } from '../../wire/index.ts';
import { META_TABLE } from '../meta/index.ts';
import type { Handlers } from '../meta/handlers.ts';
import { namePattern } from '../meta/regex.ts';
import { isSystemTable, refuseSystemTable } from './master.ts';
import type { Master } from './master.ts';
import { FILE_TRACKER, changeOf, familyChangeOf, familySpecOf, specOf, told } from './schema.ts';

export function tableHandlers(master: Master): Handlers {
  return { ...readers(master), ...changers(master), ...familyChangers(master) };
}

function readers(master: Master): Handlers {
  const { catalog } = master.engine;
  return {
    GetSchemaAlterStatus: (request) => {
      const { enabled, regions } = master.table(decodeTableName(request.message(1)));
      const total = enabled ? regions.length : 0;
      return new MessageWriter().int(1, 0).int(2, total).finish();
    },
    GetTableDescriptors: (request) => {
      const names = request.messages(1).map(decodeTableName);
      const schemas =
        names.length > 0
          ? names.flatMap((name) => schemasOf(master).filter((schema) => schema.name === name))
          : selectTables(master, request, { regex: 2, includeSystem: 3, namespace: 4 });
      return new MessageWriter()
        .allBytes(
          1,
          schemas.map((schema) => encodeTable(told(schema))),
        )
        .finish();
    },
    GetTableNames: (request) => {
      const schemas = selectTables(master, request, { regex: 1, includeSystem: 2, namespace: 3 });
      return namesMessage(schemas);
    },
    ListTableDescriptorsByState: (request) =>
      new MessageWriter()
        .allBytes(
          1,
          inState(master, request).map((schema) => encodeTable(told(schema))),
        )
        .finish(),
    ListTableNamesByState: (request) => namesMessage(inState(master, request)),
    ListTableDescriptorsByNamespace: (request) =>
      new MessageWriter()
        .allBytes(
          1,
          inNamespace(master, request.text(1) ?? '').map((schema) => encodeTable(told(schema))),
        )
        .finish(),
    ListTableNamesByNamespace: (request) =>
      namesMessage(inNamespace(master, request.text(1) ?? '')),
    GetTableState: (request) => {
      const name = decodeTableName(request.message(1));
      const enabled = isSystemTable(name) ? true : master.table(name).enabled;
      return new MessageWriter().bytes(1, encodeTableState(enabled)).finish();
    },
    getLastMajorCompactionTimestamp: (request) => {
      const table = catalog.find(decodeTableName(request.message(1)));
      const stamps = (table?.regions ?? []).map((region) => master.majorCompactionMs(region));
      const oldest = stamps.length === 0 ? 0 : Math.min(...stamps);
      return new MessageWriter().int(1, oldest).finish();
    },
  };
}

function changers(master: Master): Handlers {
  const { schema, background } = master.engine;
  return {
    CreateTable: (request, call) =>
      master.procedure({ request, call, nonceAt: 3, kind: 'CreateTableProcedure' }, async () => {
        const table = decodeTable(request.message(1));
        master.checkNamespace(parseTableName(table.name).namespace);
        await schema.createTable(specOf(table, splitKeysOf(request.allBytes(2))));
      }),
    DeleteTable: (request, call) =>
      master.procedure({ request, call, nonceAt: 2, kind: 'DeleteTableProcedure' }, async () => {
        const name = decodeTableName(request.message(1));
        refuseSystemTable(name, 'delete');
        checkDisabled(master, name);
        await schema.dropTable(name);
      }),
    truncateTable: (request, call) =>
      master.procedure({ request, call, nonceAt: 3, kind: 'TruncateTableProcedure' }, async () => {
        const name = decodeTableName(request.message(1));
        refuseSystemTable(name, 'truncate');
        checkDisabled(master, name);
        await schema.truncateTable(name, { preserveSplits: request.bool(2, false) });
      }),
    EnableTable: (request, call) => {
      const name = decodeTableName(request.message(1));
      refuseSystemTable(name, 'enable');
      const { name: known } = master.table(name);
      const kind = 'EnableTableProcedure';
      return master.procedure({ request, call, nonceAt: 2, kind, failsLater: true }, () =>
        schema.setEnabled(known, true),
      );
    },
    DisableTable: (request, call) =>
      master.procedure({ request, call, nonceAt: 2, kind: 'DisableTableProcedure' }, async () => {
        const name = decodeTableName(request.message(1));
        refuseSystemTable(name, 'disable');
        await schema.setEnabled(master.table(name).name, false);
      }),
    ModifyTable: (request, call) =>
      master.procedure({ request, call, nonceAt: 3, kind: 'ModifyTableProcedure' }, async () => {
        const name = decodeTableName(request.message(1));
        refuseSystemTable(name, 'modify');
        const old = master.table(name).schema;
        await schema.alterTable(changeOf(old, withTracker(old, decodeTable(request.message(2)))));
      }),
    ModifyTableStoreFileTracker: (request, call) => {
      const kind = 'ModifyTableStoreFileTrackerProcedure';
      return master.procedure({ request, call, nonceAt: 3, kind }, async () => {
        const table = master.table(decodeTableName(request.message(1)));
        const tracker = checkedTracker(request.text(2) ?? '');
        await schema.alterTable({ name: table.name, METADATA: { [FILE_TRACKER]: tracker } });
      });
    },
    FlushTable: (request, call) =>
      master.procedure({ request, call, nonceAt: 3, kind: 'FlushTableProcedure' }, async () => {
        const name = decodeTableName(request.message(1));
        if (isSystemTable(name)) return;
        master.table(name);
        await background.flushTableOnly(master.engine.catalog.enabled(name));
      }),
  };
}

function familyChangers(master: Master): Handlers {
  const { schema } = master.engine;
  return {
    AddColumn: (request, call) =>
      master.procedure({ request, call, nonceAt: 3, kind: 'ModifyTableProcedure' }, async () => {
        const table = changeable(master, request);
        await schema.addFamily(table.name, familySpecOf(decodeFamily(request.messages(2)[0]!)));
      }),
    ModifyColumn: (request, call) =>
      master.procedure({ request, call, nonceAt: 3, kind: 'ModifyTableProcedure' }, async () => {
        const table = changeable(master, request);
        const family = decodeFamily(request.messages(2)[0]!);
        const old = table.schema.families.find(({ name }) => name === family.name);
        await schema.modifyFamily(table.name, familyChangeOf(old ?? null, family));
      }),
    DeleteColumn: (request, call) =>
      master.procedure({ request, call, nonceAt: 3, kind: 'ModifyTableProcedure' }, async () => {
        const table = changeable(master, request);
        await schema.dropFamily(table.name, request.text(2) ?? '');
      }),
    ModifyColumnStoreFileTracker: (request, call) => {
      const kind = 'ModifyColumnFamilyStoreFileTrackerProcedure';
      return master.procedure({ request, call, nonceAt: 4, kind }, async () => {
        const table = changeable(master, request);
        const tracker = checkedTracker(request.text(3) ?? '');
        const family = { name: request.text(2) ?? '', CONFIGURATION: { [FILE_TRACKER]: tracker } };
        await schema.modifyFamily(table.name, family);
      });
    },
  };
}

function changeable(master: Master, request: Fields): { name: string; schema: TableSchema } {
  const name = decodeTableName(request.message(1));
  refuseSystemTable(name, 'modify');
  return master.table(name);
}

/** Throws TableNotFoundException, TableNotDisabledException with HBase's words. */
function checkDisabled(master: Master, name: string): void {
  if (!master.table(name).enabled) return;
  throw new TableNotDisabledException(`Not DISABLED; tableName=${name}, state=ENABLED`);
}

/** Clients that know nothing of trackers leave the table's own in place. */
function withTracker(old: TableSchema, next: TableSchema): TableSchema {
  const tracker = old.attributes[FILE_TRACKER];
  if (tracker === undefined) return next;
  return { ...next, attributes: { [FILE_TRACKER]: tracker, ...next.attributes } };
}

const TRACKERS: ReadonlySet<string> = new Set(['DEFAULT', 'FILE', 'MIGRATION']);

function checkedTracker(tracker: string): string {
  if (TRACKERS.has(tracker.toUpperCase())) return tracker.toUpperCase();
  throw new DoNotRetryIOException(`Unsupported store file tracker ${tracker}`);
}

/** Split keys are where the second and later regions begin: the client has left out the first. */
function splitKeysOf(keys: readonly Uint8Array[]): Uint8Array[] {
  if (keys.some((key) => key.length === 0)) {
    throw new IllegalArgumentException('Split keys must not be empty');
  }
  return keys.map((key) => Uint8Array.from(key));
}

function namesMessage(schemas: readonly TableSchema[]): Uint8Array {
  const names = schemas.map(({ name }) => encodeTableName(name));
  return new MessageWriter().allBytes(1, names).finish();
}

/** All descriptors, those of system tables too, by namespace and name. */
function schemasOf(master: Master): TableSchema[] {
  const user = master.engine.catalog.userTables().map(({ schema }) => schema);
  return [...user, ...master.cluster.system.schemas].sort((a, b) => compareNames(a.name, b.name));
}

function compareNames(one: string, other: string): number {
  const a = parseTableName(one);
  const b = parseTableName(other);
  if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1;
  return a.qualifier < b.qualifier ? -1 : 1;
}

function inNamespace(master: Master, namespace: string): TableSchema[] {
  master.checkNamespace(namespace);
  return schemasOf(master).filter(({ name }) => parseTableName(name).namespace === namespace);
}

function inState(master: Master, request: Fields): TableSchema[] {
  const wanted = request.bool(1, true);
  return schemasOf(master).filter(
    ({ name }) => (master.engine.catalog.find(name)?.enabled ?? true) === wanted,
  );
}

/** By regular expression and namespace, whose fields differ from message to message. */
function selectTables(
  master: Master,
  request: Fields,
  at: { readonly regex: number; readonly includeSystem: number; readonly namespace: number },
): TableSchema[] {
  const namespace = request.text(at.namespace) ?? '';
  const includesSystem = request.bool(at.includeSystem, false);
  const regex = request.text(at.regex);
  const matches = regex === null ? (): boolean => true : namePattern(regex);
  const schemas = namespace === '' ? schemasOf(master) : inNamespace(master, namespace);
  return schemas.filter(({ name }) => {
    const isDefault = !name.includes(':');
    if (!includesSystem && (name === META_TABLE || name.startsWith('hbase:'))) return false;
    return matches(name) || (isDefault && matches(`default:${name}`));
  });
}
