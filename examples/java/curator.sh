#!/bin/sh
# Compiles CuratorLock.java, once for all clients that start at the same time, and runs it with Debian's jars.
# curator.sh FILE.java ARGUMENTS… does so with another adapter, which may use it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
jars=${CURATOR_JARS:-/usr/share/java}
path=
for jar in curator-recipes curator-framework curator-client zookeeper zookeeper-jute guava failureaccess slf4j-api slf4j-simple \
	netty-handler netty-transport netty-common netty-buffer netty-codec netty-resolver netty-transport-native-unix-common netty-transport-native-epoll; do
	if [ -e "$jars/$jar.jar" ]; then path="$path:$jars/$jar.jar"; fi
done
source=${1:-$here/CuratorLock.java}
[ $# = 0 ] || shift
class=$(basename "$source" .java)
# Java runs what lies in this folder. So it is in the user's cache, and used only if nobody else could have written there.
cache=${XDG_CACHE_HOME:-${HOME:?set HOME or XDG_CACHE_HOME: compiled classes are kept there}/.cache}/lockchaos
build=$cache/java/$class
(umask 077 && mkdir -p "$build")
for folder in "$cache" "$cache/java" "$build"; do
	if [ ! -O "$folder" ] || [ -n "$(find "$folder/." -prune -perm /022)" ]; then
		echo "curator.sh: $folder is not your own alone: delete it, or set XDG_CACHE_HOME to another folder" >&2
		exit 1
	fi
done
chmod 700 "$cache" "$cache/java" "$build"
exec 9>"$build/lock"
flock 9
made=$build/$class.class
if [ ! -e "$made" ] || [ "$source" -nt "$made" ] || [ "$here/CuratorLock.java" -nt "$made" ]; then
	javac -d "$build" -cp "$path" -sourcepath "$here" "$source" >&2
fi
exec 9>&-
version=$(ls "$jars" | sed -n 's/^curator-recipes-\([0-9.]*\)\.jar$/\1/p')
# Without -XX:-UsePerfData it prints on standard output that a file in /tmp/hsperfdata_… is another's.
exec java -XX:-UsePerfData -Xshare:auto -XX:TieredStopAtLevel=1 -Dcurator.version="$version" -cp "$build$path" "$class" "$@"
