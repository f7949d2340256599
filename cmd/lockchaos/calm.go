package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
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

// processorTime is what /proc/stat says of all processors since the machine started, in ticks.
type processorTime struct{ idle, all uint64 }

// idleSince is the share of the time since an earlier reading in which processors had nothing to
// do.
func (t processorTime) idleSince(before processorTime) float64 {
	if t.all <= before.all || t.idle < before.idle { // the kernel may correct its counts downwards
		return 0
	}
	return float64(t.idle-before.idle) / float64(t.all-before.all)
}

func readProcessorTime() (processorTime, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return processorTime{}, err
	}
	return parseProcessorTime(string(text))
}

// parseProcessorTime reads the line "cpu" of /proc/stat: user, nice, system, idle, iowait, irq,
// softirq and steal, and then times of guests, which are counted among the first two. A processor
// that waits for a disk has time left.
func parseProcessorTime(text string) (t processorTime, err error) {
	const idle, iowait, guest = 3, 4, 8
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) <= iowait+1 || fields[0] != "cpu" {
		return t, errors.New(`/proc/stat does not begin with the line "cpu"`)
	}
	for i, field := range fields[1:min(len(fields), guest+1)] {
		ticks, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return t, fmt.Errorf("/proc/stat: %w", err)
		}
		t.all += ticks
		if i == idle || i == iowait {
			t.idle += ticks
		}
	}
	return t, nil
}
