/** The manifest's content in memory, and edits on it: how they are applied and how they are encoded. */
import { NewerVersionException } from '../model/index.ts';
import { FieldMismatch, UnknownFields } from './field.ts';
import {
  COLLECTIONS,
  type CollectionName,
  type CollectionType,
  type Key,
  type KeyOf,
  type RecordOf,
} from './records.ts';

/** Puts a record, replacing the one with its key. */
export interface PutEdit<C extends CollectionName> {
  readonly collection: C;
  readonly record: RecordOf<C>;
}

/** Removes the record with this key; none there is no error. */
export interface RemoveEdit<C extends CollectionName> {
  readonly collection: C;
  readonly key: KeyOf<C>;
}

/** One change of one record. Records in edits belong to the manifest from then on. */
export type Edit<C extends CollectionName = CollectionName> = {
  readonly [P in C]: PutEdit<P> | RemoveEdit<P>;
}[C];

/** An edit of which only the names are known to fit. */
export type AnyEdit = PutEdit<CollectionName> | RemoveEdit<CollectionName>;

/** The edit that puts `record`. */
export function put<C extends CollectionName>(collection: C, record: RecordOf<C>): PutEdit<C> {
  return { collection, record };
}

/** The edit that removes the record with this key. */
export function remove<C extends CollectionName>(collection: C, key: KeyOf<C>): RemoveEdit<C> {
  return { collection, key };
}

const NAMES = Object.keys(COLLECTIONS) as CollectionName[];
const NAME_OF_CODE: ReadonlyMap<number, CollectionName> = new Map(
  NAMES.map((name) => [COLLECTIONS[name].code, name]),
);

/** The names of all collections. */
export const COLLECTION_NAMES: readonly CollectionName[] = NAMES;

/** One collection: records by key, and in groups where its type has them. Iteration is in order of insertion. */
class Collection<K extends Key, R> {
  readonly #type: CollectionType<K, R>;
  readonly #records = new Map<K, R>();
  readonly #groups = new Map<number, Map<K, R>>();

  constructor(type: CollectionType<K, R>) {
    this.#type = type;
  }

  get size(): number {
    return this.#records.size;
  }

  get(key: K): R | undefined {
    return this.#records.get(key);
  }

  values(): IterableIterator<R> {
    return this.#records.values();
  }

  group(id: number): IterableIterator<R> {
    return (this.#groups.get(id) ?? new Map<K, R>()).values();
  }

  put(record: R): void {
    const key = this.#type.keyOf(record);
    this.#leaveGroup(key);
    this.#records.set(key, record);
    const group = this.#type.groupOf?.(record) ?? null;
    if (group === null) return;
    const members = this.#groups.get(group) ?? new Map<K, R>();
    members.set(key, record);
    this.#groups.set(group, members);
  }

  remove(key: K): void {
    this.#leaveGroup(key);
    this.#records.delete(key);
  }

  #leaveGroup(key: K): void {
    const old = this.#records.get(key);
    const group = old === undefined ? null : (this.#type.groupOf?.(old) ?? null);
    if (group === null) return;
    const members = this.#groups.get(group);
    members?.delete(key);
    if (members?.size === 0) this.#groups.delete(group);
  }
}

type CollectionsInMemory = {
  readonly [C in CollectionName]: Collection<KeyOf<C>, RecordOf<C>>;
};

/** All collections. Not shared between manifests. */
export class ManifestState {
  readonly #collections: CollectionsInMemory = {
    store: new Collection(COLLECTIONS.store),
    namespace: new Collection(COLLECTIONS.namespace),
    table: new Collection(COLLECTIONS.table),
    region: new Collection(COLLECTIONS.region),
    file: new Collection(COLLECTIONS.file),
    flushed: new Collection(COLLECTIONS.flushed),
    oracle: new Collection(COLLECTIONS.oracle),
    snapshot: new Collection(COLLECTIONS.snapshot),
    transaction: new Collection(COLLECTIONS.transaction),
    backup: new Collection(COLLECTIONS.backup),
    hold: new Collection(COLLECTIONS.hold),
    droppedId: new Collection(COLLECTIONS.droppedId),
    nonces: new Collection(COLLECTIONS.nonces),
    setting: new Collection(COLLECTIONS.setting),
  };

  get<C extends CollectionName>(collection: C, key: KeyOf<C>): RecordOf<C> | undefined {
    return this.#of(collection).get(key);
  }

  values<C extends CollectionName>(collection: C): IterableIterator<RecordOf<C>> {
    return this.#of(collection).values();
  }

  group<C extends CollectionName>(collection: C, id: number): IterableIterator<RecordOf<C>> {
    return this.#of(collection).group(id);
  }

  size(collection: CollectionName): number {
    return this.#of(collection).size;
  }

  apply(edit: AnyEdit): void {
    const collection = this.#of<CollectionName>(edit.collection);
    if ('record' in edit) collection.put(edit.record);
    else collection.remove(edit.key);
  }

  /** Edits that make this state out of an empty one. Takes references only: quick, and later edits do not show. */
  capture(): PutEdit<CollectionName>[] {
    const edits: PutEdit<CollectionName>[] = [];
    for (const collection of NAMES) {
      for (const record of this.values<CollectionName>(collection)) {
        edits.push({ collection, record });
      }
    }
    return edits;
  }

  #of<C extends CollectionName>(name: C): Collection<KeyOf<C>, RecordOf<C>> {
    return this.#collections[name];
  }
}

/**
 * The MessagePack value of an edit: [code, record's fields], or [code, null, key] for a removal. Asserts every value:
 * what cannot be kept exactly is an InvariantError here, before anything is written.
 */
export function packEdit(edit: AnyEdit): unknown {
  const type: CollectionType<KeyOf<CollectionName>, RecordOf<CollectionName>> = COLLECTIONS[
    edit.collection
  ];
  if ('record' in edit) return [type.code, type.field.pack(edit.record)];
  return [type.code, null, type.keyField.pack(edit.key)];
}

/**
 * Reverses `packEdit`. Throws FieldMismatch for what is no edit, NewerVersionException for a collection or fields that
 * this program does not know (`knownVersion` is the format it writes, `where` the file).
 */
export function unpackEdit(raw: unknown, where: string, knownVersion: number): AnyEdit {
  if (!Array.isArray(raw) || raw.length < 2 || raw.length > 3)
    throw new FieldMismatch('edit expected');
  const [code, fields, key] = raw as readonly unknown[];
  if (typeof code !== 'number') throw new FieldMismatch('collection code expected');
  const collection = NAME_OF_CODE.get(code);
  if (collection === undefined) {
    throw new NewerVersionException(
      `${where} holds a collection ${code} of a version newer than ${knownVersion}, the newest this program reads`,
    );
  }
  const type = COLLECTIONS[collection];
  if (raw.length === 3) return { collection, key: type.keyField.unpack(key) };
  try {
    return { collection, record: type.field.unpack(fields) };
  } catch (error) {
    if (!(error instanceof UnknownFields)) throw error;
    throw new NewerVersionException(
      `${where} holds a ${collection} record of a version newer than ${knownVersion}, the newest this program reads: ${error.message}`,
      { cause: error },
    );
  }
}
