#!/bin/sh
# asynchbase, the client that OpenTSDB uses.
. "$(dirname "$0")/../lib.sh"
# Its own choice of netty is older than what it was compiled with.
lib=$(maven_jars asynchbase io.netty:netty:3.10.6.Final org.hbase:asynchbase:1.8.2 org.slf4j:slf4j-nop:1.7.36)
classes=$cache/asynchbase
mkdir -p "$classes"
rm -f "$lib"/log4j-over-slf4j-* "$lib"/netty-3.2*
javac -nowarn -proc:none -Xlint:none -cp "$lib/*" -d "$classes" "$here/asynchbase/Steps.java"
start_server --table tsdb:t
java -Xmx256m -XX:+UseSerialGC -cp "$classes:$lib/*" Steps "$zookeeper"
