// Turns src and test/sim into JavaScript, file by file and without type checks, in a folder of its own below
// node_modules/.cache, where packages are found as from the sources.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

const CACHE = path.join(ROOT, 'node_modules', '.cache');

const OPTIONS = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  rewriteRelativeImportExtensions: true,
  verbatimModuleSyntax: true,
};

/** The sources that the simulator runs, as paths from the root. */
export function sources() {
  return ['src', 'test/sim'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter(
        (name) => name.endsWith('.ts') && !name.endsWith('.d.ts') && !name.endsWith('.test.ts'),
      )
      .map((name) => path.posix.join(folder, name.split(path.sep).join('/'))),
  );
}

/** The JavaScript of one source; kept by the hash of its text, since the compiler is slow. */
export function transpile(text, name) {
  const hash = createHash('sha256').update(`${ts.version} ${name}\n`).update(text).digest('hex');
  const kept = path.join(CACHE, 'cellar-sim-js', `${hash}.js`);
  if (existsSync(kept)) return readFileSync(kept, 'utf8');
  const javascript = compile(text, name);
  mkdirSync(path.dirname(kept), { recursive: true });
  writeFileSync(kept, javascript);
  return javascript;
}

function compile(text, name) {
  return ts.transpileModule(text, { compilerOptions: OPTIONS, fileName: name }).outputText;
}

export const readSource = (name) => readFileSync(path.join(ROOT, name), 'utf8');

/** Writes the JavaScript of a source below `folder`. */
export function writeBuilt(folder, name, javascript) {
  const file = path.join(folder, name.replace(/\.ts$/, '.js'));
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, javascript);
}

/** A new folder for built sources; the caller removes it. */
export function newFolder(label) {
  const folder = path.join(CACHE, `cellar-sim-${label}-${process.pid}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }\n');
  return folder;
}
