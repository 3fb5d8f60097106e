#!/bin/sh
# HBase's Java clients: `java/run.sh [VERSION…]`, each by every registry it knows.
. "$(dirname "$0")/../lib.sh"
start_server
status=0
for version in ${*:-2.4.15 2.5.11-hadoop3 2.6.4-hadoop3 3.0.0-alpha-3}; do
  lib=$(maven_jars "java-$version" "org.apache.hbase:hbase-shaded-client:$version" org.slf4j:slf4j-nop:1.7.36)
  classes=$cache/java-$version
  mkdir -p "$classes"
  javac -nowarn -proc:none -Xlint:none -cp "$lib/*" -d "$classes" "$here/java/Steps.java"
  registries='zk master rpc'
  case $version in 2.4.*) registries='zk master' ;; esac
  for registry in $registries; do
    address=$rpc
    [ "$registry" != zk ] || address=$zookeeper
    echo "java client $version by $registry"
    # shellcheck disable=SC2086
    java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 $java_opens ${STEPS_OPTIONS:-} -cp "$classes:$lib/*" \
      Steps "$registry" "$address" || status=1
  done
done
exit $status
