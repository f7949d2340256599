#!/bin/sh
# two-commands.sh ADDRESS: three `etcdctl lock NAME COMMAND` at one etcd server.
#
#     ../with-etcd.sh ./repro/two-commands.sh
#
# The second one's session ends while it waits (as when its machine sleeps for longer than its TTL). Its command runs
# all the same, at the same time as the third one's.
set -u
export ETCDCTL_API=3 ETCDCTL_ENDPOINTS="$1"
dir=$(mktemp -d)
pids=
trap 'kill -KILL $pids 2>/dev/null; rm -rf "$dir"' EXIT
waiters() { etcdctl get --prefix job/ --keys-only | grep -c .; }

# work NAME COMMAND: waits for the lock with a script of that name, and returns when it stands in the queue.
n=0
work() {
	printf '#!/bin/sh\n%s\n' "$2" >"$dir/$1.sh"
	chmod +x "$dir/$1.sh"
	etcdctl lock job "$dir/$1.sh" &
	pids="$pids $!"
	n=$((n + 1))
	until [ "$(waiters)" = "$n" ]; do sleep 0.1; done
}
work first "until [ -e $dir/go ]; do sleep 0.1; done"
work second "touch $dir/second; sleep 5; rm $dir/second"
work third "touch $dir/third; sleep 5; rm $dir/third"

second=$(etcdctl get --prefix job/ --keys-only --sort-by=CREATE | grep . | sed -n 2p)
etcdctl lease revoke "${second#job/}" >/dev/null
sleep 12 # longer than the TTL of 10 s
touch "$dir/go"
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	if [ -e "$dir/second" ] && [ -e "$dir/third" ]; then
		echo "$(etcdctl version | head -1): two commands run under one lock, and the session of one was over before" \
			"it began."
		exit 1
	fi
	sleep 0.2
done
