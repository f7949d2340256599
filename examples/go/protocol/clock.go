//go:build !wasip1

package protocol

import (
	"syscall"
	"unsafe"
)

// Now reads the clock that all processes of the machine share (CLOCK_MONOTONIC), in ns. Go's own
// monotonic readings have another origin.
func Now() int64 {
	var ts syscall.Timespec
	const monotonic = 1
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&ts)),
		0); errno != 0 {
		panic(errno)
	}
	return ts.Nano()
}
