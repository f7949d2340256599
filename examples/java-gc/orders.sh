#!/bin/sh
# Starts an instance of the order service: orders.sh RLock|RFencedLock. `mvn -q package` has built it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ ! -e "$here/target/orders.jar" ]; then
	echo "orders.sh: $here/target/orders.jar is not there: run mvn -q package -f $here" >&2
	exit 1
fi
# The Serial collector stops the world for all of a full collection. -Xmn: a small young generation,
# so that no other collection takes long. What lives goes to the old one at once. Java prints on standard output unless -XX:-UsePerfData.
exec java -XX:+UseSerialGC -Xms2600m -Xmx2600m -Xmn100m -XX:MaxTenuringThreshold=0 -XX:TieredStopAtLevel=1 -XX:-UsePerfData \
	-cp "$here/target/orders.jar:$here/target/lib/*" orders.OrderService "$1" 1900 c1,c2
