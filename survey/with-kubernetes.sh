#!/bin/sh
# with-kubernetes.sh COMMAND …: starts an API server of Kubernetes on a free loopback port, with an etcd behind it (with-etcd.sh), and runs COMMAND with its
# address as the last argument. It lets in whoever comes with the token "lockchaos-token". scripts/servers kube-apiserver builds it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" != behind ]; then exec "$here/with-etcd.sh" "$0" behind "$@"; fi
shift
for etcd in "$@"; do :; done # the last argument
data=$(mktemp -d)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
echo 'lockchaos-token,lockchaos,1,"system:masters"' >"$data/tokens.csv"
apiserver=${XDG_CACHE_HOME:-$HOME/.cache}/lockchaos/servers/kube-apiserver
[ -O "$apiserver" ] || { echo "with-kubernetes.sh: $apiserver is not yours: run scripts/servers kube-apiserver" >&2; exit 1; }
"$apiserver" --etcd-servers "http://$etcd" --bind-address 127.0.0.1 --advertise-address 127.0.0.1 \
	--secure-port "$port" --cert-dir "$data" --token-auth-file "$data/tokens.csv" --authorization-mode RBAC \
	--service-account-issuer https://kubernetes.default.svc --service-account-signing-key-file "$data/apiserver.key" \
	--service-account-key-file "$data/apiserver.key" --service-cluster-ip-range 10.96.0.0/16 --endpoint-reconciler-type none >"$data/log" 2>&1 &
server=$!
trap 'kill $server; wait $server 2>/dev/null || true; rm -rf "$data"' EXIT
until curl -skf -H "Authorization: Bearer lockchaos-token" "https://127.0.0.1:$port/readyz" >/dev/null; do
	kill -0 $server || { cat "$data/log" >&2; exit 1; }
	sleep 0.1
done
n=$#; i=1
for word in "$@"; do # all but the last
	[ $i -eq 1 ] && set --
	[ $i -eq $n ] || set -- "$@" "$word"
	i=$((i + 1))
done
"$@" "127.0.0.1:$port"
