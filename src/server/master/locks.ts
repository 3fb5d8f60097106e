/**
 * LockService: locks that clients hold on namespaces, tables and regions (protocol/messages/LockService.md). A lock is asked for
 * once and then kept alive by its heartbeats, which also tell when it is got; who is silent for LOCK_TIMEOUT_MS loses it. They
 * hold up other locks only: nothing that the server does itself takes one.
 *
 *     LockRequest        1 lock_type (1 exclusive, 2 shared), 2 namespace | 3 table_name | 4 region_info…, 5 description, 6 nonce_group,
 *                        7 nonce → 1 proc_id
 *     LockHeartbeat      1 proc_id, 2 keep_alive → 1 lock_status (1 unlocked, 2 locked), 2 timeout_ms
 *     LockedResource     1 resource_type (2 namespace, 3 table, 4 region), 2 resource_name, 3 lock_type,
 *                        4 exclusive_lock_owner_procedure, 5 shared_lock_count, 6 waitingProcedures
 */
import type { Env } from '../../io/index.ts';
import { encodedRegionName } from '../../manifest/index.ts';
import { IllegalArgumentException, parseTableName } from '../../model/index.ts';
import { MessageWriter, decodeRegionInfo, decodeTableName } from '../../wire/index.ts';
import type { Fields } from '../../wire/index.ts';
import { serviceOf } from '../meta/handlers.ts';
import type { RpcCall, RpcService } from '../rpc/service.ts';
import { RemoteException } from '../rpc/exceptions.ts';
import { nonceOf, procedureMessage } from './procedures.ts';
import type { Procedures } from './procedures.ts';

/** HBase: hbase.master.procedure.remotelocktimeout.ms. */
export const LOCK_TIMEOUT_MS = 30_000;
/** Locks asked for and not given back, and things that they are of. */
const LOCKS_MAX = 10_000;
const CLAIMS_MAX = 100_000;

const EXCLUSIVE = 1;
const SHARED = 2;
const NAMESPACE = 2;
const TABLE = 3;
const REGION = 4;
const UNLOCKED = 1;
const LOCKED = 2;
/** Procedure states: waiting, and runnable. */
const WAITING = 3;
const RUNNABLE = 2;

/** A lock on one thing. What contains a thing is locked as shared with it. */
interface Claim {
  readonly type: number;
  readonly name: string;
  readonly isExclusive: boolean;
}

interface Lock {
  readonly id: number;
  readonly kind: string;
  readonly owner: string;
  readonly nonce: string | null;
  readonly claims: readonly Claim[];
  readonly submittedMs: number;
  updatedMs: number;
  /** Its last sign of life, on the steady clock. */
  heardMs: number;
  isHeld: boolean;
}

export class Locks {
  readonly #env: Pick<Env, 'clock'>;
  readonly #procedures: Pick<Procedures, 'takeId'>;
  /** In the order in which they were asked for. */
  readonly #locks = new Map<number, Lock>();

  constructor(env: Pick<Env, 'clock'>, procedures: Pick<Procedures, 'takeId'>) {
    this.#env = env;
    this.#procedures = procedures;
  }

  /** Asks for a lock and answers its number; the same one for the same nonce. */
  request(claims: readonly Claim[], owner: string, nonce: string | null): number {
    this.#settle();
    if (nonce !== null) {
      for (const lock of this.#locks.values()) if (lock.nonce === nonce) return lock.id;
    }
    if (this.#locks.size >= LOCKS_MAX) {
      throw new RemoteException('RegionTooBusyException', `${LOCKS_MAX} locks are asked for`);
    }
    let asked = claims.length;
    for (const lock of this.#locks.values()) asked += lock.claims.length;
    if (asked > CLAIMS_MAX) {
      const message = `locks of more than ${CLAIMS_MAX} things are asked for`;
      throw new RemoteException('RegionTooBusyException', message);
    }
    const { clock } = this.#env;
    const nowMs = clock.nowMs();
    const lock: Lock = {
      id: this.#procedures.takeId(),
      kind: 'LockProcedure',
      owner,
      nonce,
      claims,
      submittedMs: nowMs,
      updatedMs: nowMs,
      heardMs: clock.monotonicMs(),
      isHeld: false,
    };
    this.#locks.set(lock.id, lock);
    this.#settle();
    return lock.id;
  }

  /** Keeps the lock, or gives it back; whether it is held. False for one that is not known. */
  heartbeat(id: number, keepAlive: boolean): boolean {
    const lock = this.#locks.get(id);
    if (lock !== undefined) {
      const { clock } = this.#env;
      if (keepAlive && !this.#isSilent(lock)) lock.heardMs = clock.monotonicMs();
      else this.#locks.delete(id);
      lock.updatedMs = clock.nowMs();
    }
    this.#settle();
    return this.#locks.get(id)?.isHeld ?? false;
  }

  #isSilent(lock: Lock): boolean {
    return this.#env.clock.monotonicMs() - lock.heardMs > LOCK_TIMEOUT_MS;
  }

  /** Drops those that are silent, then gives locks to those who wait, the first before the others. */
  #settle(): void {
    for (const lock of this.#locks.values()) if (this.#isSilent(lock)) this.#locks.delete(lock.id);
    /** Things asked for so far, and whether by somebody who wants to be alone. */
    const before = new Map<string, boolean>();
    for (const lock of this.#locks.values()) {
      lock.isHeld ||= lock.claims.every((claim) => isFree(claim, before.get(thingOf(claim))));
      for (const claim of lock.claims) {
        const thing = thingOf(claim);
        before.set(thing, claim.isExclusive || before.get(thing) === true);
      }
    }
  }

  /** LockedResource messages of what is held. */
  resources(): Uint8Array[] {
    this.#settle();
    const byThing = new Map<string, { claim: Claim; held: Lock[]; waiting: Lock[] }>();
    for (const lock of this.#locks.values()) {
      for (const claim of lock.claims) {
        const key = thingOf(claim);
        const thing = byThing.get(key) ?? { claim, held: [], waiting: [] };
        byThing.set(key, thing);
        (lock.isHeld ? thing.held : thing.waiting).push(lock);
        if (lock.isHeld && claim.isExclusive) thing.claim = claim;
      }
    }
    return [...byThing.values()]
      .filter(({ held }) => held.length > 0)
      .map(({ claim: { type, name, isExclusive }, held, waiting }) =>
        new MessageWriter()
          .int(1, type)
          .text(2, name)
          .int(3, isExclusive ? EXCLUSIVE : SHARED)
          .bytes(4, isExclusive ? procedureMessage(held[0]!, RUNNABLE) : null)
          .int(5, isExclusive ? 0 : held.length)
          .allBytes(
            6,
            waiting.map((lock) => procedureMessage(lock, WAITING)),
          )
          .finish(),
      );
  }
}

const thingOf = ({ type, name }: Claim): string => `${type} ${name}`;

/** `others`: whether one of those before wants to be alone; undefined where there is none. */
const isFree = ({ isExclusive }: Claim, others: boolean | undefined): boolean =>
  others === undefined || (!others && !isExclusive);

export function lockService(locks: Locks): RpcService {
  return serviceOf('LockService', {
    RequestLock: (request, call) => requestLock(locks, request, call),
    LockHeartbeat: (request) => {
      const isHeld = locks.heartbeat(request.int(1, 0), request.bool(2, true));
      return new MessageWriter()
        .int(1, isHeld ? LOCKED : UNLOCKED)
        .int(2, isHeld ? LOCK_TIMEOUT_MS : null)
        .finish();
    },
  });
}

function requestLock(locks: Locks, request: Fields, call: RpcCall): Uint8Array {
  const id = locks.request(claimsOf(request), call.peer.user, nonceOf(request, 6));
  return new MessageWriter().int(1, id).finish();
}

function claimsOf(request: Fields): Claim[] {
  const isExclusive = request.int(1, EXCLUSIVE) === EXCLUSIVE;
  const regions = request.messages(4).map(decodeRegionInfo);
  const [region] = regions;
  if (region !== undefined) {
    return [
      ...tableClaims(region.table, false),
      ...regions.map((info) => ({
        type: REGION,
        name: encodedRegionName(info),
        isExclusive: true,
      })),
    ];
  }
  if (request.has(3)) return tableClaims(decodeTableName(request.message(3)), isExclusive);
  const name = request.text(2);
  if (name !== null) return [{ type: NAMESPACE, name, isExclusive }];
  throw new IllegalArgumentException('one of table/namespace/region should be specified');
}

function tableClaims(name: string, isExclusive: boolean): Claim[] {
  const { namespace } = parseTableName(name);
  return [
    { type: NAMESPACE, name: namespace, isExclusive: false },
    { type: TABLE, name, isExclusive },
  ];
}
