#!/bin/sh
# Lets Apache HBase's own HFilePrettyPrinter read files that we wrote, one for each variant, and compares the cells it prints
# with those that went in. Needs Java 17, Maven and a built `dist` (or DIST=folder). KEEP=1 keeps the files.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dist=${DIST:-$here/../../dist}
cache=${HFILE_PRETTY_PRINTER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hfile-pretty-printer}
lib=$cache/lib
if [ ! -f "$cache/done" ] || ! cmp -s "$here/pom.xml" "$cache/pom.xml"; then
  echo "fetching HBase" >&2
  rm -rf "$lib" "$cache/done"
  mkdir -p "$cache"
  cp "$here/pom.xml" "$cache/pom.xml"
  mvn -q -B -f "$cache/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
    -DoutputDirectory="$lib" >&2
  touch "$cache/done"
fi
work=$(mktemp -d)
if [ "${KEEP:-}" ]; then echo "files in $work" >&2; else trap 'rm -rf "$work"' EXIT; fi
node "$here/write.mjs" "$dist" "$work"
opens=""
for package in java.lang java.nio sun.nio.ch; do
  opens="$opens --add-opens=java.base/$package=ALL-UNNAMED"
done
opens="$opens --add-exports=java.base/jdk.internal.misc=ALL-UNNAMED"
java $opens -cp "$lib/*" "$here/Print.java" $(ls "$work"/*.expected | sed 's/\.expected$//') \
  >"$work/log" 2>&1 || { tail -20 "$work/log" >&2; exit 1; }
failed=0
for expected in "$work"/*.expected; do
  file=${expected%.expected}
  name=$(basename "$file")
  # The printer ends a cell with its tags; the cells without them are compared.
  grep -a '^K: ' "$file.out" | sed 's/ T\[[0-9]*\]: .*$//' >"$file.cells" || true
  if grep -q -a '^EXIT' "$file.out"; then
    # Hadoop has zstd only with its native library, and HBase's module for it is not among its published artifacts.
    case $name in
      *ZSTD*) echo "skipped, HBase has no such codec here: $name" ;;
      *) failed=1; echo "FAILED to read: $name" ;;
    esac
  elif grep -q -a 'WARNING' "$file.out"; then
    failed=1
    echo "WARNING in: $name"
    grep -a 'WARNING' "$file.out" | head -3
  elif cmp -s "$file.cells" "$expected"; then
    echo "read alike, $(wc -l <"$expected" | tr -d ' ') cells: $name"
  else
    failed=1
    echo "DIFFERENT cells: $name"
    diff "$file.cells" "$expected" | head -6 || true
  fi
done
exit $failed
