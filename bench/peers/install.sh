#!/usr/bin/env bash
# Installs the peers from their lockfile. better-sqlite3 is compiled where no built one is to be had (a C++ compiler and
# Python, two minutes); rocksdb is optional: where it does not build, the bench goes on without it and says so.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
npm ci --no-audit --no-fund </dev/null
for peer in better-sqlite3 classic-level lmdb rocksdb; do
  if node -e "require('$peer')" 2>/dev/null; then
    printf '%s: ready\n' "$peer"
  else
    printf '%s: not available here, left out of the bench\n' "$peer"
  fi
done
