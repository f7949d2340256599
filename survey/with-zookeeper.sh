#!/bin/sh
# with-zookeeper.sh COMMAND …: starts a ZooKeeper server (Debian's package zookeeper) on a free loopback port, and runs
# COMMAND with its address as the last argument. Sessions may be as short as a second.
set -eu
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
data=$(mktemp -d)
cat >"$data/zoo.cfg" <<END
tickTime=100
minSessionTimeout=1000
maxSessionTimeout=60000
dataDir=$data
clientPort=$port
clientPortAddress=127.0.0.1
admin.enableServer=false
4lw.commands.whitelist=srvr
END
java -Xmx96m -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar \
	org.apache.zookeeper.server.quorum.QuorumPeerMain "$data/zoo.cfg" >/dev/null 2>&1 &
server=$!
trap 'kill $server; wait $server 2>/dev/null || true; rm -rf "$data"' EXIT
until python3 -c "
import socket
s = socket.create_connection(('127.0.0.1', $port))
s.sendall(b'srvr')
assert b'Mode' in s.makefile('rb').read()" 2>/dev/null; do sleep 0.2; done
"$@" "127.0.0.1:$port"
