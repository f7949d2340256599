#!/bin/sh
# Assembles what is injected into a target and the program that Supported patches. Both results are committed.
# With a folder as its argument it writes them there: a test compares.
set -eu
to=${1:-.}
to=$(cd "$(dirname "$0")" && cd "$to" && pwd)
cd "$(dirname "$0")"
object=$(mktemp)
trap 'rm -f "$object"' EXIT
for name in skew_amd64 probe_amd64; do
	as --64 -o "$object" "$name.asm"
	objcopy -O binary -j .text "$object" "$to/$name.bin"
done
