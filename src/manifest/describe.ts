/** What tools show of a manifest, in JSON's types. Reads only; the store may be open or damaged. */
import { toStringBinary } from '../cell/index.ts';
import type { Env } from '../io/index.ts';
import { FORMAT_VERSION, KIND_CHECKPOINT } from './format.ts';
import { decodeEdits } from './journal.ts';
import { DataLayout } from './layout.ts';
import { Packer } from './pack.ts';
import { findCurrent, type FoundFile } from './record_file.ts';
import type { CollectionName } from './records.ts';
import { type AnyEdit, COLLECTION_NAMES, ManifestState } from './state.ts';

/** TSOs and other 64-bit values as decimal text, bytes as `toStringBinary` shows them. */
export type Described =
  null | boolean | number | string | readonly Described[] | { readonly [name: string]: Described };

export interface DescribedManifestRecord {
  readonly offset: number;
  /** With header and padding. */
  readonly sizeBytes: number;
  readonly kind: 'checkpoint' | 'edits';
  readonly syncedTo: number;
  readonly edits: readonly Described[];
}

export interface ManifestDescription {
  readonly path: string;
  readonly formatVersion: number;
  readonly generation: number;
  readonly storeId: string;
  readonly sizeBytes: number;
  /** Bytes known to be on the disk. */
  readonly syncedTo: number;
  /** End of the last whole record. */
  readonly endAt: number;
  /** Bytes of a torn record behind the end, which the next open cuts. */
  readonly tornBytes: number;
  readonly records: readonly DescribedManifestRecord[];
  /** What the records add up to. */
  readonly collections: Readonly<Record<CollectionName, readonly Described[]>>;
}

/**
 * Reads the manifest of the store in `dir`; null if there is none. Throws CorruptionException and NewerVersionException as
 * `Manifest.open` does.
 */
export async function describeManifest(env: Env, dir: string): Promise<ManifestDescription | null> {
  const found = await findCurrent(env.fs, new DataLayout(dir).manifest);
  if (found === null) return null;
  const state = new ManifestState();
  const records = describeRecords(found, state);
  return {
    path: found.path,
    formatVersion: FORMAT_VERSION,
    generation: found.identity.generation,
    storeId: found.identity.storeId,
    sizeBytes: found.buf.length,
    syncedTo: found.syncedTo,
    endAt: found.endAt,
    tornBytes: found.buf.length - found.endAt,
    records,
    collections: describeState(state),
  };
}

function describeRecords(found: FoundFile, state: ManifestState): DescribedManifestRecord[] {
  const packer = new Packer();
  return found.records.map(({ at, kind, payloadAt, payloadLength, syncedTo, nextAt }) => {
    const payload = found.buf.subarray(payloadAt, payloadAt + payloadLength);
    const edits = decodeEdits(packer, payload, { path: found.path, at });
    for (const edit of edits) state.apply(edit);
    return {
      offset: at,
      sizeBytes: nextAt - at,
      kind: kind === KIND_CHECKPOINT ? 'checkpoint' : 'edits',
      syncedTo,
      edits: edits.map(describeEdit),
    };
  });
}

function describeEdit(edit: AnyEdit): Described {
  if ('record' in edit) return { put: edit.collection, record: describeValue(edit.record) };
  return { remove: edit.collection, key: describeValue(edit.key) };
}

function describeState(state: ManifestState): Record<CollectionName, readonly Described[]> {
  const entries = COLLECTION_NAMES.map((name) => [
    name,
    [...state.values(name)].map(describeValue),
  ]);
  return Object.fromEntries(entries) as Record<CollectionName, readonly Described[]>;
}

/** A record's value in JSON's types. */
export function describeValue(value: unknown): Described {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value;
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Uint8Array) return toStringBinary(value);
  if (Array.isArray(value)) return value.map(describeValue);
  const entries = Object.entries(value as object);
  return Object.fromEntries(entries.map(([name, inner]) => [name, describeValue(inner)]));
}
