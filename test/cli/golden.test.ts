import { readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'vitest';
import { runScriptFile } from './support.ts';

const FOLDER = path.join(import.meta.dirname, 'testdata');

test.each(readdirSync(FOLDER))('%s', async (name) => {
  await runScriptFile(path.join(FOLDER, name));
});
