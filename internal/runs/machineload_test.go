package runs

import (
	"context"
	"testing"

	"github.com/prometheus/procfs"
)

// TestRoomForOneMore: up to the steady number begin on any machine, more only on one that is calm,
// or when others have ended.
func TestRoomForOneMore(t *testing.T) {
	for _, c := range []struct {
		name   string
		counts []int // how many run, at each look
		idleAt int   // the look at which the machine is calm, from 1; 0: never
		looks  int   // at the machine
	}{
		{"below the steady number", []int{4}, 0, 0},
		{"a calm machine", []int{5, 5}, 1, 1},
		{"a busy machine that calms down", []int{5, 5, 5}, 3, 3},
		{"a busy machine, and others end", []int{6, 5, 4}, 0, 2},
	} {
		looks, asked := 0, 0
		running := func() int { asked++; return c.counts[min(asked, len(c.counts))-1] }
		awaitRoom(t.Context(), 4, running, func(context.Context) bool { looks++; return looks == c.idleAt })
		if looks != c.looks {
			t.Errorf("%s: looked %d times at the machine, want %d", c.name, looks, c.looks)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	awaitRoom(ended, 4, func() int { return 9 }, machineIsIdle) // returns
}

// TestProcessorTime: what is idle is the share of two readings, and counts that
// were corrected are no calm machine.
func TestProcessorTime(t *testing.T) {
	before, now := processorTime{idle: 8, all: 10}, processorTime{idle: 8.3, all: 11}
	for _, c := range []struct {
		name          string
		earlier, then processorTime
		from, to      float64
	}{
		{"some was idle", before, now, 0.29, 0.31},
		{"counts that went backwards", now, before, 0, 0},
		{"only those of idle time did", before, processorTime{idle: 7, all: 11}, 0, 0},
		{"no time has passed", now, now, 0, 0},
	} {
		if share := c.then.idleSince(c.earlier); share < c.from || share > c.to {
			t.Errorf("%s: %v is idle", c.name, share)
		}
	}
	count := procfs.CPUStat{Idle: 1, Iowait: 2, Nice: 4, User: 8, System: 16, IRQ: 32, SoftIRQ: 64, Steal: 128}
	if got, want := timeOf(count, false), (processorTime{idle: 7, all: 255}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := timeOf(count, true), (processorTime{idle: 3, all: 255}); got != want {
		t.Errorf("%+v to a process that gives way itself, want %+v", got, want)
	}
	if first := processors(); first.idle <= 0 || first.all <= first.idle {
		t.Errorf("%+v", first)
	}
	if left := memoryLeft(); left <= 0 || left > 1 {
		t.Errorf("%v of the memory is left", left)
	}
}
