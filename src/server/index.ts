export { BindException } from './errors.ts';
export { HTTP_HOST, HTTP_LIMITS, HTTP_PORT } from './http_limits.ts';
export type { HttpLimits } from './http_limits.ts';
export { advertiseAt } from './advertise.ts';
export { hostPortText, parseHostPort } from './place.ts';
export type { HostPort } from './place.ts';
export { RPC_LIMITS } from './rpc/limits.ts';
export type { RpcLimits } from './rpc/limits.ts';
export { RPC_PORT, ZOOKEEPER_PORT, startServer } from './server.ts';
export type {
  Announcing,
  DoorOptions,
  RunningServer,
  ServerAddresses,
  ServerOptions,
} from './server.ts';
export type { ApiAuth, ApiOptions, ApiToken, ApiUser } from './http_api/index.ts';
