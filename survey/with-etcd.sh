#!/bin/sh
# with-etcd.sh COMMAND …: starts an etcd server on free loopback ports, and runs COMMAND with its address as the last
# argument. Where there is no etcd it is built from lockchaos' own modules.
set -eu
data=$(mktemp -d)
if ! etcd=$(command -v etcd); then
	etcd=$data/etcd
	(cd "$(dirname "$0")/.." && CGO_ENABLED=0 go build -o "$etcd" go.etcd.io/etcd/server/v3)
fi
ports=$(python3 -c '
import socket
a, b = socket.socket(), socket.socket()
a.bind(("127.0.0.1", 0))
b.bind(("127.0.0.1", 0))
print(a.getsockname()[1], b.getsockname()[1])')
client=127.0.0.1:${ports% *}
peer=http://127.0.0.1:${ports#* }
"$etcd" --data-dir "$data/data" --listen-client-urls "http://$client" --advertise-client-urls "http://$client" \
	--listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" \
	--log-level error 2>/dev/null &
server=$!
trap 'kill $server; wait $server 2>/dev/null || true; rm -rf "$data"' EXIT
until ETCDCTL_API=3 etcdctl --endpoints "$client" endpoint health >/dev/null 2>&1; do sleep 0.1; done
"$@" "$client"
