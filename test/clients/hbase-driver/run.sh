#!/bin/sh
# hbase-driver, a Python client without Thrift.
. "$(dirname "$0")/../lib.sh"
python=$(python_with hbase-driver==1.1.1)
start_server
"$python" "$here/hbase-driver/steps.py" "$zookeeper"
