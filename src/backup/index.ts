/** Exports, imports, backups and restores, the log's archive, forks and differences. */
export * from './errors.ts';
export { Work } from './work.ts';
export type { WorkFigures, WorkOptions } from './work.ts';
export { exportTables } from './export.ts';
export type { ExportOptions } from './export.ts';
export { EXPORT_FORMATS, readExportManifest } from './export_manifest.ts';
export type { ExportedTable, ExportFormat, ExportManifest } from './export_manifest.ts';
export { importTables } from './import.ts';
export type { ImportOptions, ImportedTable } from './import.ts';
export { verifyExport } from './verify.ts';
export type { Fault, VerifyOptions, VerifyReport } from './verify.ts';
export { createBackup, reconcile } from './create_backup.ts';
export type { BackupOptions } from './create_backup.ts';
export type { Backup } from './backup_format.ts';
export { chainOf, chooseChain, findBackup, listBackups } from './chains.ts';
export type { BackupSet, BrokenBackup } from './chains.ts';
export {
  deleteBackups,
  holdsBackups,
  mergeBackups,
  pruneBackups,
  summaryOf,
  verifyBackups,
} from './backup_admin.ts';
export type { BackupSummary, PruneRule } from './backup_admin.ts';
export { restoreBackup, restoreIntoServer } from './restore.ts';
export type { RestoreOptions, RestoreReport } from './restore_run.ts';
export { openReadOnly } from './read_only.ts';
export type { ReadOnlyOptions } from './read_only.ts';
export { forkStore } from './fork.ts';
export type { ForkOptions, ForkReport } from './fork.ts';
export { diffMoments, diffStores, scanBytes } from './diff.ts';
export type { DiffOptions, Difference, TableDifference } from './diff.ts';
export { keepLog } from './log_keeping.ts';
export type { LogKeeping, SegmentSum } from './log_keeping.ts';
export {
  logOfBackups,
  logOfServer,
  replayInto,
  replayToHFiles,
  withLogSource,
} from './wal_replay.ts';
export type { LogSource, ReplayOptions, ReplayReport } from './wal_replay.ts';
export { plainOf, richOf } from './backup_format.ts';
export { managerOf, runTask, taskOf } from './tasks.ts';
export type { Task, TaskResults, TaskWork } from './tasks.ts';
export { resultsOf } from './read_task.ts';
export type { ReadReport, ReadRows, ReadTask } from './read_task.ts';
