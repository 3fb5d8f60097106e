/**
 * XA's verbs on the same transactions: an xid is the label `xa:<format>:<gtrid>:<bqual>`. ACTIVE and IDLE are both OPEN; IDLE
 * takes no more loads.
 */
import { StoreException } from '../io/index.ts';
import { TransactionException, XaException } from '../model/index.ts';
import type {
  LoadOperation,
  LoadOptions,
  LoadResult,
  TransactionAnswer,
  TransactionOptions,
  XaCode,
  XaResource,
  Xid,
} from '../model/index.ts';
import type { TransactionManager } from './manager.ts';

const HEX = /^(?:[0-9a-f]{2}){0,64}$/;
const PREFIX = 'xa:';

/** Throws XAER_INVAL. */
export function labelOfXid(xid: Xid): string {
  const { format, gtrid, bqual } = xid;
  const isRight =
    Number.isInteger(format) &&
    format >= 0 &&
    format < 2 ** 31 &&
    typeof gtrid === 'string' &&
    typeof bqual === 'string' &&
    HEX.test(gtrid) &&
    HEX.test(bqual) &&
    gtrid !== '';
  if (!isRight) {
    throw new XaException(
      'XAER_INVAL',
      'an xid is a format and gtrid (not empty) and bqual of at most 64 bytes in hex digits',
    );
  }
  return `${PREFIX}${format}:${gtrid}:${bqual}`;
}

/** Null: no label of an xid. */
export function xidOfLabel(label: string): Xid | null {
  const match = /^xa:(\d+):([0-9a-f]*):([0-9a-f]*)$/.exec(label);
  if (match === null) return null;
  return { format: Number(match[1]), gtrid: match[2]!, bqual: match[3]! };
}

export class XaVerbs implements XaResource {
  readonly #manager: TransactionManager;

  constructor(manager: TransactionManager) {
    this.#manager = manager;
  }

  start(xid: Xid, options: Omit<TransactionOptions, 'label'> = {}): Promise<TransactionAnswer> {
    return asXa(() => this.#manager.begin({ ...options, label: labelOfXid(xid) }));
  }

  async end(xid: Xid, options: { readonly resume?: boolean } = {}): Promise<void> {
    await asXa(() => this.#manager.end({ label: labelOfXid(xid) }, options.resume !== true));
  }

  load(
    xid: Xid,
    seq: number,
    operations: readonly LoadOperation[],
    options: LoadOptions = {},
  ): Promise<LoadResult> {
    return asXa(() => this.#manager.load({ label: labelOfXid(xid) }, seq, operations, options));
  }

  prepare(xid: Xid): Promise<'XA_OK' | 'XA_RDONLY'> {
    return asXa(async () => {
      const label = labelOfXid(xid);
      await this.#mustBeIdle(label);
      const { empty } = await this.#manager.prepare({ label });
      return empty ? 'XA_RDONLY' : 'XA_OK';
    });
  }

  commit(xid: Xid, options: { readonly onePhase?: boolean } = {}): Promise<TransactionAnswer> {
    return asXa(async () => {
      const label = labelOfXid(xid);
      if (options.onePhase === true) await this.#mustBeIdle(label);
      return this.#manager.commit({ label }, options);
    });
  }

  async #mustBeIdle(label: string): Promise<void> {
    if (!this.#manager.isActive({ label })) return;
    throw new XaException('XAER_PROTO', `${label} is ACTIVE: end it first`);
  }

  async rollback(xid: Xid): Promise<void> {
    const { notFound } = await asXa(() => this.#manager.rollback({ label: labelOfXid(xid) }));
    if (notFound) throw new XaException('XAER_NOTA', `there is no transaction ${labelOfXid(xid)}`);
  }

  async forget(xid: Xid): Promise<void> {
    await asXa(() => this.#manager.forget({ label: labelOfXid(xid) }));
  }

  recover(
    options: { readonly prefix?: string; readonly limit?: number; readonly after?: bigint } = {},
  ): Promise<readonly { readonly xid: Xid; readonly txnId: bigint }[]> {
    const { prefix = '', limit = 10_000, after } = options;
    return asXa(async () => {
      const prepared = await this.#manager.list({
        state: 'PREPARED',
        prefix: PREFIX,
        limit: 10_000,
        ...(after === undefined ? {} : { after }),
      });
      const found = prepared.flatMap(({ label, txnId }) => {
        const xid = xidOfLabel(label);
        return xid === null || !xid.gtrid.startsWith(prefix.toLowerCase()) ? [] : [{ xid, txnId }];
      });
      return found.slice(0, limit);
    });
  }
}

async function asXa<T>(verb: () => Promise<T>): Promise<T> {
  try {
    return await verb();
  } catch (error) {
    throw xaExceptionOf(error);
  }
}

const TIMEOUTS: ReadonlySet<string> = new Set(['TIMEOUT', 'IDLE_TIMEOUT', 'PREPARED_TIMEOUT']);

/** XA's word for what a verb was refused with. */
export function xaExceptionOf(error: unknown): XaException {
  if (error instanceof XaException) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new XaException(codeOf(error), message, { cause: error });
}

function codeOf(error: unknown): XaCode {
  if (!(error instanceof TransactionException)) {
    if (!(error instanceof StoreException)) return 'XAER_RMERR';
    return error.retryable ? 'XAER_RMFAIL' : 'XAER_INVAL';
  }
  switch (error.code) {
    case 'LABEL_ALREADY_EXISTS':
      return 'XAER_DUPID';
    case 'TXN_NOT_FOUND':
      return 'XAER_NOTA';
    case 'NOT_PREPARED':
    case 'TXN_SEALED':
    case 'TXN_COMMITTED':
    case 'SEQ_CONFLICT':
      return 'XAER_PROTO';
    case 'TXN_ABORTED':
      return TIMEOUTS.has(error.facts.status?.reason ?? '') ? 'XA_RBTIMEOUT' : 'XA_RBROLLBACK';
    case 'TXN_CONFLICT':
    case 'FENCED':
      return 'XA_RBROLLBACK';
    case 'TXN_DATA_CORRUPT':
      return 'XAER_RMERR';
    default:
      return error.retryable ? 'XAER_RMFAIL' : 'XAER_INVAL';
  }
}
