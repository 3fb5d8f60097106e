export { open, EmbeddedConnection } from './embedded_connection.ts';
export type { OpenOptions } from './options.ts';
export type { Logger } from './logger.ts';
export type { RecoverySummary } from './region_server.ts';
