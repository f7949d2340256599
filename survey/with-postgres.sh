#!/bin/sh
# with-postgres.sh COMMAND …: starts a PostgreSQL server on a free loopback port, and runs COMMAND with its
# address as the last argument. The user is postgres, without a password. Root becomes the user "postgres".
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
data=$(mktemp -d)
as=''
if [ "$(id -u)" = 0 ]; then
	as='runuser -u postgres --'
	chown postgres "$data"
fi
$as "$bin/initdb" -D "$data" -U postgres -A trust >/dev/null
$as "$bin/pg_ctl" -D "$data" -w -o "-p $port -h 127.0.0.1 -k $data -F" -l "$data/log" start >/dev/null
trap '$as "$bin/pg_ctl" -D "$data" -m immediate stop >/dev/null; rm -rf "$data"' EXIT
"$@" "127.0.0.1:$port"
