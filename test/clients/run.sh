#!/bin/sh
# Real clients against the server: `test/clients/run.sh [NAME…]`, all of them without a name. What they need is fetched once into
# ~/.cache/cellar-clients (or CELLAR_CLIENTS_CACHE). Needs Node, a JDK of 17 or newer, Maven and Python 3.
set -u
cd "$(dirname "$0")"
[ -n "${CELLAR_DIST:-}" ] || npm run --silent build --prefix ../.. || exit 1
names=${*:-java compression shell hbase-driver hbase-rpc-client asynchbase happybase thbase mapreduce synctable rest janusgraph}
failed=
for name in $names; do
  echo "== $name"
  if ! "./$name/run.sh"; then failed="$failed $name"; fi
done
if [ -n "$failed" ]; then
  echo "failed:$failed"
  exit 1
fi
echo "all passed"
