#!/bin/sh
# A lock on one Redis server by redis-cli, as scripts have it, for lockchaos (docs/shell.md).
#
#     lockchaos exam --service redis --acquire 'sh examples/exec/redis.sh acquire' --release 'sh examples/exec/redis.sh release' \
#         --renew 'sh examples/exec/redis.sh renew' --held 'sh examples/exec/redis.sh held'
#
# The exit status answers: 0 yes, 1 no, anything else says that it is not known.

# No answer is no "no": redis-cli ends with 1 when the server can't be reached, and with -e when it answers an error.
redis() {
	answer=$(redis-cli -e -u "redis://${LOCKCHAOS_NODES%%,*}" "$@") || exit 2
}

mine="redis.call('get', KEYS[1]) == ARGV[1]"

case $1 in
acquire)
	redis SET "$LOCKCHAOS_KEY" "$LOCKCHAOS_GRANT" NX PX "$LOCKCHAOS_TTL_MS"
	[ "$answer" = OK ] && exit
	# redis-cli sends a command again whose answer was lost: the key may be ours since the first time.
	redis GET "$LOCKCHAOS_KEY"
	[ "$answer" = "$LOCKCHAOS_GRANT" ]
	;;
release)
	redis EVAL "if $mine then return redis.call('del', KEYS[1]) end return 0" 1 "$LOCKCHAOS_KEY" "$LOCKCHAOS_GRANT"
	[ "$answer" = 1 ]
	;;
renew)
	redis EVAL "if $mine then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0" 1 "$LOCKCHAOS_KEY" "$LOCKCHAOS_GRANT" "$LOCKCHAOS_TTL_MS"
	[ "$answer" = 1 ]
	;;
held)
	redis GET "$LOCKCHAOS_KEY"
	[ "$answer" = "$LOCKCHAOS_GRANT" ]
	;;
esac
