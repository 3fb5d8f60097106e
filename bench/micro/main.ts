/**
 * Pieces of hot paths by themselves, with `benchmark`: for whoever changes one of them. They say nothing of the whole;
 * that is what `bench:engine` measures.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import Benchmark from 'benchmark';
import { load, machine } from '../engine/machine.ts';
import { ROOT } from '../engine/peers.ts';
import { addBlocks, addBloom } from './blocks.ts';
import { addChecksums, addCompares } from './cells.ts';
import { addFrames } from './frames.ts';
import { groupCommit } from './group_commit.ts';
import { addLogRecords } from './log_record.ts';
import { addMemstore } from './memstore.ts';

const SUITES: ReadonlyMap<string, (suite: Benchmark.Suite) => void | Promise<void>> = new Map([
  ['compare', addCompares],
  ['memstore', addMemstore],
  ['block', addBlocks],
  ['bloom', addBloom],
  ['crc', addChecksums],
  ['log', addLogRecords],
  ['frame', addFrames],
]);
const GROUP_COMMIT = 'group-commit';

const USAGE = `npm run bench:micro -- [options]

  --only a,b   of ${[...SUITES.keys(), GROUP_COMMIT].join(', ')}
  --seconds N  of each piece (default 1)
  --no-save    only the lines; else bench/results/micro.json too, where all pieces are measured
`;

/** One piece, as it is kept. */
interface Piece {
  readonly name: string;
  readonly perSecond: number;
  readonly nanoseconds: number;
  /** Relative margin of error, %. */
  readonly marginPercent: number;
}

const pieceOf = ({ name, hz, stats }: Benchmark.Target & { name?: string | undefined }): Piece => ({
  name: name!,
  perSecond: Math.round(hz!),
  nanoseconds: Number((1e9 / hz!).toPrecision(4)),
  marginPercent: Number(stats!.rme.toFixed(1)),
});

function save(pieces: readonly Piece[], seconds: number, loadBefore: number): void {
  const folder = path.join(ROOT, 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const taken = new Date().toISOString().slice(0, 10);
  const run = { taken, seconds, loadBefore, machine: machine(), pieces };
  writeFileSync(path.join(folder, 'micro.json'), `${JSON.stringify(run, null, 2)}\n`);
}

function lineOf({ name, hz, stats }: Benchmark.Target & { name?: string | undefined }): string {
  const each = 1e9 / hz!;
  const time = each < 10_000 ? `${each.toFixed(1)} ns` : `${(each / 1000).toFixed(1)} µs`;
  const rate = Math.round(hz!).toLocaleString('en').padStart(13);
  return `${name!.padEnd(64)}${rate}/s ${time.padStart(12)}  ±${stats!.rme.toFixed(1)} %`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: '' },
      seconds: { type: 'string', default: '1' },
      'no-save': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  const only = values.only.split(',').filter((part) => part !== '');
  const isChosen = (name: string): boolean => only.length === 0 || only.includes(name);
  const seconds = Number(values.seconds);
  Benchmark.options.maxTime = seconds;
  const loadBefore = load();
  const pieces: Piece[] = [];
  for (const [name, add] of SUITES) {
    if (!isChosen(name)) continue;
    const suite = new Benchmark.Suite();
    await add(suite);
    suite.on('cycle', (event: Benchmark.Event) => {
      console.log(lineOf(event.target));
      pieces.push(pieceOf(event.target));
    });
    suite.on('error', (event: Benchmark.Event & { target: { error?: Error } }) => {
      throw event.target.error ?? new Error('a piece failed');
    });
    suite.run();
  }
  if (only.length === 0 && !values['no-save']) save(pieces, seconds, loadBefore);
  if (!isChosen(GROUP_COMMIT)) return;
  const dir = path.join(ROOT, 'bench', 'peers', 'dist', 'scratch');
  mkdirSync(dir, { recursive: true });
  await groupCommit(path.join(dir, 'group-commit'), seconds);
}

await main();
