#!/bin/bash
# `etcdctl lock`, as scripts and cron jobs use it, as an adapter for lockchaos.
#
#     lockchaos adapter test "bash examples/shell/etcdctl_lock.sh" --service etcd
#     lockchaos run quick --lock-cmd "bash examples/shell/etcdctl_lock.sh" --service etcd
#
# For each grant one `etcdctl lock` runs: it prints the key when it has the lock, keeps its lease alive, and gives the lock back when it is interrupted.
# docs/locks/etcdctl.md tells what was found.

declare -A pids # of each key that is held
export ETCDCTL_API=3

text() { [[ $request =~ \"$1\":\"([^\"]*)\" ]] && echo "${BASH_REMATCH[1]}"; }
number() { [[ $request =~ \"$1\":([0-9]+) ]] && echo "${BASH_REMATCH[1]}"; }
reply() { printf '{"id":%d,%s}\n' "$id" "$1"; }
# Waits for so many seconds, without a process that could be left over.
nap() { read -r -t "$1" -u "$never"; }

# The time since the machine has started, in ms: the clock on the wall may jump.
now_ms() {
	local up
	read -r up _ </proc/uptime
	echo "$((10#${up/./} * 10))"
}

# Ends an etcdctl, within so many ms, and returns its exit status.
interrupt() {
	local end=$(($(now_ms) + $2))
	kill -INT "$1" 2>/dev/null
	while kill -0 "$1" 2>/dev/null && (($(now_ms) < end)); do nap 0.01; done
	kill -KILL "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

acquire() {
	local ms=$1 fd pid line revision='' session=''
	local pipe="$temp/$id"
	mkfifo "$pipe"
	# A background process of a shell ignores interrupts, unless told otherwise.
	env --default-signal=INT etcdctl --endpoints="$nodes" lock --ttl="$ttl" -w fields "$key" >"$pipe" 2>"$temp/errors" &
	pid=$!
	exec {fd}<"$pipe"
	rm "$pipe"
	while IFS= read -r -t "$((ms / 1000)).$(printf %03d $((ms % 1000)))" -u "$fd" line; do
		case $line in
		'"CreateRevision" : '*) revision=${line#*: } ;;
		'"Lease" : '*) # the last of its lines
			session=${line#*: }
			break
			;;
		esac
	done
	if [ -n "$revision" ]; then
		pids[$key]=$pid
		reply "\"ok\":true,\"token\":$revision,\"session\":\"$session\""
		watch "$key" "$pid" &
		return
	fi
	exec {fd}<&-
	# An etcdctl that is interrupted while it waits takes its place in the queue back; if it says why it ended, the server has answered.
	interrupt "$pid" 1000
	if grep -q 'context canceled' "$temp/errors"; then
		reply '"ok":false,"error":"busy"'
	else
		reply "\"ok\":false,\"error\":\"unknown\",\"text\":\"$(tr -d '"\\\n' <"$temp/errors" | head -c 200)\""
	fi
}

# Tells of the loss when the etcdctl of a grant ends by itself: its session has expired.
watch() {
	while kill -0 "$2" 2>/dev/null; do nap 0.05; done
	[ -e "$temp/released-$2" ] || printf '{"event":"lost","key":"%s","why":"etcdctl has ended: its session has expired"}\n' "$1"
}

temp=$(mktemp -d)
mkfifo "$temp/never"
exec {never}<>"$temp/never" # nothing ever comes from it
trap 'rm -rf "$temp"' EXIT
while read -r request; do
	id=$(number id)
	key=$(text key)
	case $(text op) in
	hello)
		[[ $request =~ \"nodes\":\[([^]]*)\] ]] && nodes=${BASH_REMATCH[1]//\"/}
		ttl=$((($(number ttl_ms) + 999) / 1000))
		version=$(etcdctl version | sed -n 's/^etcdctl version: //p')
		reply "\"ok\":true,\"name\":\"etcdctl lock $version\",\"validity\":\"session\",\"token\":\"fencing\",\"sessions\":true"
		;;
	acquire) acquire "$(number timeout_ms)" ;;
	release)
		pid=${pids[$key]}
		if [ -z "$pid" ]; then
			reply '"ok":false,"error":"not_held"'
			continue
		fi
		touch "$temp/released-$pid"
		if interrupt "$pid" "$(number timeout_ms)"; then
			reply '"ok":true'
		else
			reply '"ok":false,"error":"unknown"'
		fi
		unset "pids[$key]"
		;;
	close)
		for pid in "${pids[@]}"; do
			touch "$temp/released-$pid"
			interrupt "$pid" 500
		done
		wait
		reply '"ok":true'
		;;
	*) reply '"ok":false,"error":"unsupported"' ;;
	esac
done
