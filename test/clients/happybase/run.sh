#!/bin/bash
# HBase's Thrift gateway in front of the server, and happybase's own tests against the gateway.
. "$(dirname "$0")/../lib.sh"
lib=$(maven_jars thrift org.apache.hbase:hbase-thrift:2.6.1 org.slf4j:slf4j-nop:1.7.36)
python=$(python_with happybase==1.3.0 pytest)
tests=$cache/happybase
if [ ! -d "$tests/happybase-1.3.0/tests" ]; then
  mkdir -p "$tests"
  "$python" -m pip -q download --no-deps --no-binary :all: -d "$tests" happybase==1.3.0 >&2
  tar -xzf "$tests"/happybase-1.3.0.tar.gz -C "$tests"
fi
# They call a function that they do not define.
cat > "$tests/happybase-1.3.0/tests/conftest.py" <<'PYTHON'
import builtins

import pytest

builtins.assert_raises = pytest.raises
PYTHON
start_server
conf=$(mktemp -d)
cat > "$conf/hbase-site.xml" <<XML
<configuration>
  <property><name>hbase.zookeeper.quorum</name><value>127.0.0.1</value></property>
  <property><name>hbase.zookeeper.property.clientPort</name><value>${zookeeper##*:}</value></property>
  <property><name>hbase.thrift.info.port</name><value>-1</value></property>
</configuration>
XML
# The tests know only this port.
# shellcheck disable=SC2086
java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 $java_opens -cp "$conf:$lib/*" \
  org.apache.hadoop.hbase.thrift.ThriftServer -p 9090 -b 127.0.0.1 start > "$conf/log" 2>&1 &
gateway=$!
trap 'kill $gateway $server_pid 2>/dev/null || :; rm -rf "$conf" "$server_out"' EXIT
until (exec 3<> /dev/tcp/127.0.0.1/9090) 2>/dev/null; do
  kill -0 $gateway || { cat "$conf/log"; exit 1; }
  sleep 0.2
done
cd "$tests/happybase-1.3.0"
"$python" -m pytest -q -p no:cacheprovider tests
