#!/bin/sh
# with-redis.sh COMMAND …: starts a Redis server on a free loopback port, and runs COMMAND with its address
# as the last argument.
set -eu
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no >/dev/null &
server=$!
trap 'kill $server' EXIT
until redis-cli -p "$port" ping >/dev/null 2>&1; do sleep 0.1; done
"$@" "127.0.0.1:$port"
