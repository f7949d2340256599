#!/bin/bash
# flock(1) on files in a folder that all clients share, as an adapter for lockchaos.
#
#     lockchaos adapter test "bash examples/shell/flock_lock.sh" --service none
#     lockchaos run quick --lock-cmd "bash examples/shell/flock_lock.sh" --service none
#
# Readers share a file (flock -s), a writer has it alone (flock -x).
#
# The kernel gives the lock back when the process that holds the file open is gone, and never before: it does not expire. That holds on one machine.
# docs/locks/flock.md tells what was found.

declare -A files # the descriptor of each key that is held

text() { [[ $request =~ \"$1\":\"([^\"]*)\" ]] && echo "${BASH_REMATCH[1]}"; }
number() { [[ $request =~ \"$1\":([0-9]+) ]] && echo "${BASH_REMATCH[1]}"; }
reply() { printf '{"id":%d,%s}\n' "$(number id)" "$1"; }

while read -r request; do
	key=$(text key)
	case $(text op) in
	hello)
		dir=$(text dir)
		reply "\"ok\":true,\"name\":\"$(flock --version | sed 's/ from util-linux//')\",\"no_expiry\":true,\"read_write\":true"
		;;
	acquire)
		ms=$(number timeout_ms)
		mode=-x
		[ "$(text mode)" = read ] && mode=-s
		exec {fd}>"$dir/$key.lock"
		if flock "$mode" -w "$((ms / 1000)).$(printf %03d $((ms % 1000)))" "$fd"; then
			files[$key]=$fd
			reply '"ok":true'
		else
			exec {fd}>&-
			reply '"ok":false,"error":"busy"'
		fi
		;;
	release)
		fd=${files[$key]}
		if [ -n "$fd" ]; then
			exec {fd}>&-
			unset "files[$key]"
			reply '"ok":true'
		else
			reply '"ok":false,"error":"not_held"'
		fi
		;;
	close) reply '"ok":true' ;;
	*) reply '"ok":false,"error":"unsupported"' ;;
	esac
done
