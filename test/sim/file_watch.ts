/**
 * Watches which files an open store has, and why: every commit of the manifest that is about files, regions, snapshots or the
 * floor of the history, with the bytes of new files as they were then, and the background job that wrote each of them. The
 * ledger plays these events when the life is over.
 */
import type { RegionServer } from '../../src/engine/region_server.ts';
import type { Job, SimEnv } from '../../src/io/index.ts';
import type { Edit, FileRecord } from '../../src/manifest/index.ts';
import type { RewriteInput } from '../../src/region/index.ts';
import type { ModelCell } from './cells.ts';
import type { FileCell } from './store_files.ts';

/** A flush or compaction that wrote files. */
export interface RewriteFacts {
  readonly input: RewriteInput;
  /** Paths in the manifest of the files that it wrote. */
  readonly path: string;
  readonly historyPath: string | null;
  /** Changes of files before it began. */
  readonly startTurn: number;
  /** The oracle's time then, which judges TTL. */
  readonly nowMs: number;
}

/** One commit of the manifest. */
export interface FileEvent {
  readonly edits: readonly Edit[];
  /** Bytes of the new files, by path in the manifest. */
  readonly bytes: ReadonlyMap<string, Uint8Array>;
  /** By path of the store file. */
  readonly rewrites: readonly RewriteFacts[];
  /** The greatest TSO that a floor may have; null: the past may be given up, since faults are made. */
  readonly floorMax: bigint | null;
  /** What a bulk load under way brings, LATEST as null; null: none is. */
  readonly load: readonly LoadCell[] | null;
  /** Its place among the changes of files; 0: it was not applied in this life. */
  turn: number;
  /** Commits observed before it was applied. */
  entryCount: number;
  /** What is in the new files, once they were read. */
  cells: ReadonlyMap<string, readonly FileCell[]>;
}

/** A cell to load; `ts` null: LATEST. */
export type LoadCell = Omit<ModelCell, 'ts' | 'tso'> & { readonly ts: number | null };

/** A claim that everything of a table up to a TSO is in files. */
export interface FlushClaim {
  readonly tableId: number;
  readonly tso: bigint;
  readonly step: number;
  readonly entryCount: number;
  readonly turn: number;
}

const COLLECTIONS: ReadonlySet<string> = new Set(['file', 'region', 'snapshot', 'flushed']);
const FLOOR = 'history.floor';

export class FileWatch {
  readonly events: FileEvent[] = [];
  readonly claims: FlushClaim[] = [];
  /** Changes of files so far, in the whole run. */
  turn: number;
  isOver = false;
  /** What a bulk load under way brings. */
  load: readonly LoadCell[] | null = null;
  readonly #server: RegionServer;
  readonly #rewrites = new Map<string, RewriteFacts>();
  readonly #entryCount: () => number;
  readonly #floorMax: () => bigint | null;

  constructor(parts: {
    readonly env: SimEnv;
    readonly server: RegionServer;
    readonly turn: number;
    readonly entryCount: () => number;
    readonly floorMax: () => bigint | null;
  }) {
    this.turn = parts.turn;
    this.#server = parts.server;
    this.#entryCount = parts.entryCount;
    this.#floorMax = parts.floorMax;
    this.#watchJobs(parts.env);
    this.#watchManifest(parts.env);
  }

  #watchJobs(env: SimEnv): void {
    const { executor } = env;
    const { layout } = this.#server;
    const run = executor.run.bind(executor);
    executor.run = <Input, Output>(job: Job<Input, Output>): Promise<Output> => {
      const input: unknown = job.input;
      if (isRewrite(input)) {
        const path = layout.relative(input.outputPath);
        this.#rewrites.set(path, {
          input,
          path,
          historyPath: input.historyPath === null ? null : layout.relative(input.historyPath),
          startTurn: this.turn,
          nowMs: Math.max(env.clock.nowMs(), this.#server.oracle.physicalMs),
        });
      }
      return run(job);
    };
  }

  #watchManifest(env: SimEnv): void {
    const { manifest } = this.#server;
    const commit = manifest.commit.bind(manifest);
    manifest.commit = async (edits, options = {}): Promise<void> => {
      if (this.isOver || !edits.some(isOfFiles)) return commit(edits, options);
      const event = this.#eventOf(env, edits);
      this.events.push(event);
      const applied = (): void => {
        options.applied?.();
        if (this.isOver) return;
        event.turn = ++this.turn;
        event.entryCount = this.#entryCount();
      };
      try {
        await commit(edits, { applied });
      } catch (error) {
        const isUndone = error instanceof Error && error.name !== 'ManifestFailedException';
        if (isUndone && !this.isOver) this.events.splice(this.events.indexOf(event), 1);
        throw error;
      }
    };
  }

  #eventOf(env: SimEnv, edits: readonly Edit[]): FileEvent {
    const { layout, manifest } = this.#server;
    const known = new Set<string>();
    for (const { path } of manifest.all('file')) known.add(path);
    const bytes = new Map<string, Uint8Array>();
    for (const { path } of filesPut(edits)) {
      if (known.has(path) || bytes.has(path)) continue;
      bytes.set(path, Uint8Array.from(env.fs.peek(layout.resolve(path))));
    }
    const rewrites = [...this.#rewrites.values()].filter(
      ({ path, historyPath }) =>
        bytes.has(path) || (historyPath !== null && bytes.has(historyPath)),
    );
    for (const { path } of rewrites) this.#rewrites.delete(path);
    const floorMax = this.#floorMax();
    const { load } = this;
    return { edits, bytes, rewrites, floorMax, load, turn: 0, entryCount: 0, cells: new Map() };
  }

  /** Everything of the table at or below the TSO is said to be in files. */
  claimFlushed(tableId: number, tso: bigint, step: number): void {
    const { turn } = this;
    this.claims.push({ tableId, tso, step, entryCount: this.#entryCount(), turn });
  }
}

/** Records of files that the edits put. */
export function filesPut(edits: readonly Edit[]): FileRecord[] {
  return edits.flatMap((edit) =>
    edit.collection === 'file' && 'record' in edit ? [edit.record] : [],
  );
}

/** Floors that the edits raise: of a table, or, null, of the whole store. */
export function floorsPut(
  edits: readonly Edit[],
): { name: string; tableId: number | null; tso: bigint }[] {
  return edits.flatMap((edit) => {
    if (edit.collection !== 'setting' || !('record' in edit)) return [];
    const { name, value } = edit.record;
    if (!name.startsWith(FLOOR)) return [];
    const id = name.slice(FLOOR.length + 1);
    return [{ name, tableId: id === '' ? null : Number(id), tso: BigInt(value) }];
  });
}

function isOfFiles(edit: Edit): boolean {
  if (COLLECTIONS.has(edit.collection)) return true;
  return edit.collection === 'setting' && 'record' in edit && edit.record.name.startsWith(FLOOR);
}

function isRewrite(input: unknown): input is RewriteInput {
  return typeof input === 'object' && input !== null && 'outputPath' in input && 'kind' in input;
}
