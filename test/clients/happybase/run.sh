#!/bin/sh
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
# The tests know only this port.
start_gateway org.apache.hadoop.hbase.thrift.ThriftServer 9090 -p 9090 -b 127.0.0.1 start
cd "$tests/happybase-1.3.0"
"$python" -m pytest -q -p no:cacheprovider tests
