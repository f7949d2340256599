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
