package page

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/reporttest"
	"github.com/lockchaos/lockchaos/reports/terminal"
)

// A matrix that would be mostly gaps is turned, on paper and on a terminal;
// nothing is lost by that.
func TestSparseMatrixIsTurned(t *testing.T) {
	for _, c := range []struct {
		locks  int
		turned bool
	}{{4, false}, {7, false}, {8, true}, {20, true}} {
		s := reporttest.Diagonal(c.locks)
		text := reporttest.Text(t, func(w io.Writer) error { return terminal.Matrix(w, s, false, 100) })
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
			if phrase.Columns(line) > 100 && c.turned {
				t.Errorf("%d columns: %s", phrase.Columns(line), line)
			}
		}
	}
}
