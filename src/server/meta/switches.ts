/** Switches that a cluster has and one server has no use for: they keep what they were set to, as long as it runs. */
export type SwitchName =
  | 'balancer'
  | 'catalogJanitor'
  | 'cleanerChore'
  | 'snapshotCleanup'
  | 'rpcThrottle'
  | 'exceedThrottle'
  | 'replicationPeerModification'
  | 'compaction';

const OFF_AT_FIRST: ReadonlySet<SwitchName> = new Set(['exceedThrottle']);

export class Switches {
  readonly #states = new Map<SwitchName, boolean>();

  isOn(name: SwitchName): boolean {
    return this.#states.get(name) ?? !OFF_AT_FIRST.has(name);
  }

  /** Answers what it was. */
  turn(name: SwitchName, on: boolean): boolean {
    const was = this.isOn(name);
    this.#states.set(name, on);
    return was;
  }
}
