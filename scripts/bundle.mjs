// Puts the command line, with the packages that it needs at its start, into one file: dist/bundle/cellar.cjs. Loading some
// 600 files one by one takes Node half a second of processor time. Nothing is renamed or shortened, comments are left
// out. dist/cli/main.js runs it; everything else (the library, workers, debuggers) uses the modules in dist.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rolldown } from 'rolldown';

// Loaded at their first use, by themselves: native, WebAssembly, or large and used by few.
const LATER = [/^@node-rs\//, /^@bokuweb\//, 'lz4-wasm-nodejs', 'snappyjs', 'fastify'];

/** Workers, data and the pool find files by their own module's URL, which in one file would be the same for all. */
const moduleUrls = (dist) => ({
  name: 'module-urls',
  transform(code, id) {
    if (!id.startsWith(dist) || !code.includes('import.meta.url')) return null;
    const from = path.posix.relative('bundle', path.relative(dist, id).split(path.sep).join('/'));
    return code.replaceAll(
      'import.meta.url',
      `new URL(${JSON.stringify(from)}, require('node:url').pathToFileURL(__filename)).href`,
    );
  },
});

/** Its initialization is awaited at its top level, which CommonJS cannot; it shares nothing with other modules. */
const zstdApart = {
  name: 'zstd-apart',
  resolveId(source) {
    return source === './zstd_wasm.js' ? { id: '../hfile/zstd_wasm.js', external: true } : null;
  },
};

/** Latin-1 is half the memory, and needs no decoding. Only texts have other characters here, where an escape is the same. */
const escaped = (code) =>
  code.replaceAll(/[^\x00-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** The licences of the packages inside. */
function licences(moduleIds) {
  const folders = new Set(
    moduleIds.flatMap((id) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? []),
  );
  return [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(path.join(folder, 'package.json'), 'utf8'),
    );
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    const text = file === undefined ? '' : readFileSync(path.join(folder, file), 'utf8').trim();
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
}

/** Writes dist/bundle; answers the file. */
export async function bundle(dist) {
  const build = await rolldown({
    input: path.join(dist, 'cli/program.js'),
    platform: 'node',
    external: LATER,
    plugins: [moduleUrls(dist), zstdApart],
  });
  const { output } = await build.generate({
    format: 'cjs',
    // As modules are anyway.
    strict: true,
    codeSplitting: false,
    // Jobs and errors are known by their names in other threads.
    keepNames: true,
    comments: false,
  });
  await build.close();
  const [{ code, moduleIds }, more] = output;
  if (more !== undefined) throw new Error(`the bundle has a second part, ${more.fileName}`);
  const text = escaped(code);
  const id = createHash('sha256').update(text).digest('hex').slice(0, 12);
  const folder = path.join(dist, 'bundle');
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, 'cellar.cjs');
  writeFileSync(file, `/*${id}*/${text}`, 'latin1');
  writeFileSync(
    path.join(folder, 'LICENCES.txt'),
    licences(moduleIds).join(`\n${'-'.repeat(80)}\n\n`),
  );
  return file;
}
