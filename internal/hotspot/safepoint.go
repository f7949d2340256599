package hotspot

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// Stop is a time in which all Java threads of a machine stood still for a collection (a safepoint).
// Stamps are readings of CLOCK_MONOTONIC (ns).
type Stop struct {
	// Why is the machine's own name of what it did then, such as GenCollectFull; "": none is told.
	Why string
	// Length is how long it lasted by the log, from the order to stop on, and Reaching
	// the part of it until the last thread stood.
	Length, Reaching time.Duration
	// Logged is when the machine wrote that: just after the threads went on.
	Logged int64
	// From and To bound the time in which every Java thread certainly stood still.
	From, To int64
}

// Begin is when the machine ordered the stop, by its own log.
func (s Stop) Begin() int64 { return s.Logged - int64(s.Length) }

// The lines of a safepoint: of Java 13 and later, and of Java 11 and 12. Before each stands the
// stamp of the line's writing.
var (
	line13 = lazyregexp.New(`^\[(\d+)ns\] *Safepoint "(\w+)", .*Reaching safepoint: +(\d+) ns, .*Total: +(\d+) ns`)
	line11 = lazyregexp.New(`^\[(\d+)ns\] *Total time for which application threads were stopped: (\d+\.\d+) seconds, ` +
		`Stopping threads took: (\d+\.\d+) seconds`)
	// A collection's pause is told of at its end, while all threads stand still.
	paused   = lazyregexp.New(`^\[(\d+)ns\] *GC\(\d+\) Pause `)
	eachLine = lazyregexp.New(`[^\n]+`)
)

// What a log lacks after a collection was asked for.
var (
	errNoStop = errors.New("no collection stopped all threads: it takes the Serial, Parallel or G1 collector, " +
		"without -XX:+ExplicitGCInvokesConcurrent")
	errOtherClock = errors.New("no stop of the log lies within the call: its clock is not this machine's")
)

// longest is the longest stop for a collection of a log that lies between two readings of the
// clock, before and after that was asked for. Any other stop was brought about by somebody else.
//
// A stop counts some of the time in which the machine wakes its threads up again, which is not
// short on a busy machine. So it is certain only from its latest beginning (Logged - Length +
// Reaching) until the end of the collection's pause within it, which is told of while the threads
// stand still.
func longest(log string, before, after int64) (worst Stop, err error) {
	none, pause := errNoStop, int64(0)
	for _, line := range eachLine().FindAllString(log, -1) {
		if f := paused().FindStringSubmatch(line); f != nil {
			if pause, err = strconv.ParseInt(f[1], 10, 64); err != nil {
				return worst, fmt.Errorf("safepoint log, line %q: %w", line, err)
			}
			continue
		}
		s, is, err := parse(line)
		switch {
		case err != nil:
			return worst, err
		case !is || pause < s.Begin(): // it is another line, or a stop for something else
		case s.Begin() < before || s.Logged > after:
			none = errOtherClock
		case s.Length > worst.Length:
			worst = s
			worst.From = s.Begin() + int64(s.Reaching)
			worst.To = max(worst.From, min(pause, s.Logged))
		}
	}
	if worst.Length == 0 {
		return worst, none
	}
	return worst, nil
}

// parse reads a line of the log; is: it is that of a stop.
func parse(line string) (s Stop, is bool, err error) {
	if f := line13().FindStringSubmatch(line); f != nil {
		s.Why = f[2]
		logged, e1 := strconv.ParseInt(f[1], 10, 64)
		reaching, e2 := strconv.ParseInt(f[3], 10, 64)
		total, e3 := strconv.ParseInt(f[4], 10, 64)
		s.Logged, s.Reaching, s.Length = logged, time.Duration(reaching), time.Duration(total)
		return s.checked(line, e1, e2, e3)
	}
	if f := line11().FindStringSubmatch(line); f != nil {
		logged, e1 := strconv.ParseInt(f[1], 10, 64)
		total, e2 := time.ParseDuration(f[2] + "s")
		reaching, e3 := time.ParseDuration(f[3] + "s")
		s.Logged, s.Reaching, s.Length = logged, reaching, total
		return s.checked(line, e1, e2, e3)
	}
	return s, false, nil
}

func (s Stop) checked(line string, errs ...error) (Stop, bool, error) {
	err := errors.Join(errs...)
	if err == nil && (s.Reaching > s.Length || s.Length > time.Duration(s.Logged)) {
		err = errors.New("its times contradict each other")
	}
	if err != nil {
		return s, false, fmt.Errorf("safepoint log, line %q: %w", line, err)
	}
	return s, true, nil
}
