#!/bin/sh
# Apache HBase's own client tests against a Cellar of its own: sh scripts/suite.sh [CLASS | CLASS#TEST]…, all classes without
# arguments. The harness is a folder beside the project or at HBASE_SUITE; it fetches HBase from Maven (JDK 17, Maven).
# The last line is "N passed, N failed". Needs the built output.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
suite=${HBASE_SUITE:-$root/../shared/hbase-suite}
if [ ! -x "$suite/run" ]; then
  echo "no harness at $suite: set HBASE_SUITE" >&2
  exit 2
fi
scratch=$(mktemp -d)
node "$root/dist/cli/main.cjs" serve --port 0 --json > "$scratch/ready" 2> "$scratch/log" &
server=$!
trap 'kill $server 2>/dev/null || :; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
until [ -s "$scratch/ready" ]; do
  kill -0 "$server" || { cat "$scratch/log" >&2; exit 1; }
  sleep 0.1
done
rpc=$(sed -E 's/.*"rpc":"([^"]*)".*/\1/' "$scratch/ready")
export SUITE_WORK="${SUITE_WORK:-$scratch/work}"
status=0
"$suite/run" "$rpc" "$@" || status=$?
kill -0 "$server" 2>/dev/null || { echo "the server has ended:" >&2; cat "$scratch/log" >&2; exit 1; }
exit "$status"
