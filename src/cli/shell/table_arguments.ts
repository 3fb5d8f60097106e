/** Arguments of `create` and `alter` as descriptions of tables. */
import { IllegalArgumentException } from '../../model/index.ts';
import type { FamilySpec, TableSpec } from '../../model/index.ts';
import { isHash, textOf, type ShellValue } from './literals.ts';
import type { ShellArguments } from './session.ts';

type Members = Record<string, unknown>;

/** A hash literal as a plain object; its keys are text. */
export function hashObject(hash: ReadonlyMap<ShellValue, ShellValue>): Members {
  const object: Members = {};
  for (const [key, value] of hash) object[textOf(key)] = isHash(value) ? hashObject(value) : value;
  return object;
}

/** `create 't', 'f', {NAME => 'g', VERSIONS => 3}, SPLITS => [...]`. */
export function createSpec(table: string, args: ShellArguments): TableSpec {
  const families: (FamilySpec | string)[] = [];
  const attributes: Members = {};
  for (const argument of args) {
    if (!isHash(argument)) families.push(textOf(argument));
    else if (argument.has('NAME')) families.push(familyOf(hashObject(argument)));
    else Object.assign(attributes, hashObject(argument));
  }
  return { ...attributes, name: table, families };
}

/** `alter 't', NAME => 'f', VERSIONS => 5`, `{NAME => 'f', METHOD => 'delete'}`, `'delete' => 'f'`, `READONLY => true`, … */
export function alterSpec(table: string, args: ShellArguments): TableSpec {
  const families: (FamilySpec | string)[] = [];
  const attributes: Members = {};
  for (const argument of args) {
    if (isHash(argument)) alterHash(hashObject(argument), families, attributes);
    else families.push(textOf(argument));
  }
  return { ...attributes, name: table, families };
}

function alterHash(
  { METHOD: method, delete: deleted, ...rest }: Members,
  families: (FamilySpec | string)[],
  attributes: Members,
): void {
  if (deleted !== undefined) {
    families.push({ name: textOf(deleted), METHOD: 'delete' });
  }
  switch (method) {
    case undefined:
      if ('NAME' in rest) families.push(familyOf(rest));
      else Object.assign(attributes, rest);
      return;
    case 'delete':
      families.push({ ...familyOf(rest), METHOD: 'delete' });
      return;
    case 'table_att':
      Object.assign(attributes, rest);
      return;
    case 'table_att_unset':
      for (const name of namesOf(rest['NAME'])) attributes[name] = null;
      return;
    case 'table_conf_unset':
      attributes['CONFIGURATION'] = Object.fromEntries(
        namesOf(rest['NAME']).map((name) => [name, null]),
      );
      return;
    default:
      throw new IllegalArgumentException(`Unknown METHOD ${textOf(method)} of alter`);
  }
}

function familyOf({ NAME: name, ...rest }: Members): FamilySpec {
  if (name === undefined || name === null) {
    throw new IllegalArgumentException('a family must have a NAME');
  }
  return { ...rest, name: textOf(name) };
}

const namesOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.map((name) => textOf(name)) : [textOf(value)];
