package main

import (
	"context"
	"testing"
)

// TestRoomForOneMore: up to the steady number begin on any machine, more only on one that is calm,
// or when others have ended.
func TestRoomForOneMore(t *testing.T) {
	for _, c := range []struct {
		name   string
		counts []int // how many run, at each look
		calmAt int   // the look at which the machine is calm, from 1; 0: never
		looks  int   // at the machine
	}{
		{"below the steady number", []int{4}, 0, 0},
		{"a calm machine", []int{5, 5}, 1, 1},
		{"a busy machine that calms down", []int{5, 5, 5}, 3, 3},
		{"a busy machine, and others end", []int{6, 5, 4}, 0, 2},
	} {
		looks, asked := 0, 0
		running := func() int { asked++; return c.counts[min(asked, len(c.counts))-1] }
		awaitRoom(t.Context(), 4, running, func(context.Context) bool { looks++; return looks == c.calmAt })
		if looks != c.looks {
			t.Errorf("%s: looked %d times at the machine, want %d", c.name, looks, c.looks)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	awaitRoom(ended, 4, func() int { return 9 }, machineIsCalm) // returns
}

// TestProcessorTime: what is idle is the share of two readings, and what can't be read is no calm
// machine.
func TestProcessorTime(t *testing.T) {
	before, err := parseProcessorTime("cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 1 2 3\n")
	if err != nil || before != (processorTime{idle: 800, all: 1000}) {
		t.Fatalf("%+v %v", before, err)
	}
	now, err := parseProcessorTime("cpu  160 0 110 720 110 0 0 0 90 0\n")
	if err != nil || now.idleSince(before) != 0.3 {
		t.Errorf("%+v %v: idle %v, want 0.3", now, err, now.idleSince(before))
	}
	if share := before.idleSince(now); share != 0 {
		t.Errorf("counts that went backwards: %v", share)
	}
	if share := now.idleSince(now); share != 0 {
		t.Errorf("no time has passed: %v", share)
	}
	for _, text := range []string{"", "intr 5", "cpu 1 2 x 4 5 6 7 8", "cpu 1 2"} {
		if _, err := parseProcessorTime(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
	if _, err := readProcessorTime(); err != nil {
		t.Error(err)
	}
}
