/**
 * Cellar as a library: `import { open } from 'cellardb'`. Everything that users hold is here; the rest of `src` is not
 * public and may change.
 */
export { StoreConnection, open } from './embedded/index.ts';
export type { StoreOptions } from './embedded/index.ts';
export { EmbeddedConnection } from './engine/index.ts';
export type { Logger, OpenOptions, RecoverySummary } from './engine/index.ts';
export * from './model/index.ts';
export * from './filter/builders.ts';
export {
  BaseFilter,
  describeFilter,
  filterFromJson,
  filterToJson,
  parseFilter,
} from './filter/index.ts';
export type { CellView, SeekKey } from './cell/index.ts';
export {
  CorruptionException,
  DiskFullException,
  FileNotFoundException,
  FolderLockedException,
  InvariantError,
  IoException,
  ReadOnlyException,
  StoreException,
} from './io/index.ts';
export { fromStringBinary, toStringBinary } from './cell/index.ts';
export type {
  Change,
  ChangeCell,
  ChangesOptions,
  CommitChange,
  GapChange,
  WatermarkChange,
} from './backup/feed/index.ts';
export type { TransactionKnobs } from './txn/index.ts';
export { ExactlyOnceException, ExactlyOnceWriter } from './client/exactly_once_writer.ts';
export type {
  Committable,
  ExactlyOnceOptions,
  RestoredState,
  WriteMode,
} from './client/exactly_once_writer.ts';
export {
  ApiClient,
  ApiException,
  NoAnswerException,
  RemoteTransactions,
} from './client/txn/index.ts';
export type { ApiClientOptions, ApiCredentials } from './client/txn/index.ts';
export { realEnv } from './io/index.ts';
export { BindException, startServer } from './server/index.ts';
export type {
  DoorOptions,
  HostPort,
  RunningServer,
  ServerAddresses,
  ServerOptions,
} from './server/index.ts';
export {
  diffMoments,
  diffStores,
  listBackups,
  mergeBackups,
  openReadOnly,
  restoreBackup,
  verifyBackups,
  verifyExport,
} from './backup/index.ts';
export type {
  BackupOptions,
  BackupSummary,
  Difference,
  ExportManifest,
  ExportOptions,
  ForkOptions,
  ForkReport,
  ImportOptions,
  ImportedTable,
  ReadOnlyOptions,
  RestoreOptions,
  RestoreReport,
  TableDifference,
  VerifyReport,
} from './backup/index.ts';
export { Backups } from './embedded/index.ts';
