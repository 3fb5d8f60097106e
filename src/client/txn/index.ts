export { ApiClient, ApiException, NoAnswerException } from './api_client.ts';
export type { ApiClientOptions, ApiCredentials, ApiJson } from './api_client.ts';
export { RemoteTransactions } from './remote_transactions.ts';
export { retrying } from './retry.ts';
