package sim

import "fmt"

// What programs may take of the machine that simulates them. Each bound is counted in bytes, calls
// or turns of loops, so the same run always ends at the same call. What a kernel would refuse is
// refused with the kernel's error. All else ends the run, with the name of the program and of the
// bound.
const (
	// longestLine is what a program may print without an end of line.
	longestLine = 1 << 20
	// mostPrinted is what one program may print in all.
	mostPrinted = 64 << 20
	// mostVectors is how many parts of memory one read or write may name (IOV_MAX of Linux).
	mostVectors = 1024
	// mostRandom is how many random bytes one call may ask for.
	mostRandom = 1 << 20
	// mostSockets is how many connections a program may have open (Linux gives 1,024 descriptors).
	mostSockets = 1024
	// mostUnsent is the window of a connection: what a program has written and its node has not
	// taken. A program that writes more is told to wait, as by TCP.
	mostUnsent = 1 << 20
	// mostUnread is what a program may leave unread of one connection or of its input.
	mostUnread = 64 << 20
	// mostHeld is what is on its way, or unread, in all connections of a run.
	mostHeld = 256 << 20
	// mostEvents is how many events a run may have scheduled.
	mostEvents = 1 << 20
)

// exceeds ends the run: a program takes more than its bound.
func (in *Instance) exceeds(what string, bound int64, unit string) {
	in.w.Fail(fmt.Errorf("%s %s more than %s: a simulation does not allow it; its last calls: %s", in.name, what,
		amount(bound, unit), in.lastCalls()))
}

// amount writes a bound.
func amount(n int64, unit string) string {
	if unit == "bytes" && n >= 1<<20 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d %s", n, unit)
}

// hold counts bytes that lockchaos keeps for programs; with a negative number it gives them up.
// in is whose they are: it is named if they are too many.
func (w *World) hold(n int, in *Instance) {
	w.held += int64(n)
	if w.held > mostHeld && n > 0 {
		in.exceeds("is the last to write to connections that together hold", mostHeld, "bytes")
	}
}
