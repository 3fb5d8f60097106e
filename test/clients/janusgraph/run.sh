#!/bin/sh
# JanusGraph with its storage in the server.
. "$(dirname "$0")/../lib.sh"
lib=$(maven_jars janusgraph org.janusgraph:janusgraph-hbase:1.1.0 org.slf4j:slf4j-nop:1.7.36)
classes=$cache/janusgraph
mkdir -p "$classes"
javac -nowarn -proc:none -Xlint:none -cp "$lib/*" -d "$classes" "$here/janusgraph/Steps.java"
start_server
# shellcheck disable=SC2086
java -Xmx768m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 $java_opens -cp "$classes:$lib/*" Steps "${zookeeper##*:}"
