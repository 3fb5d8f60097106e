/** Exports, imports, backups and restores, the log's archive, forks and differences. */
export * from './errors.ts';
export type { WorkFigures, WorkOptions } from './work.ts';
export { exportTables } from './export.ts';
export type { ExportOptions } from './export.ts';
export { EXPORT_FORMATS, readExportManifest } from './export_manifest.ts';
export type { ExportedTable, ExportFormat, ExportManifest } from './export_manifest.ts';
export { importTables } from './import.ts';
export type { ImportOptions, ImportedTable } from './import.ts';
export { verifyExport } from './verify.ts';
export type { Fault, VerifyOptions, VerifyReport } from './verify.ts';
