#!/bin/sh
# HBase's Java client with compressed cell blocks (hbase.client.rpc.compressor): `compression/run.sh [CODEC…]`, by default those of
# Hadoop's codecs that need no library of the system. The steps are those of ../java.
. "$(dirname "$0")/../lib.sh"
start_server
lib=$(maven_jars compression org.apache.hbase:hbase-client:2.6.1-hadoop3 org.apache.hadoop:hadoop-common:3.3.5 \
  org.xerial.snappy:snappy-java:1.1.10.4 org.lz4:lz4-java:1.8.0)
classes=$cache/compression
mkdir -p "$classes"
javac -nowarn -proc:none -Xlint:none -cp "$lib/*" -d "$classes" "$here/java/Steps.java"
status=0
for codec in ${*:-SnappyCodec Lz4Codec GzipCodec DefaultCodec}; do
  echo "java client, cell blocks compressed by $codec"
  # shellcheck disable=SC2086
  java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 $java_opens ${STEPS_OPTIONS:-} \
    -Dsteps.compressor=org.apache.hadoop.io.compress.$codec -cp "$classes:$lib/*" \
    Steps rpc "$rpc" || status=1
done
exit $status
