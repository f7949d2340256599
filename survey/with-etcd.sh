#!/bin/sh
# with-etcd.sh COMMAND …: starts an etcd server (Debian's etcd-server) on free loopback ports, and runs COMMAND with
# its address as the last argument.
set -eu
free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
port=$(free)
peer=$(free)
data=$(mktemp -d)
etcd --data-dir "$data" --listen-client-urls "http://127.0.0.1:$port" --advertise-client-urls "http://127.0.0.1:$port" \
	--listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
	--initial-cluster "default=http://127.0.0.1:$peer" >"$data/log" 2>&1 &
server=$!
trap 'kill $server; rm -rf "$data"' EXIT
until ETCDCTL_API=3 etcdctl --endpoints "127.0.0.1:$port" endpoint health >/dev/null 2>&1; do sleep 0.1; done
"$@" "127.0.0.1:$port"
