/** A table as HBase's shell prints it (HBase: TableDescriptor#toStringTableAttributes, ColumnFamilyDescriptor#toString). */
import {
  FAMILY_ATTRIBUTES,
  TABLE_ATTRIBUTES,
  findAttribute,
  otherTableKey,
  shownAttribute,
} from './attributes.ts';
import { DEFAULT_NAMESPACE } from './names.ts';
import type { FamilySchema, TableDescription, TableSchema } from './schema.ts';

/** The lines of `describe`, without header, footer and time. */
export function describeLines(table: TableDescription): string[] {
  return [
    `Table ${table.name} is ${table.enabled ? 'ENABLED' : 'DISABLED'}`,
    describeTableAttributes(table),
    'COLUMN FAMILIES DESCRIPTION',
    ...table.families.map((family) => describeFamily(family)),
  ];
}

/** `t` or `t, {TABLE_ATTRIBUTES => {…}}`. */
export function describeTableAttributes(table: TableSchema): string {
  const parts: string[] = [];
  const metadata: [string, string][] = [];
  for (const [key, text] of Object.entries(table.attributes)) {
    const attribute = findAttribute(TABLE_ATTRIBUTES, key);
    if (attribute !== undefined && attribute.name === key) {
      // HBase does not show that an ordinary table is not the catalog.
      if (key === 'IS_META' && text.toLowerCase() === 'false') continue;
      parts.push(`${key} => ${quoted(shownAttribute(attribute, text))}`);
    } else if (otherTableKey(key)?.startsWith('coprocessor') === true) {
      parts.push(`${key} => ${quoted(text)}`);
    } else {
      metadata.push([key, text]);
    }
  }
  if (metadata.length > 0) parts.push(`METADATA => ${hash(metadata)}`);
  const configuration = Object.entries(table.configuration);
  if (configuration.length > 0) parts.push(`CONFIGURATION => ${hash(configuration)}`);
  const name = table.name.startsWith(`${DEFAULT_NAMESPACE}:`)
    ? table.name.slice(DEFAULT_NAMESPACE.length + 1)
    : table.name;
  return parts.length === 0 ? name : `${name}, {TABLE_ATTRIBUTES => {${parts.join(', ')}}}`;
}

/** `{NAME => 'f', INDEX_BLOCK_ENCODING => 'NONE', VERSIONS => '1', …}`: what HBase always shows, then what was set. */
export function describeFamily(family: FamilySchema): string {
  const parts = [`NAME => ${quoted(family.name)}`];
  for (const attribute of FAMILY_ATTRIBUTES) {
    const set = family.attributes[attribute.name];
    if (set === undefined && attribute.always !== true) continue;
    parts.push(
      `${attribute.name} => ${quoted(shownAttribute(attribute, set ?? attribute.default ?? ''))}`,
    );
  }
  const metadata = Object.entries(family.attributes).filter(
    ([key]) => !FAMILY_ATTRIBUTES.some((attribute) => attribute.name === key),
  );
  if (metadata.length > 0) parts.push(`METADATA => ${hash(metadata)}`);
  const configuration = Object.entries(family.configuration);
  if (configuration.length > 0) parts.push(`CONFIGURATION => ${hash(configuration)}`);
  return `{${parts.join(', ')}}`;
}

const quoted = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function hash(entries: readonly (readonly [string, string])[]): string {
  return `{${entries.map(([key, text]) => `${quoted(key)} => ${quoted(text)}`).join(', ')}}`;
}
