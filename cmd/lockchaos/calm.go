package main

import (
	"context"
	"time"

	"github.com/prometheus/procfs"
)

// An exam makes many attacks, and an attack mostly waits. So more of them run at once than
// scenarios of a suite do, but only while the processors have time left: on a busy machine an
// attack proves nothing and has to be made again.

// calmShare is the share of the processors' time that must be left for one more, calmLook how long
// that is measured. What an attack needs most is its start, so the time after one start is what
// decides on the next.
const (
	calmShare = 0.25
	calmLook  = 500 * time.Millisecond
)

// awaitRoom returns when one more scenario may begin beside those that run: fewer than steady run,
// or the machine is calm. running counts them with the one that is about to begin.
func awaitRoom(ctx context.Context, steady int, running func() int, calm func(context.Context) bool) {
	for running() > steady && ctx.Err() == nil && !calm(ctx) {
	}
}

// machineIsCalm reports whether the processors had time left just now. It takes calmLook to tell.
func machineIsCalm(ctx context.Context) bool {
	before, errBefore := readProcessorTime()
	select {
	case <-ctx.Done():
		return false
	case <-time.After(calmLook):
	}
	now, err := readProcessorTime()
	return errBefore == nil && err == nil && now.idleSince(before) >= calmShare
}

// processorTime is what the kernel says of all processors since the machine started, in seconds.
type processorTime struct{ idle, all float64 }

// idleSince is the share of the time since an earlier reading in which processors had nothing to
// do.
func (t processorTime) idleSince(before processorTime) float64 {
	if t.all <= before.all { // the kernel may correct its counts downwards
		return 0
	}
	return max(0, t.idle-before.idle) / (t.all - before.all)
}

// readProcessorTime reads /proc/stat. A processor that waits for a disk has time left.
func readProcessorTime() (t processorTime, err error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return t, err
	}
	stat, err := proc.Stat()
	if err != nil {
		return t, err
	}
	c := stat.CPUTotal
	t.idle = c.Idle + c.Iowait
	t.all = t.idle + c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal // times of guests are among these
	return t, nil
}
