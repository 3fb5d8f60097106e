/** The command line of each bench that `npm run bench` starts. Pure. */

/** What is run, in this order. */
export const BENCHES = ['engine', 'micro', 'txn', 'backup', 'server'] as const;
export type Bench = (typeof BENCHES)[number];

export interface Options {
  readonly quick: boolean;
  readonly full: boolean;
  readonly dry: boolean;
  /** Of all benches together. */
  readonly budgetMinutes: number | null;
  /** The harness of Apache HBase; null: no server is measured. */
  readonly suite: string | null;
  /** Where quick runs leave what is not kept. */
  readonly scratch: string;
}

/** What the engine gets of a budget: the server with its Java client takes most of the rest. */
const ENGINE_SHARE = 0.75;
const ENGINE_SHARE_WITH_SERVER = 0.5;

export function argumentsOf(bench: Bench, options: Options): string[] {
  const { quick, full, dry, budgetMinutes, suite, scratch } = options;
  switch (bench) {
    case 'engine': {
      const share = suite === null ? ENGINE_SHARE : ENGINE_SHARE_WITH_SERVER;
      const minutes = Math.max(1, Math.floor((budgetMinutes ?? 0) * share));
      return [
        ...(quick ? ['--quick'] : []),
        ...(full ? ['--full'] : []),
        ...(budgetMinutes === null ? [] : ['--budget', String(minutes)]),
        ...(dry ? ['--dry'] : []),
      ];
    }
    case 'micro':
      if (quick) return ['--seconds', '0.1', '--no-save'];
      return budgetMinutes === null ? [] : ['--seconds', '0.5'];
    case 'txn':
      if (quick) return ['--quick', '--out', `${scratch}/txn`];
      return budgetMinutes === null ? [] : ['--seconds', '1'];
    case 'backup':
      if (quick) return ['--quick'];
      return budgetMinutes === null ? [] : ['--mb', '200', '--rounds', '1'];
    case 'server':
      return [
        ...(suite === null ? [] : ['--suite', suite]),
        ...(quick ? ['--rounds', '1', '--rows', '2000', '--seconds', '0.5', '--warm', '0.5'] : []),
        ...(quick ? ['--no-save'] : []),
        ...(!quick && budgetMinutes !== null ? ['--rounds', '1', '--rows', '50000'] : []),
      ];
  }
}
