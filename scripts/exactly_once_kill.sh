#!/usr/bin/env bash
# A file that grows is read exactly once by examples/exactly_once_file.mjs, while it and the server are killed again and again.
# Kills come at random moments of a client's life: while it starts, loads, prepares, keeps its checkpoint or commits. Every other one
# takes the server as well. Needs the built project. ROUNDS kills (default 6); PORT is the server's HTTP port (default 16931).
set -u
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
rounds=${ROUNDS:-6}
lines=$((rounds * 500))
url="http://127.0.0.1:${PORT:-16931}"
cellar() { node dist/cli/main.cjs "$@"; }
serve() {
  node dist/cli/main.cjs serve "$dir/data" --rpc-port off --zookeeper-port off --http-port "${PORT:-16931}" --log-level error \
    > "$dir/server.out" 2>&1 &
  server=$!
}
cellar create lines l --data "$dir/data" > /dev/null
serve
sleep 2
(for i in $(seq 1 $lines); do
  echo "line $i"
  [ $((i % 200)) = 0 ] && sleep 0.6
done >> "$dir/in.txt") &
source=$!
for round in $(seq 1 "$rounds"); do
  node examples/exactly_once_file.mjs "$dir/in.txt" "$dir/state" "$url" > "$dir/client.out" 2>&1 &
  client=$!
  sleep "$((RANDOM % 3)).$((RANDOM % 10))"
  if [ $((round % 2)) = 0 ]; then
    kill -9 "$server"
    sleep 0.2
    serve
    sleep 1
  fi
  kill -9 "$client" 2> /dev/null
done
wait "$source"
node examples/exactly_once_file.mjs "$dir/in.txt" "$dir/state" "$url" 3
kill -TERM "$server"
wait "$server"
cellar scan lines --data "$dir/data" --json | LINES_WANTED=$lines node -e '
let text = "";
process.stdin.on("data", (part) => (text += part)).on("end", () => {
  const values = text.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line).value);
  const isOnce = values.length === Number(process.env.LINES_WANTED) && values.every((value, i) => value === `line ${i + 1}`);
  console.log(`${values.length} rows, ${isOnce ? "each line once" : "NOT each line once"}`);
  process.exitCode = isOnce ? 0 : 1;
});'
status=$?
rm -rf "$dir"
exit $status
