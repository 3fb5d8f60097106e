#!/bin/sh
# HBase's tools, on Hadoop's local runner: PerformanceEvaluation, LoadTestTool, RowCounter, CopyTable, Export and Import, HashTable
# and SyncTable, ImportTsv with a bulk load.
. "$(dirname "$0")/../lib.sh"
lib=$(mapreduce_jars)
start_server --table copied:info0 --table imported:info0 --table tsv:f
work=$(mktemp -d)
trap 'kill $server_pid 2>/dev/null || :; rm -rf "$work" "$server_out"' EXIT
hadoop_conf "$work/conf" "$zookeeper"
printf 'a\t1\nb\t2\nc\t3\n' > "$work/lines.tsv"
passed=0
failed=0

# expect NAME TEXT CLASS [ARGUMENT…]: runs the tool, which must end well and print the text.
expect() {
  name=$1 text=$2
  shift 2
  # shellcheck disable=SC2086
  if (cd "$work" && java -Xmx768m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 $java_opens -cp "$work/conf:$lib/*" "$@") \
    > "$work/$name.log" 2>&1 && grep -qE -- "$text" "$work/$name.log"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $name"
    tail -"${TAIL:-25}" "$work/$name.log"
  fi
}

mr=org.apache.hadoop.hbase.mapreduce
pe=org.apache.hadoop.hbase.PerformanceEvaluation
expect pe-write 'Finished' $pe --nomapred --rows=3000 --table=pe sequentialWrite 1
expect pe-read 'Finished' $pe --nomapred --rows=1000 --table=pe randomRead 2
expect pe-scan 'Finished' $pe --nomapred --rows=1000 --table=pe scan 1
expect load-test 'Failed to write keys: 0|Keys=\[*500' org.apache.hadoop.hbase.util.LoadTestTool \
  -tn loaded -write 2:64:2 -read 100:2 -num_keys 500
expect rowcounter 'ROWS=3000' $mr.RowCounter pe
expect copytable 'Map output records|completed successfully' $mr.CopyTable --new.name=copied pe
expect counted-copy 'ROWS=3000' $mr.RowCounter copied
expect hashtable 'completed successfully' $mr.HashTable --batchsize=32000 pe "$work/hashes"
expect synctable 'HASHES_MATCHED=[1-9]' $mr.SyncTable --dryrun=true "$work/hashes" pe copied
expect export 'completed successfully' $mr.Export pe "$work/exported"
expect import 'completed successfully' $mr.Import imported "$work/exported"
expect counted-import 'ROWS=3000' $mr.RowCounter imported
expect importtsv 'completed successfully' $mr.ImportTsv -Dimporttsv.columns=HBASE_ROW_KEY,f:q \
  -Dimporttsv.bulk.output="$work/hfiles" tsv "$work/lines.tsv"
expect bulkload '' org.apache.hadoop.hbase.tool.BulkLoadHFilesTool "$work/hfiles" tsv
expect counted-load 'ROWS=3' $mr.RowCounter tsv
echo "$passed passed, $failed failed"
[ $failed = 0 ]
