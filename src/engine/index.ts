export { open, EmbeddedConnection } from './embedded_connection.ts';
export type { OpenOptions } from './options.ts';
export type { Logger } from './logger.ts';
export { openServer } from './region_server.ts';
export type { RecoverySummary, RegionServer } from './region_server.ts';
export type { TableState } from './table_state.ts';
export type { ReadMoment } from './reads.ts';
