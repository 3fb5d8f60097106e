export * from './env.ts';
export * from './errors.ts';
