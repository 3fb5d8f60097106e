/**
 * A server that answers with what it answered before: the limit that the client and the wire set by themselves. It is
 * Cellar's own server up to the services; a call of the hot methods is carried out once for each shape of request, and
 * from then on the same bytes go out. Run as a process of its own; prints its address as a line of JSON. Until a line comes
 * on standard input it is an ordinary server (for the preparation); each further line makes it forget its answers.
 */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { open as openStore } from '../../src/embedded/index.ts';
import type { realEnv as makeEnv } from '../../src/io/index.ts';
import type { Listener as ListenerType } from '../../src/server/listener.ts';
import type { ServerPlace as PlaceType } from '../../src/server/place.ts';
import type { RpcDoor as DoorType } from '../../src/server/rpc/door.ts';
import type { RPC_LIMITS as Limits } from '../../src/server/rpc/limits.ts';
import type { RpcAnswer, RpcCall, RpcMethod, RpcService } from '../../src/server/rpc/service.ts';
import type { serve as serveStore } from '../../src/server/services.ts';

const DIST = path.resolve(import.meta.dirname, '../../../../../dist');
const built = async (file: string): Promise<Record<string, unknown>> =>
  (await import(pathToFileURL(path.join(DIST, file)).href)) as Record<string, unknown>;

/** Requests of one shape get one answer; see `shapeOf`. */
const HOT: ReadonlySet<string> = new Set(['Get', 'Mutate', 'Multi', 'Scan']);

/** Field numbers and offsets of a protobuf message's top level, as far as the shape needs them. */
function fieldsOf(message: Uint8Array): Map<number, number> {
  const fields = new Map<number, number>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++]!;
      if (shift < 49) value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const kind = tag & 7;
    const value = kind === 1 ? ((at += 8), 0) : kind === 5 ? ((at += 4), 0) : varint();
    if (kind === 2) at += value;
    fields.set(tag >>> 3, value);
  }
  return fields;
}

/** Scans: opening, the number of each further call, closing. The others: the length of the message. */
function shapeOf(method: string, { param, cells }: RpcCall): string {
  if (method !== 'Scan') return `${method} ${param.length} ${cells?.length ?? 0}`;
  const fields = fieldsOf(param);
  if (fields.has(2)) return `Scan open ${param.length}`;
  return fields.get(5) === 1 ? 'Scan close' : `Scan next ${fields.get(6) ?? 0}`;
}

const answers = new Map<string, RpcAnswer>();
let isNull = false;
process.stdin.on('data', () => {
  isNull = true;
  answers.clear();
});

function canned(name: string, method: RpcMethod): RpcMethod {
  return async (call) => {
    if (!isNull) return method(call);
    const shape = shapeOf(name, call);
    const known = answers.get(shape);
    if (known !== undefined) return known;
    const { message, cells } = await method(call);
    const kept: RpcAnswer = {
      message: Uint8Array.from(message),
      ...(cells === undefined ? {} : { cells: cells.map((part) => Uint8Array.from(part)) }),
    };
    answers.set(shape, kept);
    return kept;
  };
}

function nullService(service: RpcService): RpcService {
  if (service.name !== 'ClientService') return service;
  const methods = new Map(
    [...service.methods].map(([name, method]) => [
      name,
      HOT.has(name) ? canned(name, method) : method,
    ]),
  );
  return { ...service, name: service.name, methods };
}

const { open } = (await built('embedded/index.js')) as { open: typeof openStore };
const { realEnv } = (await built('io/index.js')) as { realEnv: typeof makeEnv };
const { Listener } = (await built('server/listener.js')) as { Listener: typeof ListenerType };
const { ServerPlace } = (await built('server/place.js')) as { ServerPlace: typeof PlaceType };
const { RpcDoor } = (await built('server/rpc/door.js')) as { RpcDoor: typeof DoorType };
const { RPC_LIMITS } = (await built('server/rpc/limits.js')) as { RPC_LIMITS: typeof Limits };
const { serve } = (await built('server/services.js')) as { serve: typeof serveStore };

const env = realEnv();
const connection = await open();
const { logger } = connection.server;
const place = new ServerPlace({ startCode: Date.now(), clusterId: '', advertised: null });
const served = await serve({
  connection,
  engine: connection.server,
  env,
  place,
  logger,
  limits: RPC_LIMITS,
});
const door = new RpcDoor({
  services: served.services.map(nullService),
  env,
  limits: RPC_LIMITS,
  clusterId: place.clusterId,
  logger,
});
const listener = await Listener.start({
  host: '127.0.0.1',
  port: 0,
  accept: (socket) => door.accept(socket),
});
place.rpcPort = listener.port;
console.log(JSON.stringify({ ready: true, rpc: listener.address }));
