export { EMPTY_MESSAGE, Fields, MessageWriter } from './fields.ts';
export * from './messages.ts';
