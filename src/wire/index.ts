export { MalformedMessageException } from './errors.ts';
export { ProtoReader } from './proto_reader.ts';
export { ProtoWriter } from './proto_writer.ts';
