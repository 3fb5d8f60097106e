#!/bin/sh
# hbase-rpc-client, an npm package of the times of HBase 1.
. "$(dirname "$0")/../lib.sh"
modules=$(npm_with hbase-rpc-client@0.1.15)
start_server --table old:cf
cp "$here/hbase-rpc-client/steps.mjs" "$modules/steps.mjs"
node "$modules/steps.mjs" "$zookeeper"
