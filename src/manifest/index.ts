export * from './errors.ts';
export * from './layout.ts';
export * from './records.ts';
export {
  COLLECTION_NAMES,
  type AnyEdit,
  type Edit,
  put,
  type PutEdit,
  remove,
  type RemoveEdit,
} from './state.ts';
export * from './manifest.ts';
export * from './describe.ts';
