#!/bin/sh
# HBase's shell, without a terminal: its commands, and what it prints, compared with what it printed on Apache HBase 2.6.3.
# `shell/run.sh --record ZOOKEEPER` writes expected.txt anew, from the HBase there.
. "$(dirname "$0")/../lib.sh"
lib=$(maven_jars shell org.apache.hbase:hbase-shell:2.4.17 org.jruby:jruby-complete:9.2.13.0 org.slf4j:slf4j-nop:1.7.36)
ruby=$cache/shell-ruby
if [ ! -d "$ruby" ]; then
  mkdir -p "$ruby"
  (cd "$ruby" && jar xf "$lib"/hbase-shell-2.4.17.jar)
fi
if [ "${1:-}" = --record ]; then
  zookeeper=$2
else
  start_server
fi
conf=$(mktemp -d)
cat > "$conf/hbase-site.xml" <<XML
<configuration>
  <property><name>hbase.zookeeper.quorum</name><value>${zookeeper%:*}</value></property>
  <property><name>hbase.zookeeper.property.clientPort</name><value>${zookeeper##*:}</value></property>
  <property><name>hbase.client.retries.number</name><value>4</value></property>
</configuration>
XML
cp "$here/shell/commands.txt" "$conf/script.rb"
echo exit >> "$conf/script.rb"
# shellcheck disable=SC2086
java -Xmx768m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 $java_opens -Dhbase.ruby.sources="$ruby" -cp "$conf:$lib/*" \
  org.jruby.JarBootstrapMain < "$conf/script.rb" > "$conf/raw.txt" 2> "$conf/errors.txt" || :
# What differs from run to run: times, hosts, ids.
sed -E -f "$here/shell/normalize.sed" "$conf/raw.txt" > "$conf/printed.txt"
if [ "${1:-}" = --record ]; then
  cp "$conf/printed.txt" "$here/shell/expected.txt"
  exit 0
fi
cp "$conf/raw.txt" "$conf/errors.txt" "$cache"/ 2>/dev/null || :
if diff -u "$here/shell/expected.txt" "$conf/printed.txt"; then
  echo "$(wc -l < "$here/shell/commands.txt") passed, 0 failed"
else
  echo "0 passed, 1 failed"
  exit 1
fi
