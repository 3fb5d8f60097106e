/**
 * A program in one file, started with the compiled code that an earlier run left beside it: V8 then neither parses nor
 * compiles it again. The code is a gain of time only. Whatever is wrong with it, the program runs without.
 *
 * The file is a module of CommonJS that stands already in the function which Node puts around one (PROGRAM_HEAD, PROGRAM_TAIL),
 * so that its text goes to V8 as it is, without another copy of megabytes. All its characters are in Latin-1, and it begins
 * with 16 bytes of its own, a comment with a digest:
 *
 *     /*0123456789ab*\/(function (exports, …) { … })
 *
 *     offset  size  field of the file of compiled code
 *          0     4  magic   "CCC1"
 *          4     4  worth   how much of the program has been compiled; see `keepCode`
 *          8    16  id      the first bytes of the program's file, which tell one build from another
 *         24    32  sum     SHA-256 of the code: V8 trusts what it is given
 *         56     n  code    V8's; it is refused by another version of V8 or under other flags
 */
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Script } from 'node:vm';
import { threadId } from 'node:worker_threads';

const MAGIC = 'CCC1';
const WORTH_AT = 4;
const ID_AT = 8;
const ID_SIZE = 16;
const SUM_AT = ID_AT + ID_SIZE;
const CODE_AT = SUM_AT + 32;

/** What stands around the module; the head on its first line, so that its lines keep their numbers. */
export const PROGRAM_HEAD: string =
  '(function (exports, require, module, __filename, __dirname, __import) {';
export const PROGRAM_TAIL: string = '\n})';

/** A started program. */
export interface CompiledProgram {
  /** What its module exports. */
  readonly exports: unknown;
  /** Whether the compiled code of an earlier run was used. */
  readonly isFromCode: boolean;
  /**
   * Leaves the code that has been compiled so far for later runs, unless what is there is worth as much: functions that were
   * never called are not in it, so a run that did more leaves better code. A folder that cannot be written stays as it is.
   */
  keepCode(worth: number): void;
}

/** Where the compiled code of a program stands for the Node that runs now. */
export function codePath(file: string): string {
  return `${file}.${process.version}-${process.platform}-${process.arch}.code`;
}

/**
 * Runs the program in `file`. It imports modules by `__import(…)`: V8 does not know how to in such a program. Null if there is
 * none. Throws what the program throws.
 */
export function runCompiled(file: string): CompiledProgram | null {
  const source = readProgram(file);
  if (source === null) return null;
  // A copy: what is kept for the run should not keep the whole file.
  const id = new Uint8Array(source.subarray(0, ID_SIZE));
  const kept = readCode(codePath(file));
  const isSound = kept !== null && isCodeOf(kept, id);
  const script = new Script(source.toString('latin1'), {
    filename: file,
    ...(isSound ? { cachedData: kept.subarray(CODE_AT) } : {}),
  });
  const isFromCode = isSound && script.cachedDataRejected !== true;
  const module = { exports: {} };
  const run = script.runInThisContext() as (...values: unknown[]) => void;
  run(module.exports, createRequire(file), module, file, path.dirname(file), importFrom(file));
  const worthKept = isSound ? kept.readUInt32BE(WORTH_AT) : -1;
  return {
    exports: module.exports,
    isFromCode,
    keepCode: (worth) => {
      // Code that this V8 refuses was made under other flags, which are the exception, and stays for those who have none.
      if (worth <= worthKept || (isSound && !isFromCode)) return;
      writeCode(codePath(file), { id, worth, code: script.createCachedData() });
    },
  };
}

function importFrom(file: string): (specifier: string) => Promise<unknown> {
  const base = pathToFileURL(file);
  return (specifier) =>
    import(specifier.startsWith('.') ? new URL(specifier, base).href : specifier);
}

function isCodeOf(kept: Buffer, id: Uint8Array): boolean {
  return (
    kept.length > CODE_AT &&
    kept.toString('latin1', 0, WORTH_AT) === MAGIC &&
    kept.subarray(ID_AT, SUM_AT).equals(id) &&
    kept.subarray(SUM_AT, CODE_AT).equals(sumOf(kept.subarray(CODE_AT)))
  );
}

function sumOf(code: Uint8Array): Uint8Array {
  return createHash('sha256').update(code).digest();
}

interface Code {
  readonly id: Uint8Array;
  readonly worth: number;
  readonly code: Uint8Array;
}

/** Under another name first: a reader finds the whole file or none. */
function writeCode(file: string, { id, worth, code }: Code): void {
  const head = Buffer.alloc(WORTH_AT + 4);
  head.write(MAGIC, 'latin1');
  head.writeUInt32BE(worth, WORTH_AT);
  const draft = `${file}.${process.pid}-${threadId}`;
  try {
    writeFileSync(draft, Buffer.concat([head, id, sumOf(code), code]), { flag: 'wx' });
    renameSync(draft, file);
  } catch {
    // Installed by somebody else, or a full disk: the next start compiles again, which is all that is lost.
    rmSync(draft, { force: true });
  }
}

function readProgram(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function readCode(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch {
    return null; // Not there yet, or not to be read: the program starts without.
  }
}
