#!/usr/bin/env node
/**
 * The program `cellar`. The build puts the whole command line into one file (scripts/bundle.mjs), which starts in a third of
 * the time; this runs it with the compiled code of earlier runs. The modules themselves are run where there is no such file,
 * for a debugger or with source maps, and with CELLAR_BUNDLE=off.
 *
 * The build makes CommonJS of this module, main.cjs beside it, which is what is installed: Node then starts without its
 * loader of modules, and a fifth sooner. So nothing is awaited at the top level here.
 */
import { fileURLToPath } from 'node:url';
// Not by way of the folder's index, which would load all that the bundle is there to replace.
import { runCompiled } from '../io/compiled_program.ts';
import type { CompiledProgram } from '../io/compiled_program.ts';

/** A server that was talked to has compiled more of the program than any other command. */
const WORTH_OF_SERVE = 2;
const WORTH = 1;

const isForDebugging =
  process.env['CELLAR_BUNDLE'] === 'off' ||
  process.execArgv.some((flag) => /^--(inspect|enable-source-maps)/.test(flag));

function bundled(): CompiledProgram | null {
  if (isForDebugging) return null;
  return runCompiled(fileURLToPath(new URL('../bundle/cellar.cjs', import.meta.url)));
}

async function start(): Promise<void> {
  const bundle = bundled();
  if (bundle === null) {
    const { main } = await import('./program.ts');
    return main();
  }
  const { main } = bundle.exports as { main: () => Promise<void> };
  await main();
  bundle.keepCode(process.argv[2] === 'serve' ? WORTH_OF_SERVE : WORTH);
}

// What it throws ends the process, as Node does with a rejection that nobody handles.
void start();
