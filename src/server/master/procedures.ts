/**
 * Procedures (protocol/admin.md section 2). The work is done at once; what takes longer than a client should wait for one
 * answer goes on under its number, and the client polls. A failure that comes before the first answer is that answer. A
 * request that is repeated (same nonce) gets the number of the first.
 *
 *     GetProcedureResultResponse   1 state (0 not found, 1 running, 2 finished), 2 submitted_time, 3 last_update, 5 exception
 *     ForeignExceptionMessage      1 source, 2 generic_exception { 1 class_name, 2 message }
 *     Procedure                    1 class_name, 3 proc_id, 4 submitted_time, 5 owner, 6 state (2 runnable, 6 success,
 *                                  7 failed), 8 last_update
 */
import type { Env } from '../../io/index.ts';
import { MessageWriter } from '../../wire/index.ts';
import type { Fields } from '../../wire/index.ts';
import { exceptionOf } from '../rpc/exceptions.ts';

/** A first answer is given after this, done or not: well below a client's time-out. */
const FIRST_ANSWER_MS = 5_000;
/** Finished procedures that are remembered; more than clients ever poll. */
const KEPT_MAX = 1_000;

interface Procedure {
  readonly id: number;
  readonly kind: string;
  readonly owner: string;
  readonly submittedMs: number;
  updatedMs: number;
  isDone: boolean;
  error: Error | null;
  readonly done: Promise<void>;
}

export interface ProcedureRequest {
  /** What is told of it in lists: HBase's class of such a procedure. */
  readonly kind: string;
  readonly owner: string;
  /** Of the request; null: it has none. */
  readonly nonce: string | null;
  /** Its failure is told by its result only. */
  readonly failsLater?: boolean;
}

export class Procedures {
  readonly #env: Pick<Env, 'clock' | 'timers'>;
  readonly #byId = new Map<number, Procedure>();
  readonly #byNonce = new Map<string, Procedure>();
  #lastId = 0;

  constructor(env: Pick<Env, 'clock' | 'timers'>) {
    this.#env = env;
  }

  /** A number of its own for what is told as a procedure and kept elsewhere. */
  takeId(): number {
    return ++this.#lastId;
  }

  /** Runs the work and answers its number. Throws what it throws, if that is soon. */
  async run(request: ProcedureRequest, work: () => Promise<void>): Promise<number> {
    const { nonce } = request;
    const known = nonce === null ? undefined : this.#byNonce.get(nonce);
    const procedure = known ?? this.#start(request, work);
    if (nonce !== null) this.#byNonce.set(nonce, procedure);
    await this.#firstAnswer(procedure);
    if (procedure.error !== null && request.failsLater !== true) throw procedure.error;
    return procedure.id;
  }

  #start({ kind, owner }: ProcedureRequest, work: () => Promise<void>): Procedure {
    const nowMs = this.#env.clock.nowMs();
    const finish = (error: Error | null): void => {
      procedure.isDone = true;
      procedure.error = error;
      procedure.updatedMs = this.#env.clock.nowMs();
    };
    const procedure: Procedure = {
      id: this.takeId(),
      kind,
      owner,
      submittedMs: nowMs,
      updatedMs: nowMs,
      isDone: false,
      error: null,
      done: work().then(
        () => finish(null),
        (error: unknown) => finish(error instanceof Error ? error : new Error(String(error))),
      ),
    };
    this.#byId.set(procedure.id, procedure);
    this.#forgetOld();
    return procedure;
  }

  async #firstAnswer(procedure: Procedure): Promise<void> {
    let timer = { cancel: (): void => undefined };
    const late = new Promise<void>((resolve) => {
      timer = this.#env.timers.after(FIRST_ANSWER_MS, resolve);
    });
    await Promise.race([procedure.done, late]);
    timer.cancel();
  }

  #forgetOld(): void {
    for (const procedure of this.#byId.values()) {
      if (this.#byId.size <= KEPT_MAX) break;
      if (procedure.isDone) this.#byId.delete(procedure.id);
    }
    for (const [nonce, procedure] of this.#byNonce) {
      if (this.#byNonce.size <= KEPT_MAX) break;
      if (procedure.isDone) this.#byNonce.delete(nonce);
    }
  }

  /** GetProcedureResultResponse. */
  result(id: number): Uint8Array {
    const procedure = this.#byId.get(id);
    if (procedure === undefined) return new MessageWriter().int(1, 0).finish();
    const { submittedMs, updatedMs, isDone, error } = procedure;
    return new MessageWriter()
      .int(1, isDone ? 2 : 1)
      .int(2, submittedMs)
      .int(3, updatedMs)
      .bytes(5, isDone && error !== null ? foreignException(error) : null)
      .finish();
  }

  /** Messages of all that are remembered, the newest last. */
  list(): Uint8Array[] {
    return [...this.#byId.values()].map((procedure) => {
      const state = procedure.isDone ? (procedure.error === null ? 6 : 7) : 2;
      return procedureMessage(procedure, state);
    });
  }
}

/** A Procedure; `state` as above. */
export function procedureMessage(
  procedure: Pick<Procedure, 'id' | 'kind' | 'owner' | 'submittedMs' | 'updatedMs'>,
  state: number,
): Uint8Array {
  return new MessageWriter()
    .text(1, `org.apache.hadoop.hbase.master.procedure.${procedure.kind}`)
    .int(3, procedure.id)
    .int(4, procedure.submittedMs)
    .text(5, procedure.owner)
    .int(6, state)
    .int(8, procedure.updatedMs)
    .finish();
}

/** Group and nonce of a request, which stand in these fields. */
export function nonceOf(request: Fields, groupAt: number): string | null {
  const nonce = request.big(groupAt + 1) ?? 0n;
  return nonce === 0n ? null : `${request.big(groupAt) ?? 0n} ${nonce}`;
}

function foreignException(error: Error): Uint8Array {
  const { className, stackTrace } = exceptionOf(error);
  const message = stackTrace.slice(className.length + 2);
  const generic = new MessageWriter().text(1, className).text(2, message).finish();
  return new MessageWriter().text(1, 'cellar').bytes(2, generic).finish();
}
