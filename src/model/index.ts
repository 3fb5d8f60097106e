export * from './errors.ts';
export * from './requests.ts';
export * from './schema.ts';
export * from './result.ts';
export * from './api.ts';
