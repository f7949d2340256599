package backends

import (
	"testing"
	"time"
)

// TestQuestionsBecomeRarer: a node that is there at once is asked again soon,
// and one that takes long is asked ten times a second, not five hundred.
func TestQuestionsBecomeRarer(t *testing.T) {
	const startup = 27 * time.Second
	questions, step := 0, firstStep
	for waited := time.Duration(0); waited < startup; waited += step {
		if next := longer(step); next < step || next > longestStep {
			t.Fatalf("%v after %v", next, step)
		}
		step = longer(step)
		questions++
	}
	if firstStep > 5*time.Millisecond || step != longestStep || questions > 300 {
		t.Errorf("%d questions in %v, from %v to %v", questions, startup, firstStep, step)
	}
}

// Every service can say when a node that was started again is back.
func TestEveryKindComesBack(t *testing.T) {
	for _, k := range Kinds() {
		if k.back == nil {
			t.Errorf("%s: nobody knows when a node of it is back", k.Name)
		}
	}
}
