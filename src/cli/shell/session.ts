/** What a shell's commands share: the store, where they print, and how they are described. */
import type { Connection } from '../../model/index.ts';
import { IllegalArgumentException } from '../../model/index.ts';
import type { Printer } from '../output.ts';
import { isHash, textOf, type ShellValue } from './literals.ts';
import type { CliIo } from '../context.ts';

export interface ShellSession {
  readonly io: CliIo;
  readonly store: Connection;
  readonly printer: Printer;
  /** Set by Ctrl-C: a running command stops at its next chance. */
  isStopped: boolean;
  /** Set by `exit`. */
  isDone: boolean;
}

export type ShellArguments = readonly ShellValue[];

export interface ShellCommand {
  readonly name: string;
  /** Heading in `help`. */
  readonly group: string;
  /** Examples, one a line. */
  readonly usage: string;
  run(session: ShellSession, args: ShellArguments): Promise<void>;
}

/** A required argument as text. Throws IllegalArgumentException naming the command and the argument. */
export function textArgument(args: ShellArguments, index: number, what: string): string {
  const value = args[index];
  if (value === undefined || value === null || isHash(value) || Array.isArray(value)) {
    throw new IllegalArgumentException(`argument ${index + 1} must be the ${what}`);
  }
  return textOf(value);
}

/** A required argument as bytes: a string's UTF-8, a number's digits. */
export function bytesArgument(
  args: ShellArguments,
  index: number,
  what: string,
): Uint8Array | string {
  const value = args[index];
  return value instanceof Uint8Array ? value : textArgument(args, index, what);
}

/** A 64-bit number; undefined if there is no such argument. */
export function integerArgument(value: ShellValue | undefined, what: string): bigint | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'bigint') return value;
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  if (!/^-?\d+$/.test(text)) throw new IllegalArgumentException(`${what} must be an integer`);
  return BigInt(text);
}

/** Refuses arguments that a command does not read. */
export function requireArgumentCount(args: ShellArguments, min: number, max: number): void {
  if (args.length >= min && args.length <= max) return;
  const wanted = min === max ? `${min}` : `${min} to ${max}`;
  throw new IllegalArgumentException(
    `wrong number of arguments: ${args.length} instead of ${wanted}`,
  );
}
