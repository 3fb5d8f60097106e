/** Writes docs/filters.md from the built code. */
import { writeFileSync } from 'node:fs';
import { filtersPage } from '../dist/filter/index.js';

writeFileSync(new URL('../docs/filters.md', import.meta.url), filtersPage());
