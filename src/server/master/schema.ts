/** Descriptors between the wire and the engine. */
import { FAMILY_ATTRIBUTES } from '../../model/index.ts';
import type { FamilySchema, FamilySpec, TableSchema, TableSpec } from '../../model/index.ts';

/** Which tracker of store files a table uses; servers of HBase set it in every new table. */
export const FILE_TRACKER = 'hbase.store.file-tracker.impl';

/** The descriptor as servers of HBase send it: what is always told of a family is there, whether it was set or not. */
export function told(schema: TableSchema): TableSchema {
  const always = FAMILY_ATTRIBUTES.filter((attribute) => attribute.always === true);
  const defaults = Object.fromEntries(always.map((known) => [known.name, known.default ?? '']));
  return {
    ...schema,
    families: schema.families.map((family) => ({
      ...family,
      attributes: { ...defaults, ...family.attributes },
    })),
  };
}

/** What makes a new table of this descriptor. Attributes are taken as they are, known or not. */
export function specOf(schema: TableSchema, splitKeys: readonly Uint8Array[]): TableSpec {
  return {
    name: schema.name,
    families: schema.families.map(familySpecOf),
    METADATA: { [FILE_TRACKER]: 'DEFAULT', ...schema.attributes },
    CONFIGURATION: schema.configuration,
    ...(splitKeys.length === 0 ? {} : { SPLITS: splitKeys }),
  };
}

/** What makes a new family of this descriptor. */
export function familySpecOf({ name, attributes, configuration }: FamilySchema): FamilySpec {
  return { name, METADATA: attributes, CONFIGURATION: configuration };
}

/** What turns the one descriptor into the other: also what is to be taken away. */
export function changeOf(old: TableSchema, next: TableSchema): TableSpec {
  const before = new Map(old.families.map((family) => [family.name, family]));
  const kept = new Set(next.families.map(({ name }) => name));
  return {
    name: old.name,
    METADATA: changedTexts(old.attributes, next.attributes),
    CONFIGURATION: changedTexts(old.configuration, next.configuration),
    families: [
      ...next.families.map((family) => familyChangeOf(before.get(family.name) ?? null, family)),
      ...old.families
        .filter(({ name }) => !kept.has(name))
        .map(({ name }) => ({ name, METHOD: 'delete' })),
    ],
  };
}

/** As `changeOf`, for one family. */
export function familyChangeOf(old: FamilySchema | null, next: FamilySchema): FamilySpec {
  return {
    name: next.name,
    METADATA: changedTexts(old?.attributes ?? {}, next.attributes),
    CONFIGURATION: changedTexts(old?.configuration ?? {}, next.configuration),
  };
}

type Texts = Readonly<Record<string, string>>;

/** The new texts, and null for what has gone. */
function changedTexts(old: Texts, next: Texts): Readonly<Record<string, string | null>> {
  const gone = Object.keys(old).filter((key) => !Object.hasOwn(next, key));
  return { ...next, ...Object.fromEntries(gone.map((key) => [key, null])) };
}
