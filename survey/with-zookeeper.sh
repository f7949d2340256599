#!/bin/sh
# with-zookeeper.sh COMMAND …: starts a ZooKeeper server (Debian's zookeeper) on a free loopback port, and runs
# COMMAND with its address as the last argument.
set -eu
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
data=$(mktemp -d)
printf 'dataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\ntickTime=500\n' \
	"$data" "$port" >"$data/zoo.cfg"
java -XX:-UsePerfData -cp '/usr/share/java/*' org.apache.zookeeper.server.ZooKeeperServerMain "$data/zoo.cfg" \
	>"$data/log" 2>&1 &
server=$!
trap 'kill $server; rm -rf "$data"' EXIT
until python3 -c "import socket; socket.create_connection(('127.0.0.1', $port))" 2>/dev/null; do
	kill -0 "$server" || { cat "$data/log"; exit 3; }
	sleep 0.2
done
"$@" "127.0.0.1:$port"
