export { StoreConnection, open } from './open.ts';
