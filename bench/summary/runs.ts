/** What the other benches leave under bench/results, as far as the summary reads it. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { RunResult } from '../engine/report.ts';

export interface ServerSample {
  readonly rate: number;
  readonly cpuUs: number;
}

export interface ServerFigures {
  readonly name: string;
  /** Null: it never answered. */
  readonly firstAnswerMs: number | null;
  readonly rssBytes: number;
  readonly works: Readonly<Record<string, readonly ServerSample[]>>;
}

export interface ServerRun {
  readonly taken: string;
  readonly servers: readonly ServerFigures[];
}

export interface TxnRun {
  readonly figures: Readonly<Record<string, number>>;
}

/** The goals of bench:backup stand with its results. */
export interface BackupGoals {
  readonly taken: string;
  readonly goals: readonly {
    readonly goal: string;
    readonly wanted: number;
    readonly measured: { readonly median: number };
    readonly unit: string;
    readonly reached: boolean;
  }[];
}

/** Null: that bench was not run. */
export interface Runs {
  readonly engine: RunResult | null;
  readonly server: ServerRun | null;
  readonly txn: TxnRun | null;
  readonly backup: BackupGoals | null;
}

/** Reads NAME.json of each bench; `engine` is the name of the engine's results. */
export function readRuns(results: string, engine: string): Runs {
  return {
    engine: read<RunResult>(path.join(results, `${engine}.json`)),
    server: read<ServerRun>(path.join(results, 'server.json')),
    txn: read<TxnRun>(path.join(results, 'txn', 'txn.json')),
    backup: read<BackupGoals>(path.join(results, 'backup.json')),
  };
}

function read<T>(file: string): T | null {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as T) : null;
}
