// Package decided is for tests on real servers, where one run may show too
// little to decide anything.
//
// Whether a late write finds that a newer holder has written depends on when
// the machine let each of them run. A run in which no newer holder wrote is
// neither good nor bad. The test must say so, and make another run:
//
//	decided.Run(t, func() {
//		h := carried(t, lock, plan)
//		if !overtaken(h) {
//			decided.Lacks("a newer holder that wrote before the late write came")
//		}
//		if taken := violated(h); taken == fenced {
//			t.Errorf("the store took a stale write: %v", taken)
//		}
//	})
//
// A run that was decided is judged once: it is never made again because of what it came to. What
// must hold in every run is asserted before Lacks is called.
package decided

import (
	"fmt"
	"testing"
	"time"
)

// Limit is how long a test goes on making runs. It is minutes, since a busy machine may let
// hardly any run come to a decision. The time limit of go test is ten minutes.
const Limit = 5 * time.Minute

// undecided is what a run panics with that has not shown what it had to.
type undecided string

// Error is read only where Lacks was called outside of Run.
func (u undecided) Error() string { return "decided.Lacks outside of decided.Run: " + string(u) }

// Lacks ends the present run, which decides nothing: what it lacks was never shown. Call it on
// the goroutine of the run.
func Lacks(format string, args ...any) { panic(undecided(fmt.Sprintf(format, args...))) }

// Lacking reports whether a value that was recovered from a panic is of Lacks.
func Lacking(recovered any) bool {
	_, lacks := recovered.(undecided)
	return lacks
}

// T is what is asked of a test: a testing.TB, or a script of package testscript.
type T interface {
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Await looks again and again until the condition holds. What says which it is: "the process ends".
// The test fails if it does not within Limit.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(Limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v still not: %s", Limit, what)
		}
	}
}

// Run makes runs until one is decided: until run returns, or fails the test. If none is within
// Limit, the test fails, and the message says what the runs lacked.
func Run(t T, run func()) { within(t, Limit, run) }

func within(t T, limit time.Duration, run func()) {
	failed := func() bool { return false }
	if tb, ok := t.(testing.TB); ok {
		tb.Helper()
		failed = tb.Failed
	}
	began := time.Now()
	for runs := 1; ; runs++ {
		lack := lacks(run)
		if lack == "" || failed() {
			return
		}
		t.Logf("run %d decides nothing: it lacks %s", runs, lack)
		if took := time.Since(began); took >= limit {
			t.Fatalf("%d runs in %v, and none decides anything. The last lacked %s", runs, took.Round(time.Second),
				lack)
		}
	}
}

// lacks makes a run and returns what it lacks, "" if it was decided.
func lacks(run func()) (lack string) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case undecided:
			lack = string(r)
		default:
			panic(r)
		}
	}()
	run()
	return ""
}
