package scenarios

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
)

// TestLengthOfStuck: one that leaves a stuck key is begun among the first; one
// of which theory only allows that, under faults, is not.
func TestLengthOfStuck(t *testing.T) {
	of := func(stuck string, faults ...Fault) time.Duration {
		return LengthOf(Plan{Scenario: Scenario{Expect: Expect{Properties: map[string]string{checker.StuckLock: stuck}}, Faults: faults}})
	}
	if usual, faulty := of("pass"), of(anyOutcome, Fault{}); faulty != usual || of("violated", Fault{}) <= usual ||
		of(anyOutcome) <= usual {
		t.Errorf("%v, %v, %v, %v", usual, faulty, of("violated", Fault{}), of(anyOutcome))
	}
}

// TestLengths: how long others took is how long the next takes, and the newest count most.
func TestLengths(t *testing.T) {
	plan := func(d time.Duration) Plan { return Plan{Scenario: Scenario{Duration: Duration(d - Overhead)}} }
	var l Lengths
	if got := l.Of(plan(10 * time.Second)); got != 10*time.Second {
		t.Errorf("before anything has run: %v", got)
	}
	l.Add(plan(10*time.Second), 40*time.Second)
	if got := l.Of(plan(20 * time.Second)); got != 80*time.Second {
		t.Errorf("on a machine on which all takes four times as long: %v", got)
	}
	for range 20 {
		l.Add(plan(10*time.Second), 10*time.Second)
	}
	if got := l.Of(plan(20 * time.Second)); got < 20*time.Second || got > 21*time.Second {
		t.Errorf("when it has been calm for a while: %v", got)
	}
}
