#!/usr/bin/env bash
# A transaction of GB gigabytes (default 10) in a process of its own: memory, time of the commit, delay of other writers. Needs
# three times as much room in DIR (default: the system's folder for temporary files).
set -eu
cd "$(dirname "$0")/../.."
npm run --silent build
node node_modules/typescript/bin/tsc -p bench/tsconfig.json
exec node bench/peers/dist/bench/txn/large.js --gb "${GB:-10}" ${DIR:+--dir "$DIR"}
