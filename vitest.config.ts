import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // The threads pool starts in a third of the time of forks and the suites share nothing.
    pool: 'threads',
    // No module keeps state, so suites need no copies of them: loading them for each took half of the time.
    isolate: false,
    // Every core: by default one is left for the watcher, which half of a small machine is too much for.
    maxWorkers: '100%',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
