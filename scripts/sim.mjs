// npm run sim -- --seed N --minutes M | --steps K | --seeds C | --verbose (see test/sim/main.ts).
import { rmSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { newFolder, readSource, sources, transpile, writeBuilt } from './sim_build.mjs';

const folder = newFolder('run');
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
process.on('SIGINT', () => process.exit(130));
for (const name of sources()) writeBuilt(folder, name, transpile(readSource(name), name));
const { main } = await import(pathToFileURL(path.join(folder, 'test', 'sim', 'main.js')).href);
process.exitCode = await main(process.argv.slice(2), (line) => console.log(line));
