# Sourced by the scripts beside it: where things are, how libraries are fetched, how a server is started and stopped.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
while [ ! -f "$here/lib.sh" ]; do here=$(dirname "$here"); done
root=$(cd "$here/../.." && pwd)
cache=${CELLAR_CLIENTS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cellar-clients}
mkdir -p "$cache"

# maven_jars NAME G:A:V…: a folder with these artifacts and what they need, fetched once.
maven_jars() {
  name=$1
  shift
  dir=$cache/maven/$name
  pom=$(
    echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    echo '<groupId>x</groupId><artifactId>x</artifactId><version>1</version><dependencies>'
    for gav; do
      echo "$gav" | sed -E 's#([^:]*):([^:]*):([^:]*)(:(.*))?#<dependency><groupId>\1</groupId><artifactId>\2</artifactId><version>\3</version><classifier>\5</classifier></dependency>#; s#<classifier></classifier>##'
    done
    echo '</dependencies></project>'
  )
  if [ "$(cat "$dir/pom.xml" 2>/dev/null)" != "$pom" ] || [ ! -f "$dir/done" ]; then
    echo "fetching $*" >&2
    rm -rf "$dir"
    mkdir -p "$dir"
    printf '%s\n' "$pom" > "$dir/pom.xml"
    mvn -q -B -f "$dir/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
      -DincludeScope=runtime -DoutputDirectory="$dir/lib" >&2
    touch "$dir/done"
  fi
  echo "$dir/lib"
}

# Java modules that old Hadoop and HBase classes reach into.
java_opens=
for package in java.lang java.lang.reflect java.nio java.util java.util.concurrent java.io sun.nio.ch; do
  java_opens="$java_opens --add-opens=java.base/$package=ALL-UNNAMED"
done

# start_server [OPTION…]: sets rpc, zookeeper, http (host:port). It is stopped when the script ends.
start_server() {
  server_out=$(mktemp)
  node "$here/server.mjs" "$@" > "$server_out" &
  server_pid=$!
  trap 'kill $server_pid 2>/dev/null || :; rm -f "$server_out"' EXIT
  trap 'exit 130' INT TERM
  until [ -s "$server_out" ]; do
    kill -0 "$server_pid" || exit 1
    sleep 0.05
  done
  rpc=$(sed -E 's/.*"rpc":"([^"]*)".*/\1/' "$server_out")
  zookeeper=$(sed -E 's/.*"zookeeper":"([^"]*)".*/\1/' "$server_out")
  http=$(sed -E 's/.*"http":"([^"]*)".*/\1/' "$server_out")
}

# python_with PACKAGE…: a Python that has these packages, installed once.
python_with() {
  dir=$cache/python/$(echo "$*" | tr -c 'a-zA-Z0-9.\n' '-')
  if [ ! -f "$dir/done" ]; then
    echo "fetching $*" >&2
    rm -rf "$dir"
    python3 -m venv "$dir" >&2
    "$dir/bin/pip" -q install "$@" >&2
    touch "$dir/done"
  fi
  echo "$dir/bin/python"
}

# npm_with PACKAGE…: a folder whose node_modules has these packages, installed once.
npm_with() {
  dir=$cache/npm/$(echo "$*" | tr -c 'a-zA-Z0-9.\n' '-')
  if [ ! -f "$dir/done" ]; then
    echo "fetching $*" >&2
    rm -rf "$dir"
    mkdir -p "$dir"
    echo '{}' > "$dir/package.json"
    (cd "$dir" && npm install --silent --no-audit --no-fund "$@" >&2)
    touch "$dir/done"
  fi
  echo "$dir"
}

# start_gateway CLASS PORT ARGUMENTS…: one of HBase's gateways on 127.0.0.1, in front of the server, with the libraries in $lib. It
# is stopped when the script ends.
start_gateway() {
  class=$1 port=$2
  shift 2
  gateway_dir=$(mktemp -d)
  cat > "$gateway_dir/hbase-site.xml" <<XML
<configuration>
  <property><name>hbase.zookeeper.quorum</name><value>127.0.0.1</value></property>
  <property><name>hbase.zookeeper.property.clientPort</name><value>${zookeeper##*:}</value></property>
  <property><name>hbase.client.retries.number</name><value>4</value></property>
  <property><name>hbase.thrift.info.port</name><value>-1</value></property>
  <property><name>hbase.rest.info.port</name><value>-1</value></property>
  <property><name>hbase.rest.host</name><value>127.0.0.1</value></property>
  <property><name>hbase.rest.port</name><value>$port</value></property>
</configuration>
XML
  # shellcheck disable=SC2086
  java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 $java_opens -cp "$gateway_dir:$lib/*" "$class" "$@" \
    > "$gateway_dir/log" 2>&1 &
  gateway_pid=$!
  trap 'kill $gateway_pid $server_pid 2>/dev/null || :; rm -rf "$gateway_dir" "$server_out"' EXIT
  until node -e "require('node:net').connect($port, '127.0.0.1').on('connect', () => process.exit(0)).on('error', () => process.exit(1))"; do
    kill -0 "$gateway_pid" 2>/dev/null || { cat "$gateway_dir/log" >&2; exit 1; }
    sleep 0.2
  done
}

# mapreduce_jars: the libraries of HBase's tools and of Hadoop's local runner.
mapreduce_jars() {
  version=2.6.1-hadoop3
  maven_jars mapreduce org.apache.hbase:hbase-mapreduce:$version org.apache.hbase:hbase-mapreduce:$version:tests \
    org.apache.hbase:hbase-server:$version:tests org.apache.hbase:hbase-common:$version:tests \
    org.apache.hbase:hbase-zookeeper:$version:tests \
    org.apache.hadoop:hadoop-mapreduce-client-jobclient:3.3.5 org.apache.hadoop:hadoop-mapreduce-client-common:3.3.5 \
    org.apache.logging.log4j:log4j-core:2.17.2
}

# hadoop_conf FOLDER ZOOKEEPER: makes the folder with a configuration for tools: this HBase, local files, the local runner.
hadoop_conf() {
  mkdir -p "$1"
  cat > "$1/hbase-site.xml" <<XML
<configuration>
  <property><name>hbase.zookeeper.quorum</name><value>${2%:*}</value></property>
  <property><name>hbase.zookeeper.property.clientPort</name><value>${2##*:}</value></property>
  <property><name>hbase.client.retries.number</name><value>5</value></property>
  <property><name>fs.defaultFS</name><value>file:///</value></property>
  <property><name>hbase.rootdir</name><value>file://$1-root</value></property>
  <property><name>hbase.fs.tmp.dir</name><value>$1-staging</value></property>
  <property><name>hadoop.tmp.dir</name><value>$1-hadoop</value></property>
  <property><name>mapreduce.framework.name</name><value>local</value></property>
</configuration>
XML
  # Counters are told by the log.
  cat > "$1/log4j.properties" <<'LOG4J'
log4j.rootLogger=INFO,A
log4j.appender.A=org.apache.log4j.ConsoleAppender
log4j.appender.A.layout=org.apache.log4j.PatternLayout
log4j.appender.A.layout.ConversionPattern=%p %c{1} %m%n
LOG4J
}
