export { StoreConnection, open } from './open.ts';
export type { StoreOptions } from './open.ts';
