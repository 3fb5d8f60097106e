/**
 * Carries batches of edits to the disk, and replaces a record file that has outgrown the state by a new one that starts with
 * a checkpoint. Knows nothing of when a batch is applied: that is the manifest's.
 */
import { CorruptionException, DiskFullException, type Env, StoreException } from '../io/index.ts';
import { FORMAT_VERSION, KIND_CHECKPOINT, KIND_EDITS } from './format.ts';
import type { Packer } from './pack.ts';
import {
  type FoundFile,
  performSwitch,
  prepareSwitch,
  RecordFile,
  removeGeneration,
} from './record_file.ts';
import { type AnyEdit, packEdit, unpackEdit } from './state.ts';

/** Edits in one checkpoint record: about 2 ms of encoding, after which others get their turn. */
const CHECKPOINT_CHUNK = 100;

/** The edits of a record. Throws CorruptionException naming its place, or NewerVersionException. */
export function decodeEdits(
  packer: Packer,
  payload: Uint8Array,
  place: { path: string; at: number },
): AnyEdit[] {
  try {
    const raw = packer.decode(payload);
    if (!Array.isArray(raw)) throw new Error('list of edits expected');
    return raw.map((edit) => unpackEdit(edit, place.path, FORMAT_VERSION));
  } catch (error) {
    if (error instanceof StoreException) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new CorruptionException(`record cannot be decoded (${why})`, place.path, place.at, {
      cause: error,
    });
  }
}

/** All edits of a found file, in order. */
export function* editsOf(packer: Packer, found: FoundFile): Generator<AnyEdit> {
  for (const { at, payloadAt, payloadLength } of found.records) {
    const payload = found.buf.subarray(payloadAt, payloadAt + payloadLength);
    yield* decodeEdits(packer, payload, { path: found.path, at });
  }
}

/**
 * The manifest's place on the disk. `append`, `switchTo` and `startOver` are one at a time; `writeCheckpoint` may run beside
 * `append`.
 */
export class Journal {
  readonly #env: Env;
  readonly #folder: string;
  readonly #packer: Packer;
  #file: RecordFile;
  #checkpointEndAt: number;
  #torn = false;
  #uncertain = false;
  /** Edits were appended that CURRENT does not vouch for. */
  #isAhead = false;

  constructor(env: Env, folder: string, packer: Packer, file: RecordFile, checkpointEndAt: number) {
    this.#env = env;
    this.#folder = folder;
    this.#packer = packer;
    this.#file = file;
    this.#checkpointEndAt = checkpointEndAt;
  }

  /** Bytes of the checkpoint at the start of the record file. */
  get checkpointBytes(): number {
    return this.#checkpointEndAt;
  }

  /** Bytes of edits behind it. */
  get editBytes(): number {
    return this.#file.endAt - this.#checkpointEndAt;
  }

  get generation(): number {
    return this.#file.identity.generation;
  }

  /** An append left bytes that could not be cut: only `startOver` helps. */
  get torn(): boolean {
    return this.#torn;
  }

  /** A sync or a switch failed: what the next open will find is unknown, so nothing more may be written. */
  get uncertain(): boolean {
    return this.#uncertain;
  }

  /**
   * Writes one record of edits and syncs it. DiskFullException: nothing was kept, and a later append may succeed,
   * unless `uncertain`. Any other error: unknown what was kept.
   */
  async append(edits: readonly unknown[]): Promise<void> {
    const payload = this.#packer.encode(edits);
    try {
      await this.#file.append(KIND_EDITS, payload);
    } catch (error) {
      if (error instanceof DiskFullException) await this.#cutTail();
      throw error;
    }
    await this.#certainly(this.#file.sync());
    this.#isAhead = true;
  }

  async #certainly(step: Promise<void>): Promise<void> {
    try {
      await step;
    } catch (error) {
      this.#uncertain = true;
      throw error;
    }
  }

  async #cutTail(): Promise<void> {
    try {
      await this.#file.cutTail();
    } catch (error) {
      if (!(error instanceof StoreException)) throw error;
      this.#torn = true;
    }
  }

  /** Writes a new record file that holds these edits, synced, and does not use it yet. Removes it again if that fails. */
  async writeCheckpoint(edits: readonly AnyEdit[]): Promise<RecordFile> {
    const identity = { ...this.#file.identity, generation: this.generation + 1 };
    return createRecordFile(this.#env, this.#folder, this.#packer, identity, edits);
  }

  /**
   * Goes on in `file`, after adding the batches that were appended since its checkpoint was captured. DiskFullException:
   * the old file stays in use and the new one is gone, unless `uncertain`. Any other error: unknown which is current.
   */
  async switchTo(file: RecordFile, batches: readonly (readonly unknown[])[]): Promise<void> {
    const { fs } = this.#env;
    const checkpointEndAt = file.endAt;
    try {
      for (const batch of batches) await file.append(KIND_EDITS, this.#packer.encode(batch));
      if (batches.length > 0) await file.sync();
      await prepareSwitch(fs, this.#folder, file);
    } catch (error) {
      await discard(this.#env, this.#folder, file);
      throw error;
    }
    const old = this.#file;
    this.#file = file;
    this.#checkpointEndAt = checkpointEndAt;
    this.#torn = false;
    this.#isAhead = false;
    await this.#certainly(performSwitch(fs, this.#folder));
    await old.close();
    await removeGeneration(fs, this.#folder, old.identity.generation);
  }

  /** Replaces a torn file by a new one with these edits. Errors as `switchTo`. */
  async startOver(edits: readonly AnyEdit[]): Promise<void> {
    await this.switchTo(await this.writeCheckpoint(edits), []);
  }

  /** Removes a file from `writeCheckpoint` that will not be switched to. */
  discard(file: RecordFile): Promise<void> {
    return discard(this.#env, this.#folder, file);
  }

  /** Says in CURRENT how far the file goes, so that an end cut off later is missed, and gives the file back. */
  async close(): Promise<void> {
    try {
      if (this.#isAhead && !this.#torn && !this.#uncertain) await this.#vouch();
    } finally {
      await this.#file.close();
    }
  }

  async #vouch(): Promise<void> {
    const { fs } = this.#env;
    try {
      await prepareSwitch(fs, this.#folder, this.#file);
      await performSwitch(fs, this.#folder);
    } catch (error) {
      // The old pointer names the same file and only vouches for less of it.
      if (!(error instanceof StoreException)) throw error;
    }
  }
}

/** Makes a record file with a checkpoint of these edits, synced. */
export async function createRecordFile(
  env: Env,
  folder: string,
  packer: Packer,
  identity: { generation: number; storeId: string },
  edits: readonly AnyEdit[],
): Promise<RecordFile> {
  const file = await RecordFile.create(env.fs, folder, identity);
  try {
    for (let from = 0; from < edits.length; from += CHECKPOINT_CHUNK) {
      const chunk = edits.slice(from, from + CHECKPOINT_CHUNK);
      await file.append(KIND_CHECKPOINT, packer.encode(chunk.map(packEdit)));
    }
    await file.sync();
  } catch (error) {
    await discard(env, folder, file);
    throw error;
  }
  return file;
}

async function discard(env: Env, folder: string, file: RecordFile): Promise<void> {
  await file.close();
  await removeGeneration(env.fs, folder, file.identity.generation);
}
