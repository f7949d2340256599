//go:build unix

// Package monotime reads the machine's true monotonic clock.
//
// All processes of one machine share CLOCK_MONOTONIC, so stamps taken by a worker, by
// the store and by the harness can be compared. The clock is read by a system call,
// not through the vDSO: a clock fault patches the vDSO of its target, and these stamps
// must not see it (DESIGN: "Workers also stamp with the true CLOCK_MONOTONIC").
package monotime

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the nanoseconds of CLOCK_MONOTONIC. The zero point is the
// machine's boot; only differences and comparisons on one machine mean anything.
func Now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		// The clock id is valid and the pointer too: the kernel has no other reason to refuse.
		panic(fmt.Sprintf("monotime: clock_gettime(CLOCK_MONOTONIC): %v", err))
	}
	return ts.Nano()
}

// Since returns the time that has passed since a stamp of Now.
func Since(stamp int64) time.Duration { return time.Duration(Now() - stamp) }
