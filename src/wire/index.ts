export { MalformedMessageException } from './errors.ts';
export { ProtoReader } from './proto_reader.ts';
export { ProtoWriter } from './proto_writer.ts';
export * from './rpc_header.ts';
export * from './admin/index.ts';
