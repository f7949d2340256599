package audit

import (
	"math"
	"slices"

	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// A line that is cut or torn may be any client's release. So where one lies
// between two grants of a key, the promise of the first one (--ttl) proves
// nothing against the second one. What clients did as holders still does.

// MostGaps is how many places are remembered where lines are left out that may tell of a lock.
const MostGaps = words.MostGaps

// Missing is lines that could not be understood: how many there are, and before
// which of the other lines, counted from 0, the first MostGaps of them were.
type Missing struct {
	N      int
	Before []int
}

// miss notes lines that are not among those of the log.
func (l *log) miss(m Missing) {
	l.Missing += m.N
	for _, i := range m.Before {
		l.Gaps = append(l.Gaps, int32(min(i+1, math.MaxInt32)))
	}
	slices.Sort(l.Gaps)
}

// noteGap notes whether the grant before a hold on its key may have been given up
// on a line that is left out.
func (t *tracer) noteGap(n int32, o *op) {
	before := t.newest[o.Key]
	if t.newest[o.Key] = n; before < 0 || t.log.Missing == 0 {
		return
	}
	if h := t.holds.See(before); !h.ended && t.log.missing(t.log.ops.See(h.use).EndLine, o.EndLine) {
		t.gapped[before] = true
	}
}

// missing reports whether a line between two lines may be left out: one of its own number, or
// one before the line of a number. Where lines are in no order, any of them may belong there.
func (l *log) missing(a, b int32) bool {
	if l.jumbled || l.Missing > words.MostGaps {
		return true
	}
	after, _ := slices.BinarySearch(l.Gaps, min(a, b)+1)
	return after < len(l.Gaps) && l.Gaps[after] <= max(a, b)
}
