/**
 * From what a caller writes (`{ name: 't', families: [{ name: 'f', VERSIONS: 3 }] }`) to a checked descriptor, and from a
 * descriptor and a change to the next one. Attribute names are accepted in any case, values in every form of HBase's
 * shell; an unknown name is refused (other keys go into METADATA or CONFIGURATION). A null value takes an attribute away.
 * Descriptors from the wire keep unknown attributes and go through `checkTable` only.
 */
import {
  FAMILY_ATTRIBUTES,
  TABLE_ATTRIBUTES,
  attributeText,
  findAttribute,
  otherTableKey,
  plainText,
  type Attribute,
} from './attributes.ts';
import { IllegalArgumentException, InvalidFamilyOperationException } from './errors.ts';
import { canonicalTableName, checkFamilyName } from './names.ts';
import { checkTable } from './sanity.ts';
import type { FamilySchema, FamilySpec, TableSchema, TableSpec } from './schema.ts';
import { closest, shown } from './values.ts';

/** Members of a TableSpec that say how to cut the new table, not what it is: `splitKeysOf` reads them. */
export const SPLIT_KEYS: readonly string[] = ['SPLITS', 'NUMREGIONS', 'SPLITALGO', 'SPLITS_FILE'];

interface Described {
  readonly attributes: Readonly<Record<string, string>>;
  readonly configuration: Readonly<Record<string, string>>;
}

const NOTHING: Described = { attributes: {}, configuration: {} };

/** A new table. Throws IllegalArgumentException or DoNotRetryIOException, naming what is wrong. */
export function parseTable(spec: TableSpec): TableSchema {
  const name = canonicalTableName(specName(spec, 'table'));
  const families = familySpecs(spec, name).map((family) => parseFamily(family));
  for (const [index, family] of families.entries()) {
    if (families.findIndex((other) => other.name === family.name) !== index) {
      throw new IllegalArgumentException(
        `Family '${family.name}' already exists so cannot be added: named twice for table ${name}`,
      );
    }
  }
  const table = { name, ...applyTable(NOTHING, spec, name, true), families: sorted(families) };
  checkTable(table);
  return table;
}

/**
 * The descriptor after a change: attributes of the table and of the families named; a family that is new is added, one
 * with `METHOD: 'delete'` is dropped, other families stay as they are. The name in `spec` must be the table's.
 */
export function alterSchema(old: TableSchema, spec: TableSpec): TableSchema {
  const name = canonicalTableName(specName(spec, 'table'));
  if (name !== old.name) {
    throw new IllegalArgumentException(`A table cannot be renamed: ${old.name} to ${name}`);
  }
  let table: TableSchema = { ...old, ...applyTable(old, spec, name, false) };
  for (const family of familySpecs(spec, name)) {
    const familyName = typeof family === 'string' ? family : specName(family, 'family');
    if (typeof family !== 'string' && isDelete(family)) {
      table = withoutFamily(table, familyName);
    } else {
      table = hasFamily(table, familyName)
        ? withModifiedFamily(table, family)
        : withFamily(table, family);
    }
  }
  checkTable(table);
  return table;
}

/** A new family. */
export function parseFamily(spec: FamilySpec | string): FamilySchema {
  const name = typeof spec === 'string' ? spec : specName(spec, 'family');
  checkFamilyName(name);
  if (typeof spec === 'string') return { name, ...NOTHING };
  return { name, ...applyFamily(NOTHING, spec, name) };
}

/** The table with a further family (HBase: addColumnFamily). */
export function withFamily(table: TableSchema, spec: FamilySpec | string): TableSchema {
  const family = parseFamily(spec);
  if (hasFamily(table, family.name)) {
    throw new InvalidFamilyOperationException(
      `Column family '${family.name}' in table '${table.name}' already exists so cannot be added`,
    );
  }
  const next = { ...table, families: sorted([...table.families, family]) };
  checkTable(next);
  return next;
}

/** The table with changed attributes of one family; attributes not named stay (HBase's shell: alter). */
export function withModifiedFamily(table: TableSchema, spec: FamilySpec | string): TableSchema {
  const name = typeof spec === 'string' ? spec : specName(spec, 'family');
  const old = table.families.find((family) => family.name === name);
  if (old === undefined) {
    throw new InvalidFamilyOperationException(
      `Family '${name}' does not exist, so it cannot be modified`,
    );
  }
  const family = typeof spec === 'string' ? old : { name, ...applyFamily(old, spec, name) };
  const families = table.families.map((other) => (other === old ? family : other));
  const next = { ...table, families };
  checkTable(next);
  return next;
}

/** The table without the family (HBase: deleteColumnFamily); the last one cannot go. */
export function withoutFamily(table: TableSchema, name: string): TableSchema {
  if (!hasFamily(table, name)) {
    throw new InvalidFamilyOperationException(
      `Family '${name}' does not exist, so it cannot be deleted`,
    );
  }
  if (table.families.length === 1) {
    throw new InvalidFamilyOperationException(
      `Family '${name}' is the only column family in the table, so it cannot be deleted`,
    );
  }
  return { ...table, families: table.families.filter((family) => family.name !== name) };
}

const hasFamily = (table: TableSchema, name: string): boolean =>
  table.families.some((family) => family.name === name);

/** Byte order; names are ASCII, so the order of code units is that of bytes. */
function sorted(families: readonly FamilySchema[]): FamilySchema[] {
  return [...families].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** `name` or the shell's NAME. */
function specName(spec: FamilySpec | TableSpec, kind: string): string {
  if (typeof spec !== 'object' || spec === null) {
    throw new IllegalArgumentException(
      `A ${kind} must be described by an object, not ${shown(spec)}`,
    );
  }
  const name: unknown = spec.name ?? spec['NAME'];
  if (typeof name !== 'string') {
    throw new IllegalArgumentException(`A ${kind} must have a name: name is ${shown(name)}`);
  }
  return name;
}

function familySpecs(spec: TableSpec, table: string): readonly (FamilySpec | string)[] {
  const families: unknown = spec.families ?? [];
  if (!Array.isArray(families)) {
    throw new IllegalArgumentException(
      `families of table ${table} must be an array, not ${shown(families)}`,
    );
  }
  return families as (FamilySpec | string)[];
}

function isDelete(spec: FamilySpec): boolean {
  const method = spec['METHOD'];
  if (method === undefined) return false;
  if (method === 'delete') return true;
  throw new IllegalArgumentException(`Unknown METHOD ${shown(method)} of family ${spec.name}`);
}

function applyTable(old: Described, spec: TableSpec, table: string, isNew: boolean): Described {
  const owner = `table ${table}`;
  return apply(old, spec, owner, (key, value, attributes) => {
    if (key === 'families') return true;
    if (SPLIT_KEYS.includes(key.toUpperCase())) {
      if (isNew) return true;
      throw new IllegalArgumentException(`${key} of ${owner} can only be given at creation`);
    }
    const other = otherTableKey(key);
    if (other !== null) {
      set(attributes, other, value === null ? null : plainText(value, `${key} of ${owner}`));
      return true;
    }
    return setAttribute(TABLE_ATTRIBUTES, key, value, owner, attributes);
  });
}

function applyFamily(old: Described, spec: FamilySpec, family: string): Described {
  const owner = `family ${family}`;
  return apply(old, spec, owner, (key, value, attributes) =>
    setAttribute(FAMILY_ATTRIBUTES, key, value, owner, attributes),
  );
}

type Texts = Record<string, string>;

function apply(
  old: Described,
  spec: FamilySpec | TableSpec,
  owner: string,
  take: (key: string, value: unknown, attributes: Texts) => boolean,
): Described {
  const attributes: Texts = { ...old.attributes };
  const configuration: Texts = { ...old.configuration };
  for (const [key, value] of Object.entries(spec)) {
    if (value === undefined || key === 'name' || key === 'NAME') continue;
    switch (key.toUpperCase()) {
      case 'METADATA':
        mergeTexts(attributes, value, `METADATA of ${owner}`);
        continue;
      case 'CONFIGURATION':
        mergeTexts(configuration, value, `CONFIGURATION of ${owner}`);
        continue;
      default:
        if (!take(key, value, attributes)) throw unknownAttribute(key, owner);
    }
  }
  return { attributes, configuration };
}

function setAttribute(
  known: readonly Attribute[],
  key: string,
  value: unknown,
  owner: string,
  attributes: Texts,
): boolean {
  const attribute = findAttribute(known, key);
  if (attribute === undefined) return false;
  set(attributes, attribute.name, value === null ? null : attributeText(attribute, value, owner));
  return true;
}

function unknownAttribute(key: string, owner: string): IllegalArgumentException {
  const known = owner.startsWith('table') ? TABLE_ATTRIBUTES : FAMILY_ATTRIBUTES;
  const hint = closest(key, [...known.map((attribute) => attribute.name), 'families']);
  const advice =
    hint === null ? 'other keys go into METADATA or CONFIGURATION' : `did you mean ${hint}?`;
  return new IllegalArgumentException(`Unknown attribute '${key}' of ${owner} (${advice})`);
}

function mergeTexts(into: Texts, value: unknown, what: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new IllegalArgumentException(`${what} must be an object, not ${shown(value)}`);
  }
  for (const [key, text] of Object.entries(value as Record<string, unknown>)) {
    if (key === '') throw new IllegalArgumentException(`${what} has an empty key`);
    set(into, key, text === null ? null : plainText(text, `${key} in ${what}`));
  }
}

function set(into: Texts, key: string, text: string | null): void {
  if (text === null) Reflect.deleteProperty(into, key);
  else into[key] = text;
}
