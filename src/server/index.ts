export { BindException } from './errors.ts';
export { HTTP_HOST, HTTP_LIMITS, HTTP_PORT } from './http.ts';
export type { HttpLimits } from './http.ts';
export { startServer } from './server.ts';
export type { Announcing, RunningServer, ServerAddresses, ServerOptions } from './server.ts';
