/**
 * `cellar txn list|show|commit|rollback`: two-phase transactions of a folder or a server. A decision by hand leaves an audit
 * line, on standard error and in the log of the server.
 */
import type { Command } from 'commander';
import { RemoteTransactions } from '../client/txn/index.ts';
import type { TransactionPhase, TransactionStatus, Transactions } from '../model/index.ts';
import { addTargetOptions, apiClientOf, callerName, withFolder } from './api_target.ts';
import type { TargetOptions } from './api_target.ts';
import { parseCount, parseInteger } from './arguments.ts';
import { UsageError } from './context.ts';
import type { CliContext } from './context.ts';
import { toJson } from './output.ts';

const PHASES: readonly string[] = ['OPEN', 'PREPARED', 'COMMITTED', 'ABORTED'];

interface TxnFlags extends TargetOptions {
  readonly state?: string;
  readonly prefix?: string;
  readonly namespace?: string;
  readonly limit?: number;
  readonly after?: bigint;
  readonly tombstone?: boolean;
}

export function addTxnCommands(program: Command, context: CliContext): void {
  const txn = program.command('txn').description('two-phase transactions: list, show, decide');
  const add = (command: Command, run: (name: string, flags: TxnFlags) => Promise<void>): void => {
    addTargetOptions(command.option('--namespace <NS>', 'of the label'));
    command.action(async (...given: unknown[]) => {
      const self = given.at(-1) as Command;
      const name = typeof given[0] === 'string' ? given[0] : '';
      await run(name, self.optsWithGlobals<TxnFlags>());
    });
  };
  add(
    txn
      .command('list')
      .description('by id; without --state those that are decided, too')
      .option('--state <STATE>', PHASES.join(', '), parsePhase)
      .option('--prefix <TEXT>', 'of the label')
      .option('--after <ID>', 'ids above this one', parseInteger)
      .option('--limit <N>', 'at most; default 100', (text: string) => parseCount(text, 1)),
    (_, flags) => list(flags, context),
  );
  add(
    txn.command('show').argument('<LABEL|ID>').description('one transaction as it stands'),
    (name, flags) => show(name, flags, context),
  );
  add(
    txn.command('commit').argument('<LABEL|ID>').description('commit one that is prepared'),
    (name, flags) => decide('commit', name, flags, context),
  );
  add(
    txn
      .command('rollback')
      .argument('<LABEL|ID>')
      .description('abort one that is not committed')
      .option('--tombstone', 'where there is none: let nobody begin one of this label'),
    (name, flags) => decide('rollback', name, flags, context),
  );
}

function parsePhase(text: string): string {
  const phase = text.toUpperCase();
  if (!PHASES.includes(phase)) throw new UsageError(`'${text}' is none of ${PHASES.join(', ')}`);
  return phase;
}

async function withTransactions<T>(
  flags: TxnFlags,
  context: CliContext,
  work: (transactions: Transactions) => Promise<T>,
): Promise<T> {
  const client = apiClientOf(flags, context);
  if (client !== null) return work(await RemoteTransactions.connect(client));
  return withFolder(flags, context, ({ transactions }) => work(transactions));
}

function nameOf(
  text: string,
  { namespace }: TxnFlags,
): { label?: string; txnId?: bigint; namespace?: string } {
  const of = namespace === undefined ? {} : { namespace };
  return /^\d{15,19}$/.test(text) ? { ...of, txnId: BigInt(text) } : { ...of, label: text };
}

async function list(flags: TxnFlags, context: CliContext): Promise<void> {
  const printer = context.printer(flags);
  const { state, prefix, namespace, limit, after } = flags;
  const found = await withTransactions(flags, context, (transactions) =>
    transactions.list({
      ...(state === undefined ? {} : { state: state as TransactionPhase }),
      ...(prefix === undefined ? {} : { prefix }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(limit === undefined ? {} : { limit }),
      ...(after === undefined ? {} : { after }),
    }),
  );
  for (const status of found) printer.either({ ...status }, lineOf(status));
  if (!printer.json) printer.line(`${found.length} transactions`);
  await printer.flush();
}

async function show(name: string, flags: TxnFlags, context: CliContext): Promise<void> {
  const printer = context.printer(flags);
  const status = await withTransactions(flags, context, (transactions) =>
    transactions.status(nameOf(name, flags)),
  );
  const lines = Object.entries(status).map(
    ([member, value]) => `${member.padEnd(12)} ${String(value)}`,
  );
  printer.either({ ...status }, lines);
  await printer.flush();
}

async function decide(
  what: 'commit' | 'rollback',
  name: string,
  flags: TxnFlags,
  context: CliContext,
): Promise<void> {
  const printer = context.printer(flags);
  const answer = await withTransactions(flags, context, async (transactions) => {
    const named = nameOf(name, flags);
    if (what === 'commit') return transactions.commit(named);
    const tombstone = flags.tombstone === true;
    const { status } = await transactions.rollback(named, { tombstone });
    return status;
  });
  const tso = answer?.tso ?? null;
  const audit = {
    audit: what,
    who: callerName(flags, context),
    when: new Date(context.io.env.clock.nowMs()).toISOString(),
    label: answer?.label ?? name,
    txn_id: answer?.txnId ?? null,
    tso,
  };
  await context.io.stderr.write(`${toJson(audit)}\n`);
  if (answer === null) printer.either({ not_found: true }, `${name}: there is none`);
  else printer.either({ ...answer }, lineOf(answer));
  await printer.flush();
}

function lineOf(status: TransactionStatus): string {
  const { txnId, label, state, reason, tso, rows, bytes, expiresMs } = status;
  const end =
    tso !== null
      ? ` tso=${tso}`
      : reason !== null
        ? ` ${reason}`
        : expiresMs === null
          ? ''
          : ` until ${new Date(expiresMs).toISOString()}`;
  return `${txnId} ${state.padEnd(9)} ${label} rows=${rows} bytes=${bytes}${end}`;
}
