#!/bin/sh
# HBase's second Thrift gateway in front of the server, and thbase in front of that.
. "$(dirname "$0")/../lib.sh"
lib=$(maven_jars thrift org.apache.hbase:hbase-thrift:2.6.1 org.slf4j:slf4j-nop:1.7.36)
python=$(python_with thbase==1.3.14)
start_server --table thbase:f
start_gateway org.apache.hadoop.hbase.thrift2.ThriftServer 19091 -p 19091 -b 127.0.0.1 start
"$python" "$here/thbase/steps.py" 19091
