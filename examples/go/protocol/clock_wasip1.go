package protocol

import "unsafe"

//go:wasmimport wasi_snapshot_preview1 clock_time_get
//go:noescape
func clockTimeGet(id uint32, precision uint64, ns unsafe.Pointer) uint32

// Now reads the monotonic clock of the client's host, in ns, where lockchaos simulates it.
func Now() int64 {
	const monotonic = 1
	var ns int64
	if errno := clockTimeGet(monotonic, 1, unsafe.Pointer(&ns)); errno != 0 {
		panic(errno)
	}
	return ns
}
