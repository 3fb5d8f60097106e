export { open, EmbeddedConnection } from './embedded_connection.ts';
export type { OpenOptions } from './options.ts';
export type { Logger } from './logger.ts';
export { ByteRows } from './byte_rows.ts';
export type { ByteCondition, ColumnComparison, RowAnswer } from './byte_rows.ts';
export { MUTATE_APPEND, MUTATE_DELETE, MUTATE_INCREMENT, MUTATE_PUT } from './byte_mutation.ts';
export type { ByteMutation, MutateType } from './byte_mutation.ts';
export { oneRowOf } from './read_filter.ts';
export type { PastHold } from './pins.ts';
export type { ReadMoment } from '../region/index.ts';
export type { TableState } from './table_state.ts';
export type { LoadOptions } from './bulk_load.ts';
export { openServer } from './region_server.ts';
export type { RecoverySummary, RegionServer } from './region_server.ts';
export {
  CellEncoder,
  RowScratch,
  encodeDelete,
  encodePut,
  needsNewest,
  CELL_SIZE_MAX,
} from './encode.ts';
export { EmbeddedTable } from './embedded_table.ts';
export type { CommitPart } from './commit_queue.ts';
export { isLess, joinHalves, highOf, lowOf } from './read_point.ts';
export { isIntended } from './row_writer.ts';
export { RowIntents } from './row_intents.ts';
export { middleRow } from './split_point.ts';
export { captureTables } from './capture.ts';
export type { Capture, CapturedFile, CapturedTable } from './capture.ts';
export {
  ARCHIVED_FLAG,
  ARCHIVE_SETTING,
  backupDetail,
  locationKey,
  packBackupDetail,
} from './log_archive.ts';
export type { ArchiveHold, BackupDetail, LogNeed } from './log_archive.ts';
export type { TableToPlace } from './schema_changes.ts';
export { takeTableIds } from './table_ids.ts';
export type { TableIds } from './table_ids.ts';
export { MERGED_FLAG, PART_FLAG } from './store_files.ts';
export { isRowWrittenInMemory, isRowWrittenSince } from './written_since.ts';
export { transactOverAll } from './transact.ts';
export { commitOptions } from './embedded_table.ts';
export { hiddenName } from './catalog.ts';
export { readOld } from './old_values.ts';
