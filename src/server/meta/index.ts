/** The cluster that clients see: who its one server is, and its tables of tables. */
export { Cluster, HBASE_VERSION } from './cluster.ts';
export { regionInfosOf } from './meta_rows.ts';
export { compareMetaRows } from './row_order.ts';
export type { SwitchName } from './switches.ts';
export {
  META_ENCODED_NAME,
  META_REGION,
  META_REGION_NAME,
  META_TABLE,
  NAMESPACE_TABLE,
  SystemTables,
  fullName,
} from './system_tables.ts';
