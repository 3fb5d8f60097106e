/**
 * Names of namespaces, tables and families: which are legal, and their one canonical spelling
 * (HBase: TableName, ColumnFamilyDescriptorBuilder#isLegalColumnFamilyName). All throw IllegalArgumentException.
 */
import { FAMILY_LENGTH_MAX } from '../cell/index.ts';
import { IllegalArgumentException } from './errors.ts';

export const DEFAULT_NAMESPACE = 'default';
export const SYSTEM_NAMESPACE = 'hbase';
/** Names are folder names on the disk: no usual file system takes a longer one. */
export const NAME_LENGTH_MAX = 255;

/** Tables of the store's own, such as the ledger of transactions: nobody lists, reads or changes them. */
export function isHiddenTable(name: string): boolean {
  return typeof name === 'string' && name.startsWith(`${SYSTEM_NAMESPACE}:cellar_`);
}

export interface TableName {
  readonly namespace: string;
  readonly qualifier: string;
}

const LETTER_OR_DIGIT = /[\p{Alphabetic}\p{Nd}]/u;

function checkLength(what: string, name: string): void {
  const length = Buffer.byteLength(name, 'utf8');
  if (length > NAME_LENGTH_MAX) {
    throw new IllegalArgumentException(
      `${what} of ${length} bytes is longer than ${NAME_LENGTH_MAX}: ${name.slice(0, 60)}…`,
    );
  }
}

/** Refuses what a caller without types may give as a name. `what` names the argument. */
export function requireText(what: string, name: unknown): asserts name is string {
  if (typeof name !== 'string') {
    throw new IllegalArgumentException(`${what} must be a string, not ${typeof name}`);
  }
}

/** Letters and digits of any language, and '_'. */
export function checkNamespaceName(name: string): void {
  requireText('Namespace name', name);
  if (name === '') throw new IllegalArgumentException('Namespace name must not be empty');
  let at = 0;
  for (const character of name) {
    if (character !== '_' && !LETTER_OR_DIGIT.test(character)) {
      throw new IllegalArgumentException(
        `Illegal character <${character}> at ${at}. Namespaces may only contain 'alphanumeric characters' from any language and digits: ${name}`,
      );
    }
    at += character.length;
  }
  if (name === 'zookeeper') {
    throw new IllegalArgumentException("Namespaces may not be named 'zookeeper'");
  }
  checkLength('Namespace name', name);
}

function checkTableQualifier(name: string): void {
  if (name === '') throw new IllegalArgumentException('Table qualifier must not be empty');
  if (name.startsWith('.') || name.startsWith('-')) {
    throw new IllegalArgumentException(
      `Illegal first character <${name[0]}> at 0. User-space table qualifiers can only start with 'alphanumeric characters' from any language: ${name}`,
    );
  }
  let at = 0;
  for (const character of name) {
    if (!'-_.'.includes(character) && !LETTER_OR_DIGIT.test(character)) {
      throw new IllegalArgumentException(
        `Illegal character code:${character.codePointAt(0)}, <${character}> at ${at}. User-space table qualifiers may only contain 'alphanumeric characters' and digits: ${name}`,
      );
    }
    at += character.length;
  }
  if (name === 'zookeeper') {
    throw new IllegalArgumentException("Tables may not be named 'zookeeper'");
  }
  checkLength('Table name', name);
}

/** As the qualifier of a table (HBase: TableName#isLegalTableQualifierName). */
export function checkSnapshotName(name: string): void {
  requireText('Snapshot name', name);
  checkTableQualifier(name);
}

/** Splits `namespace:qualifier` or `qualifier` and checks both. */
export function parseTableName(name: string): TableName {
  requireText('Table name', name);
  const colon = name.indexOf(':');
  const namespace = colon < 0 ? DEFAULT_NAMESPACE : name.slice(0, colon);
  const qualifier = name.slice(colon + 1);
  checkNamespaceName(namespace);
  checkTableQualifier(qualifier);
  return { namespace, qualifier };
}

/** `default:t` and `t` are one table, `t`. Checks the name. */
export function canonicalTableName(name: string): string {
  const { namespace, qualifier } = parseTableName(name);
  return namespace === DEFAULT_NAMESPACE ? qualifier : `${namespace}:${qualifier}`;
}

/**
 * 1 … 127 bytes of printable ASCII, no ':', '/' or '\\', not beginning with a period. (HBase lets bytes above 0x7f
 * pass; we do not, so that a family's name is its bytes everywhere.)
 */
export function checkFamilyName(name: string): void {
  requireText('Column Family name', name);
  if (name === '') throw new IllegalArgumentException('Column Family name can not be empty');
  if (name.startsWith('.')) {
    throw new IllegalArgumentException(`Column Family names cannot start with a period: ${name}`);
  }
  const bytes = Buffer.from(name, 'utf8');
  if (bytes.length > FAMILY_LENGTH_MAX) {
    throw new IllegalArgumentException(
      `The length of family name is bigger than ${FAMILY_LENGTH_MAX}: ${name.slice(0, 60)}…`,
    );
  }
  for (const byte of bytes) {
    if (byte < 0x20 || byte > 0x7e || byte === 0x3a || byte === 0x5c || byte === 0x2f) {
      throw new IllegalArgumentException(
        `Illegal character <${byte}>. Column Family names cannot contain control characters or colons: ${name}`,
      );
    }
  }
  if (name === 'recovered.edits') {
    throw new IllegalArgumentException('Column Family name cannot be: recovered.edits');
  }
}
