export { Memstore } from './memstore.ts';
export type { MemstoreOptions } from './memstore.ts';
export { MemstoreCursor } from './cursor.ts';
export { imageCursor } from './image.ts';
export type { MemstoreImage } from './image.ts';
export type { MemstoreStats } from './stats.ts';
