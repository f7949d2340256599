package protocol

import (
	"context"
	"errors"
	"syscall"
	"time"
	"unsafe"
)

// Poll is Acquire for a lock without a queue: try is called again and again, with a pause between, until it succeeds or the context ends. It returns nil for a grant, Busy if
// another clearly has the key, or an error that leaves open what happened. Each try must take the key under a value of its own: then a grant is no older than the try that
// succeeded, whatever became of those before.
//
// The context says when the time is over, and does not cut a try off: it would leave what it has taken, and an open question. So a try is given grace more.
func Poll(ctx context.Context, pause func() time.Duration, grace time.Duration, try func(context.Context) error) (Grant, error) {
	deadline, _ := ctx.Deadline()
	patient, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline.Add(grace))
	defer cancel()
	var open error  // of the last try that was left open
	var first int64 // when the first of them was made
	for {
		began := Now()
		err := try(patient)
		if err == nil {
			return Grant{Attempt: began, First: began}, nil
		}
		if !errors.Is(err, Busy) {
			open = err
		}
		if open != nil && first == 0 {
			first = began
		}
		t := time.NewTimer(pause())
		select {
		case <-t.C:
			continue
		case <-ctx.Done():
			t.Stop()
		}
		if open != nil {
			return Grant{First: first}, open
		}
		return Grant{}, Busy
	}
}

// Now reads the clock that all processes of the machine share (CLOCK_MONOTONIC), in ns. Go's own monotonic readings have another origin.
func Now() int64 {
	var ts syscall.Timespec
	const monotonic = 1
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic(errno)
	}
	return ts.Nano()
}
