/**
 * Coprocessor calls: the endpoints that clients rely on, and none that they bring.
 *
 *     CoprocessorServiceRequest   1 region · 2 call
 *     CoprocessorServiceCall      1 row · 2 service_name · 3 method_name · 4 request
 *     CoprocessorServiceResponse  1 region · 2 value: NameBytesPair { 1 class of the message · 2 its bytes }
 *     CoprocessorServiceResult    1 value: NameBytesPair
 */
import type { RegionServer } from '../../../engine/index.ts';
import { ProtoReader, ProtoWriter } from '../../../wire/index.ts';
import { RemoteException } from '../exceptions.ts';
import type { RpcAnswer, RpcCall } from '../service.ts';
import { Aggregates } from './aggregate.ts';
import type { Mutates } from './mutate.ts';
import { mutateRowsOf } from './multi_row.ts';
import { isStoreRegion } from './regions.ts';
import type { FoundRegion, RegionFinder } from './regions.ts';

const EMPTY: Uint8Array = new Uint8Array(0);
const PACKAGE = 'hbase.pb.';

/** What an endpoint has answered. */
export class EndpointAnswer {
  readonly #className: string;
  readonly #message: Uint8Array;

  constructor(className: string, message: Uint8Array) {
    this.#className = className;
    this.#message = message;
  }

  /** Writes the NameBytesPair. */
  write(writer: ProtoWriter, field: number): void {
    const mark = writer.begin(field);
    writer.string(1, this.#className);
    writer.bytes(2, this.#message);
    writer.end(mark);
  }

  /** A CoprocessorServiceResult. */
  serviceResult(): Uint8Array {
    const writer = new ProtoWriter(64 + this.#message.length);
    this.write(writer, 1);
    return writer.take();
  }
}

export class Endpoints {
  readonly #regions: RegionFinder;
  readonly #mutates: Mutates;
  readonly #aggregates: Aggregates;

  constructor(engine: RegionServer, regions: RegionFinder, mutates: Mutates) {
    this.#regions = regions;
    this.#mutates = mutates;
    this.#aggregates = new Aggregates(engine);
  }

  async exec(call: RpcCall): Promise<RpcAnswer> {
    const reader = new ProtoReader(call.param);
    let specifier = EMPTY;
    let service: ProtoReader | null = null;
    while (reader.next()) {
      if (reader.field === 1) specifier = reader.bytes();
      else if (reader.field === 2) service = reader.message();
      else reader.skip();
    }
    const found = this.#regions.find(new ProtoReader(specifier));
    if (service === null || !isStoreRegion(found)) {
      throw new RemoteException('UnknownProtocolException', 'No coprocessor service is named');
    }
    const answer = await this.run(found, service);
    const writer = new ProtoWriter(128);
    writer.bytes(1, specifier);
    answer.write(writer, 2);
    return { message: writer.take() };
  }

  /** Runs a CoprocessorServiceCall. Throws UnknownProtocolException for a service or method that is not there. */
  async run(found: FoundRegion, reader: ProtoReader): Promise<EndpointAnswer> {
    let service = '';
    let method = '';
    let request = EMPTY;
    while (reader.next()) {
      switch (reader.field) {
        case 2:
          service = reader.string();
          break;
        case 3:
          method = reader.string();
          break;
        case 4:
          request = reader.bytes();
          break;
        default:
          reader.skip();
      }
    }
    const message = new ProtoReader(request);
    const name = service.startsWith(PACKAGE) ? service.slice(PACKAGE.length) : service;
    if (name === 'MultiRowMutationService' && method === 'MutateRows') {
      const processed = await mutateRowsOf(found, this.#mutates.rows, message);
      return new EndpointAnswer(
        'org.apache.hadoop.hbase.protobuf.generated.MultiRowMutationProtos$MutateRowsResponse',
        Uint8Array.of(0x08, processed ? 1 : 0),
      );
    }
    if (name === 'AggregateService') {
      return new EndpointAnswer(
        'org.apache.hadoop.hbase.protobuf.generated.AggregateProtos$AggregateResponse',
        await this.#aggregates.run(found, method, message),
      );
    }
    throw new RemoteException(
      'UnknownProtocolException',
      `No registered coprocessor service found for name ${service} in region of ${found.table.name}`,
    );
  }
}
