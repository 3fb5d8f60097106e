export * from './errors.ts';
export * from './format.ts';
export * from './record.ts';
export type { RecordHead } from './record_writer.ts';
export type { LogListener } from './progress.ts';
export type { SegmentInfo } from './segment.ts';
export type { LogHold } from './segment_store.ts';
export * from './recover.ts';
export * from './writer.ts';
