export { addApi } from './api.ts';
export type { ApiOptions } from './parts.ts';
export { Authenticator } from './auth.ts';
export type { ApiAuth, ApiToken, ApiUser } from './auth.ts';
export { transactionMetricsText } from './metrics.ts';
