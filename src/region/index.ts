export { MutationBuffer, POOLED_SIZE_MAX, hashBytes } from './mutation_buffer.ts';
export type { OldCells } from './mutation_buffer.ts';
export { RowLocks } from './row_locks.ts';
export { Store } from './store.ts';
export type { HistoryFile, SourceWishes } from './store.ts';
export { StoreTally } from './explain_sources.ts';
export { FileWindow } from './file_window.ts';
export { RowPlaces } from './row_places.ts';
export type { PlacedSource } from './row_places.ts';
export { RowSeek } from './row_seek.ts';
export { StoreFile } from './store_file.ts';
export type { FileContext } from './store_file.ts';
export type { StoreFileInfo } from './store_file_info.ts';
export { rewriteJob } from './rewrite.ts';
export type { RewriteFile, RewriteInput, RewriteOutput } from './rewrite.ts';
export { historyMergeJob } from './history_merge.ts';
export type { HistoryInput, HistoryMergeInput, HistoryMergeOutput } from './history_merge.ts';
export { DroppedAfter, TAG_DROP_TSO } from './drop_tag.ts';
export { rowRangeOf } from './row_range_source.ts';
export {
  COMPACTION_RULES,
  OFF_PEAK_RATIO,
  isOffPeak,
  selectCompaction,
} from './compaction_policy.ts';
export type { CompactionCandidate, CompactionRules, OffPeakHours } from './compaction_policy.ts';
export { Region, regionIndexOf } from './region.ts';
export * from './scan/index.ts';
export * from './memstore/index.ts';
