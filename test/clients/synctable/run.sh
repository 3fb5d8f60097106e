#!/bin/sh
# HashTable and SyncTable between Apache HBase and the server, in both directions. HBASE_ZOOKEEPER is the host:port of the former's
# ZooKeeper; without it there is nothing to do.
. "$(dirname "$0")/../lib.sh"
if [ -z "${HBASE_ZOOKEEPER:-}" ]; then
  echo 'HBASE_ZOOKEEPER names no Apache HBase'
  echo '0 passed, 0 failed, 1 skipped'
  exit 0
fi
lib=$(mapreduce_jars)
start_server --table from_hbase:info0
work=$(mktemp -d)
trap 'kill $server_pid 2>/dev/null || :; rm -rf "$work" "$server_out"' EXIT
hadoop_conf "$work/cellar" "$zookeeper"
hadoop_conf "$work/hbase" "$HBASE_ZOOKEEPER"
passed=0
failed=0

# expect NAME CONF TEXT CLASS [ARGUMENT…]
expect() {
  name=$1 conf=$2 text=$3
  shift 3
  # shellcheck disable=SC2086
  if (cd "$work" && java -Xmx768m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 $java_opens -cp "$work/$conf:$lib/*" "$@") \
    > "$work/$name.log" 2>&1 && grep -qE -- "$text" "$work/$name.log"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $name"
    tail -25 "$work/$name.log"
  fi
}

# both TABLE FROM TO ADDRESS-OF-FROM: brings TO's table to what FROM's holds, and compares.
both() {
  table=$1 from=$2 to=$3 source=$4:/hbase
  expect "$table-hash" "$from" 'completed successfully' $mr.HashTable --batchsize=32000 "$table" "$work/$table"
  expect "$table-sync" "$to" 'HASHES_NOT_MATCHED=[1-9]' \
    $mr.SyncTable --sourcezkcluster="$source" --dryrun=false "$work/$table" "$table" "$table"
  expect "$table-same" "$to" 'HASHES_MATCHED=[1-9]' \
    $mr.SyncTable --sourcezkcluster="$source" --dryrun=true "$work/$table" "$table" "$table"
  if grep -q HASHES_NOT_MATCHED "$work/$table-same.log"; then
    failed=$((failed + 1))
    echo "FAIL $table differs still"
  fi
  expect "$table-count" "$to" 'ROWS=2000' $mr.RowCounter "$table"
}

mr=org.apache.hadoop.hbase.mapreduce
pe=org.apache.hadoop.hbase.PerformanceEvaluation
expect write-hbase hbase Finished $pe --nomapred --rows=2000 --table=from_hbase sequentialWrite 1
both from_hbase hbase cellar "$HBASE_ZOOKEEPER"
expect write-cellar cellar Finished $pe --nomapred --rows=2000 --table=from_cellar sequentialWrite 1
expect make-hbase hbase Finished $pe --nomapred --rows=1 --table=from_cellar sequentialWrite 1
both from_cellar cellar hbase "$zookeeper"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
