// Compiles src to dist. Run by `prepare`, so that workers and the command line always start from
// built output. dist is emptied first: a renamed module must not live on there. Then the command line is put into one file
// and runs once, which leaves its compiled code beside it.
import { rmSync, chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { spawn, spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import path from 'node:path';
import { firstSteps } from './first_request.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const dist = path.join(root, 'dist');
const main = path.join(dist, 'cli', 'main.cjs');
rmSync(dist, { recursive: true, force: true });
const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const result = spawnSync(process.execPath, [tsc, '-p', path.join(root, 'tsconfig.json')], {
  stdio: 'inherit',
  cwd: root,
});
if (result.status !== 0) process.exit(result.status ?? 1);
const entry = path.join(dist, 'cli', 'main.js');
chmodSync(entry, 0o755);
writeFileSync(main, "#!/usr/bin/env node\nimport('./main.js');\n", { mode: 0o755 });
try {
  const { bundle } = await import('./bundle.mjs');
  await bundle(dist);
  await runOnce();
} catch (error) {
  // Where the bundler's native part is not installed, say: all works from the modules, it starts later.
  console.error(`the command line stays in many files and will start slowly: ${error.stack}`);
}

/** A server that is talked to, so that what the first requests of others need is compiled, too. */
async function runOnce() {
  const dir = mkdtempSync(path.join(tmpdir(), 'cellar-build-'));
  const server = spawn(process.execPath, [main, 'serve', dir, '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = new Promise((resolve, reject) => {
    server.once('error', reject).once('exit', resolve);
  });
  try {
    for await (const line of createInterface({ input: server.stdout })) {
      await firstSteps(JSON.parse(line).rpc);
      break;
    }
  } finally {
    server.kill('SIGTERM');
    await ended;
    rmSync(dir, { recursive: true });
  }
}
