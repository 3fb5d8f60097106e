/** Services whose methods take and give messages only: no cells beside them. */
import { EMPTY_MESSAGE, Fields, MessageWriter } from '../../wire/index.ts';
import type { RpcCall, RpcMethod, RpcService } from '../rpc/service.ts';

/** Answers a message with another; `EMPTY_MESSAGE` where it has no fields. */
export type Handler = (request: Fields, call: RpcCall) => Uint8Array | Promise<Uint8Array>;

export type Handlers = Readonly<Record<string, Handler>>;

/** A service by its methods' names. */
export function serviceOf(name: string, handlers: Handlers): RpcService {
  const methods = new Map<string, RpcMethod>();
  for (const [method, handler] of Object.entries(handlers)) {
    methods.set(method, async (call) => ({ message: await handler(new Fields(call.param), call) }));
  }
  return { name, methods };
}

/** A message whose one field is a bool. */
export function boolMessage(number: number, value: boolean): Uint8Array {
  return new MessageWriter().bool(number, value).finish();
}

/** Asks for nothing, gets nothing. */
export const nothing: Handler = () => EMPTY_MESSAGE;

/**
 * Logs that HBase keeps in memory (slow and large requests, what the balancer decided): there are none here. LogRequest
 * and LogEntry: 1 log_class_name, 2 log_message; the answer's class goes by the request's.
 */
export const noLogEntries: Handler = (request) => {
  const asked = request.text(1) ?? '';
  const answer = asked.endsWith('SlowLogResponseRequest')
    ? asked.replace(/ResponseRequest$/, 'Responses')
    : asked.replace(/Request$/, 'Response');
  return new MessageWriter().text(1, answer).bytes(2, EMPTY_MESSAGE).finish();
};
