package hotspot

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Lines in the form of Java 17, which wrote them, and of Java 21 and 11, by the sources of these.
const (
	young17 = `[16353075000000ns] Safepoint "GenCollectForAllocation", Time since last: 198122459 ns, Reaching safepoint: 5959 ns, Cleanup: 10726 ns, At safepoint: 3182642 ns, Total: 3199327 ns`
	full17  = `[16355389618607ns] Safepoint "GenCollectFull", Time since last: 147232349 ns, Reaching safepoint: 5868 ns, Cleanup: 6630 ns, At safepoint: 2314606109 ns, Total: 2314618607 ns`
	full21  = `[16355389618607ns] Safepoint "SerialFullCollect", Time since last: 97139 ns, Reaching safepoint: 5868 ns, At safepoint: 2314000000 ns, Leaving safepoint: 612739 ns, Total: 2314618607 ns, Threads: 0 runnable, 31 total`
	full11  = `[16355389618607ns] Total time for which application threads were stopped: 2.3146186 seconds, Stopping threads took: 0.0000059 seconds`
)

// pauseLine is what the machine says of a collection's pause, within that stop.
const pauseLine = "[16355389500000ns] GC(4) Pause Full (Diagnostic Command) 1924M->1900M(2223M) 2314.400ms\n"

// TestLongest: what a log says of a collection between two readings of the clock.
func TestLongest(t *testing.T) {
	const logged, length, paused = 16355389618607, 2314618607, 16355389500000
	const before, after = logged - length - 100_000, logged + 50_000
	full := Stop{Why: "GenCollectFull", Length: length, Reaching: 5868, Logged: logged, From: logged - length + 5868, To: paused}
	for name, c := range map[string]struct {
		log           string
		before, after int64
		stop          Stop
		err           error
	}{
		"Java 17": {pauseLine + full17, before, after, full, nil},
		"Java 21, and what else it logs": {"[1ns] Entering safepoint region\n" + pauseLine + full21 + "\n", before, after,
			Stop{"SerialFullCollect", length, 5868, logged, logged - length + 5868, paused}, nil},
		"Java 11": {pauseLine + full11, before, after, Stop{"", 2314618600, 5900, logged, logged - 2314618600 + 5900, paused}, nil},
		"the longest of two": {"[16353074999000ns] GC(3) Pause Young (Allocation Failure) 1M->1M(2223M) 3.0ms\n" + young17 + "\n" + pauseLine + full17,
			logged - length - 20e6, after, full, nil},
		"one for something else":         {full17, before, after, Stop{}, errNoStop},
		"its pause was before":           {"[16353074990000ns] GC(3) Pause Full (x) 1M\n" + full17, before, after, Stop{}, errNoStop},
		"one that somebody else brought": {"[16353074999000ns] GC(3) Pause Young (x) 1M\n" + young17, before, after, Stop{}, errOtherClock},
		"another clock":                  {pauseLine + full17, before - 1e12, after - 1e12, Stop{}, errOtherClock},
		"it began before":                {pauseLine + full17, before + 200_000, after, Stop{}, errOtherClock},
		"it went on afterwards":          {pauseLine + full17, before, after - 60_000, Stop{}, errOtherClock},
		"no stop":                        {"[1ns] Entering safepoint region\n", before, after, Stop{}, errNoStop},
		"nothing":                        {"", before, after, Stop{}, errNoStop},
	} {
		if got, err := longest(c.log, c.before, c.after); !errors.Is(err, c.err) || err == nil && got != c.stop {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, err, c.stop, c.err)
		}
	}
}

// TestLateLines: the certain time is within the stop, however late its line was written.
func TestLateLines(t *testing.T) {
	const began, length = int64(5e9), int64(2314618607)
	for _, late := range []time.Duration{0, time.Millisecond, time.Second, 10 * time.Second} {
		logged := began + length + int64(late)
		log := strings.Replace(pauseLine, "16355389500000", strconv.FormatInt(began+length-1000, 10), 1) +
			strings.Replace(full17, "16355389618607", strconv.FormatInt(logged, 10), 1)
		s, err := longest(log, began-1, logged+1)
		if late > time.Duration(length) { // no pause is certain to have been within
			if !errors.Is(err, errNoStop) {
				t.Errorf("%v late: %+v, %v", late, s, err)
			}
			continue
		}
		if err != nil || s.From < began || s.To > began+length {
			t.Errorf("%v late: certain from %d to %d, %v; it lasted from %d to %d", late, s.From, s.To, err, began, began+length)
		}
	}
}

// TestSafepointLogIsForeignText: a line that contradicts itself is an error, not a stop.
func TestSafepointLogIsForeignText(t *testing.T) {
	for _, line := range []string{
		strings.Replace(full17, "Total: 2314618607", "Total: 1", 1),
		strings.Replace(full17, "Total: 2314618607", "Total: 99999999999999999", 1),
		strings.Replace(full17, "Total: 2314618607", "Total: 99999999999999999999999", 1),
		strings.Replace(full21, "Reaching safepoint: 5868", "Reaching safepoint: 9999999999", 1),
		"[99999999999999999999999ns] GC(4) Pause Full",
	} {
		if s, err := longest(line, 0, 1<<62); err == nil {
			t.Errorf("%s: %+v", line, s)
		}
	}
}
