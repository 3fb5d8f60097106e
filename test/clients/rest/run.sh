#!/bin/sh
# HBase's REST gateway in front of the server answers recorded requests as it answered in front of Apache HBase.
. "$(dirname "$0")/../lib.sh"
lib=$(maven_jars rest org.apache.hbase:hbase-rest:2.6.1 javax.servlet:javax.servlet-api:3.1.0)
# An old one comes in, too, and would be found first.
rm -f "$lib"/servlet-api-2*.jar
start_server
start_gateway org.apache.hadoop.hbase.rest.RESTServer 18080 start
node "$here/rest/replay.mjs" http://127.0.0.1:18080
