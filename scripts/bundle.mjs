// Puts the command line, with the packages that it needs at its start, into one file, dist/bundle/cellar.cjs, and all jobs of
// workers into another, dist/bundle/jobs.cjs. Loading some 600 files one by one takes Node half a second of processor
// time. Nothing is renamed or shortened, comments are left out. dist/cli/main.cjs and dist/io/worker_main.js run them;
// the library and debuggers use the modules in dist.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { parseAst } from 'rolldown/parseAst';

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

/** Modules outside are imported as runCompiled wants it. Those inside are not imported any more. */
function importing(code) {
  const starts = [];
  const visit = (node) => {
    if (node === null || typeof node !== 'object') return;
    if (node.type === 'ImportExpression') starts.push(node.start);
    for (const value of Object.values(node)) visit(value);
  };
  visit(parseAst(code));
  const pieces = [0, ...starts].map((from, i) => code.slice(from, starts[i] ?? code.length));
  return pieces.join('__');
}

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

/**
 * The entry of the command line as CommonJS, dist/cli/main.cjs: Node starts it without its loader of modules, which saves a
 * fifth of the time to a server's first answer.
 */
async function writeEntry(dist) {
  const build = await rolldown({
    input: path.join(dist, 'cli/main.js'),
    platform: 'node',
    external: ['./program.js'],
    plugins: [programApart],
  });
  const { output } = await build.generate({ format: 'cjs', strict: true, comments: false });
  await build.close();
  const { code } = output[0];
  writeFileSync(path.join(dist, 'cli/main.cjs'), code, { mode: 0o755 });
}

/** Its modules are run where there is no bundle. */
const programApart = {
  name: 'program-apart',
  resolveId(source) {
    return source === './program.js' ? { id: source, external: true } : null;
  },
};

/** The function around a module: src/io/compiled_program.ts. */
async function asProgram(dist, code) {
  const file = path.join(dist, 'io/compiled_program.js');
  const { PROGRAM_HEAD, PROGRAM_TAIL } = await import(pathToFileURL(file).href);
  return `${PROGRAM_HEAD}${code}${PROGRAM_TAIL}`;
}

/** Answers the modules inside. */
async function write(dist, name, input, plugins = []) {
  const build = await rolldown({
    input,
    platform: 'node',
    external: LATER,
    plugins: [...plugins, moduleUrls(dist), zstdApart],
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
  if (more !== undefined) throw new Error(`${name} has a second part, ${more.fileName}`);
  const text = await asProgram(dist, importing(escaped(code)));
  const id = createHash('sha256').update(text).digest('hex').slice(0, 12);
  writeFileSync(path.join(dist, 'bundle', name), `/*${id}*/${text}`, 'latin1');
  return moduleIds;
}

/** Modules that name themselves as the place of a job. */
function jobModules(dist) {
  return readdirSync(dist, { recursive: true })
    .filter((name) => name.endsWith('.js'))
    .filter((name) =>
      readFileSync(path.join(dist, name), 'utf8').includes('module: import.meta.url'),
    )
    .map((name) => name.split(path.sep).join('/'))
    .sort();
}

const JOBS = 'all-jobs';

/** A module that exports the modules of all jobs, and what serves them. */
function allJobs(dist) {
  const found = jobModules(dist);
  const at = (name) => JSON.stringify(path.join(dist, name));
  const code = [
    `export { serveJobs } from ${at('io/worker_jobs.js')};`,
    ...found.map((name, i) => `import * as module${i} from ${at(name)};`),
    `export const modules = { ${found.map((name, i) => `${JSON.stringify(name)}: module${i}`).join(', ')} };`,
  ].join('\n');
  return {
    name: JOBS,
    resolveId: (source) => (source === JOBS ? JOBS : null),
    load: (id) => (id === JOBS ? code : null),
  };
}

/** Writes dist/bundle. */
export async function bundle(dist) {
  const folder = path.join(dist, 'bundle');
  mkdirSync(folder, { recursive: true });
  const inside = [
    ...(await write(dist, 'cellar.cjs', path.join(dist, 'cli/program.js'))),
    ...(await write(dist, 'jobs.cjs', JOBS, [allJobs(dist)])),
  ];
  writeFileSync(
    path.join(folder, 'LICENCES.txt'),
    licences(inside).join(`\n${'-'.repeat(80)}\n\n`),
  );
  await writeEntry(dist);
}
