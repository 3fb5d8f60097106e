export { MutationBuffer, POOLED_SIZE_MAX, hashBytes } from './mutation_buffer.ts';
export { RowLocks } from './row_locks.ts';
export { Store } from './store.ts';
export type { StoreLayer } from './store.ts';
export { Region, regionIndexOf } from './region.ts';
export * from './scan/index.ts';
export * from './memstore/index.ts';
