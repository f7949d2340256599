package reports

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
)

// diagonal is a suite in which each lock is tried under a fault of its own, and without.
func diagonal(locks int) Suite {
	s := Suite{Name: "diagonal"}
	for i := range locks {
		lock, fault := fmt.Sprintf("lock-%d", i), fmt.Sprintf("fault-%d", i)
		s.Scenarios = append(s.Scenarios,
			Scenario{Name: lock + "/none/unfenced", Lock: lock, Fault: "none", Store: "unfenced", Dir: "a", Verdict: checker.Verdict{Outcome: checker.Pass}},
			Scenario{Name: lock + "/" + fault + "/fenced", Lock: lock, Fault: fault, Store: "fenced", Dir: "b", Verdict: checker.Verdict{Outcome: checker.Pass}})
	}
	return s
}

// A matrix that would be mostly gaps is turned, on paper and on a terminal; nothing is lost by that.
func TestSparseMatrixIsTurned(t *testing.T) {
	for _, c := range []struct {
		locks  int
		turned bool
	}{{4, false}, {7, false}, {8, true}, {20, true}} {
		s := diagonal(c.locks)
		text := page(t, func(w io.Writer) error { return Matrix(w, s, false, 100) })
		html := indexOf(t, s)
		if got := strings.Contains(html, "byfault\""); got != c.turned {
			t.Errorf("%d locks: page turned: %v", c.locks, got)
		}
		if got := strings.Contains(text, "\nfault 1\n  lock-1, fenced"); got != c.turned {
			t.Errorf("%d locks: text turned: %v\n%s", c.locks, got, text)
		}
		for i := range c.locks {
			if n := strings.Count(html, fmt.Sprintf(`title="lock-%d/`, i)); n != 2 {
				t.Errorf("%d locks: lock %d stands in %d cells", c.locks, i, n)
			}
		}
		for _, line := range strings.Split(text, "\n") {
			if columns(line) > 100 && c.turned {
				t.Errorf("%d columns: %s", columns(line), line)
			}
		}
	}
}

// TestUndisturbedRunsAreCounted as what they are, also where their column is named after an attack.
func TestUndisturbedRunsAreCounted(t *testing.T) {
	s := diagonal(8)
	for i := range s.Scenarios {
		if x := &s.Scenarios[i]; x.Fault == "none" {
			x.Fault, x.Undisturbed = "nothing-work", true
		}
	}
	if text := sparseSentence(s.Scenarios); !strings.HasPrefix(text, "8 kinds of disturbance") || !strings.Contains(text, "none of 8 disturbed runs") {
		t.Error(text)
	}
}
