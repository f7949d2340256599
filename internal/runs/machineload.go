package runs

import (
	"context"
	"math"
	goruntime "runtime"
	"time"

	"github.com/lockchaos/lockchaos/scenarios"
	"github.com/prometheus/procfs"
)

// How many scenarios run at once, by how busy the machine is.
//
// A scenario mostly waits. So more of them run at once than there are processors, and some more
// while these have time left. What a busy machine spoils is run again.

// DefaultParallel is how many scenarios run at once on any machine.
func DefaultParallel() int { return min(16, 2*goruntime.NumCPU()) }

// IdleParallel is how many do on one whose processors have time left.
func IdleParallel() int { return min(24, idleEach*goruntime.NumCPU()) }

// idleEach is how many run for each processor of such a machine, if the lease
// is usualLease; slowEach if it is far longer.
const (
	idleEach   = 5
	slowEach   = 16
	usualLease = scenarios.Duration(500 * time.Millisecond)
)

// AtOnce is how many attacks on a lock with the lease run at once. The longer the lease, the
// more of an attack is waiting, and the more run side by side while the machine is idle.
func (s Settings) AtOnce(lease scenarios.Duration) int {
	if s.Steady == 0 { // the user has said how many
		return s.Parallel
	}
	longer := math.Sqrt(float64(max(lease, usualLease)) / float64(usualLease))
	return max(s.Parallel, min(64, int(min(slowEach, idleEach*longer)*float64(goruntime.NumCPU()))))
}

// DefaultRetries is how often a scenario is run again while it comes to
// nothing; the last time alone, if the machine was busy.
const DefaultRetries = 2

// idleShare is the share of the processors' time that must be left for one more, idleLook how long
// that is measured. What an attack needs most is its start, so the time after one start is what
// decides on the next.
const (
	idleShare = 0.25
	idleLook  = 500 * time.Millisecond
)

// awaitRoom returns when one more scenario may begin beside those that run: fewer than steady run,
// or the machine is idle. running counts them with the one that is about to begin.
func awaitRoom(ctx context.Context, steady int, running func() int, idle func(context.Context) bool) {
	for running() > steady && ctx.Err() == nil && !idle(ctx) {
	}
}

// machineIsIdle reports whether the processors had time left just now, and
// there is memory. It takes idleLook to tell.
func machineIsIdle(ctx context.Context) bool {
	before := processors()
	select {
	case <-ctx.Done():
		return false
	case <-time.After(idleLook):
	}
	return processors().wasIdleSince(before) && memoryLeft() >= idleMemory
}

// idleMemory is the share of the memory that must be left for one more.
const idleMemory = 0.15

// memoryLeft is the share of the machine's memory that programs can still have;
// 0 where that is unknown.
func memoryLeft() float64 {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	m, err := proc.Meminfo()
	if err != nil || m.MemAvailableBytes == nil || m.MemTotalBytes == nil || *m.MemTotalBytes == 0 {
		return 0
	}
	return float64(*m.MemAvailableBytes) / float64(*m.MemTotalBytes)
}

// processorTime is what the kernel says of all processors since the machine started, in seconds;
// zero where it says nothing.
type processorTime struct{ idle, all float64 }

// wasIdleSince reports whether the processors had time left since an earlier look.
func (t processorTime) wasIdleSince(before processorTime) bool {
	return before.all > 0 && t.idleSince(before) >= idleShare
}

// idleSince is the share of the time since an earlier look in which processors had nothing to do.
func (t processorTime) idleSince(before processorTime) float64 {
	if t.all <= before.all { // the kernel may correct its counts downwards
		return 0
	}
	return max(0, t.idle-before.idle) / (t.all - before.all)
}

// processors reads /proc/stat. A processor that waits for a disk has time left. So has
// one that runs what gives way to others (nice), unless lockchaos gives way as well.
func processors() (t processorTime) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return t
	}
	stat, err := proc.Stat()
	if err != nil {
		return t
	}
	return timeOf(stat.CPUTotal, givesWay(proc))
}

// timeOf is what the kernel's counts say to a process that gives way to others, or does not.
func timeOf(c procfs.CPUStat, givesWay bool) (t processorTime) {
	t.idle = c.Idle + c.Iowait
	if !givesWay {
		t.idle += c.Nice
	}
	// times of guests are among these
	t.all = c.Idle + c.Iowait + c.Nice + c.User + c.System + c.IRQ + c.SoftIRQ + c.Steal
	return t
}

// givesWay reports whether this process gives way to others (nice).
func givesWay(proc procfs.FS) bool {
	self, err := proc.Self()
	if err != nil {
		return false
	}
	stat, err := self.Stat()
	return err == nil && stat.Nice > 0
}
