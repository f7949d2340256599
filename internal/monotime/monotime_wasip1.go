package monotime

import (
	"fmt"
	"time"
	"unsafe"
)

//go:wasmimport wasi_snapshot_preview1 clock_time_get
//go:noescape
func clockTimeGet(id uint32, precision uint64, ns unsafe.Pointer) uint32

// Now reads the monotonic clock of the client's host, in ns, where lockchaos simulates it.
func Now() int64 {
	const monotonic = 1
	var ns int64
	if errno := clockTimeGet(monotonic, 1, unsafe.Pointer(&ns)); errno != 0 {
		panic(fmt.Sprintf("monotime: clock_time_get: errno %d", errno))
	}
	return ns
}

// Since returns the time that has passed since a stamp of Now.
func Since(stamp int64) time.Duration { return time.Duration(Now() - stamp) }
