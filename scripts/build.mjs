// Compiles src to dist. Run by `prepare`, so that workers and the command line always start from
// built output. dist is emptied first: a renamed module must not live on there.
import { rmSync, chmodSync, existsSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
rmSync(path.join(root, 'dist'), { recursive: true, force: true });
const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const result = spawnSync(process.execPath, [tsc, '-p', path.join(root, 'tsconfig.json')], {
  stdio: 'inherit',
  cwd: root,
});
if (result.status !== 0) process.exit(result.status ?? 1);
const main = path.join(root, 'dist', 'cli', 'main.js');
if (existsSync(main)) chmodSync(main, 0o755);
