/** Numbers of tables and families, taken before the table is made. */
import type { Manifest } from '../manifest/index.ts';
import type { TableSchema } from '../model/index.ts';

/** Numbers of a table that is to come. */
export interface TableIds {
  readonly tableId: number;
  /** By name. */
  readonly familyIds: Readonly<Record<string, number>>;
}

/** Takes numbers for a table and its families; on the disk with the next commit of the manifest, whatever that is of. */
export function takeTableIds(manifest: Manifest, schema: TableSchema): TableIds {
  return {
    tableId: manifest.takeId('table'),
    // `fromEntries` and `hasOwn`: a family may have the name of a member of every object, such as `constructor`.
    familyIds: Object.fromEntries(
      schema.families.map(({ name }) => [name, manifest.takeId('family')]),
    ),
  };
}
