/** Faults of a simulated machine: which operations of the file system fail, when, and how often. */
import type { FsFault, FsOp, FsOpKind, SeededRandom, SimEnv } from '../../src/io/index.ts';

export type FaultKind =
  'diskFull' | 'logSync' | 'logWrite' | 'metadata' | 'manifest' | 'data' | 'read' | 'dataRead';

interface FaultPlan {
  readonly kind: FaultKind;
  /** Operations it meets that pass before the first failure. */
  readonly after: number;
  readonly failures: number;
}

const METADATA: ReadonlySet<FsOpKind> = new Set([
  'open',
  'ensureFolder',
  'rename',
  'syncFolder',
  'remove',
  'link',
]);
const READS: ReadonlySet<FsOpKind> = new Set(['read', 'readFile', 'list', 'stat', 'open']);

function meets(kind: FaultKind, op: FsOp): boolean {
  const isLog = op.path.includes('/wal/');
  switch (kind) {
    case 'diskFull':
      return false;
    case 'logSync':
      return op.kind === 'sync' && isLog;
    case 'logWrite':
      return op.kind === 'write' && isLog;
    case 'manifest':
      return (op.kind === 'write' || op.kind === 'sync') && op.path.includes('/manifest');
    case 'data':
      return (op.kind === 'write' || op.kind === 'sync') && op.path.includes('/data/');
    case 'dataRead':
      return op.kind === 'read' && op.path.includes('/data/');
    case 'metadata':
      return METADATA.has(op.kind);
    case 'read':
      return READS.has(op.kind);
  }
}

export class Faults {
  /** Faults made, by kind. */
  readonly counts: Record<FaultKind, number> = {
    diskFull: 0,
    logSync: 0,
    logWrite: 0,
    metadata: 0,
    manifest: 0,
    data: 0,
    read: 0,
    dataRead: 0,
  };
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** Plans one kind of fault for the machine; `clear` takes it back. */
  plan(env: SimEnv, kinds: readonly FaultKind[], within: number): FaultKind {
    const random = this.#random;
    const kind = kinds[random.int(kinds.length)]!;
    if (kind === 'diskFull') {
      this.counts.diskFull++;
      env.fs.capacityBytes = env.fs.usedBytes + random.int(random.chance(0.5) ? 2000 : 200_000);
      return kind;
    }
    const error: FsFault = random.chance(0.75) ? 'io' : random.chance(0.6) ? 'full' : 'readonly';
    this.#arm(env, { kind, after: random.int(within), failures: 1 + random.int(3) }, error);
    return kind;
  }

  #arm(env: SimEnv, plan: FaultPlan, error: FsFault): void {
    let met = 0;
    env.fs.failWhen = (op) => {
      if (!meets(plan.kind, op)) return null;
      met++;
      if (met <= plan.after || met > plan.after + plan.failures) return null;
      this.counts[plan.kind]++;
      return error;
    };
  }

  clear(env: SimEnv): void {
    env.fs.failWhen = null;
    env.fs.capacityBytes = Infinity;
  }
}
