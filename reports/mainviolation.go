package reports

import (
	"cmp"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
)

// Which violation a report tells first.

// MainViolation picks the violation that a report tells first. A certain defect comes before what
// no lock prevents. Among those of one blame it is the one that shows most of the harm that
// the scenario's result names, or, where a fence contained it, the pair of the refused writer
// and the holder whose token made the store refuse. Among equals the earliest wins, for it is
// where a reader starts in the history too. Without a record it goes by the verdict alone.
func MainViolation(s Scenario, r *Record) *checker.Violation {
	var best *checker.Violation
	bestRank := 0
	most := lostPairs(s)
	if r != nil {
		r.refusedPairs(most)
	}
	for i := range s.Verdict.Properties {
		p := &s.Verdict.Properties[i]
		if p.Outcome != checker.Violated {
			continue
		}
		for j := range p.Violations {
			v := &p.Violations[j]
			n := Rank(v)
			if most[pairOf(v)] {
				n += 3
			}
			if n > bestRank || n == bestRank && explained(v) && !explained(best) {
				best, bestRank = v, n
			}
		}
	}
	return best
}

// explained reports whether a violation's pattern says what brought it about.
func explained(v *checker.Violation) bool {
	return !slices.Contains([]string{"", checker.PatternService, checker.PatternSeveral, checker.PatternUnexplained},
		v.Pattern)
}

// pair is the two grants of a violation.
type pair struct{ a, b int64 }

func pairOf(v *checker.Violation) pair {
	if v.A == nil || v.B == nil {
		return pair{}
	}
	return pair{v.A.Grant, v.B.Grant}
}

// lostPairs returns the pairs of grants of which one lost the other's update:
// of all double-holds these tell most.
func lostPairs(s Scenario) map[pair]bool {
	out := map[pair]bool{}
	if p := s.Property(checker.LostUpdate); p != nil {
		for i := range p.Violations {
			if x := pairOf(&p.Violations[i]); x.a != 0 {
				out[x], out[pair{x.b, x.a}] = true, true
			}
		}
	}
	return out
}

// refusedPairs adds the pairs of a grant whose write was refused and the grant
// whose token was the greatest that the store had seen by then.
func (r *Record) refusedPairs(out map[pair]bool) {
	for _, o := range r.Writes {
		if !o.Refused {
			continue
		}
		if top := r.FenceBefore(o); top != nil && top.Token > o.Token {
			out[pair{o.Grant, top.ID}] = true
		}
	}
}

// defectRank is more than any other difference of two ranks.
const defectRank = 1000

// Rank orders violations by how much of the story they hold, those that are a
// certain defect before all others.
func Rank(v *checker.Violation) int {
	n := max(1, checker.Named(v.Property).Words.Weight)
	if v.Blame() == checker.Defect {
		n += defectRank
	}
	n += 10 * int(v.Severity)
	if v.A != nil && v.B != nil {
		n += 4
	}
	if v.Kind == "lease-overrun" || v.Kind == "granted-while-valid" || v.Kind == checker.KindSameIdentity ||
		v.Kind == checker.KindConfiguredIdentity || v.Kind == checker.KindReleasedBeforeCommit {
		n += 2
	}
	if len(v.Faults) > 0 {
		n++
	}
	return n
}

// Overlap returns the instants of a double-hold, and whether the violation is one.
func Overlap(v *checker.Violation) (from, to int64, ok bool) {
	if v == nil || v.Property != checker.MutualExclusion || v.To <= v.From {
		return 0, 0, false
	}
	return v.From, v.To, true
}

// BothActed reports whether both clients of a double-hold acted in it. Where they did
// not, the lock promised the key to both, and that is all that the history shows.
func BothActed(v *checker.Violation) bool {
	return v.A == nil || v.B == nil || v.A.LastAct >= v.To && v.B.LastAct >= v.To
}

// SameViolation reports whether two are of the same finding: groups have copies.
func SameViolation(a, b *checker.Violation) bool {
	return a.Property == b.Property && a.At == b.At && a.Text == b.Text
}

// ByTime lists the violations that are kept of a property in order of time.
func ByTime(x *checker.PropertyResult) []*checker.Violation {
	var out []*checker.Violation
	for i := range x.Violations {
		out = append(out, &x.Violations[i])
	}
	slices.SortStableFunc(out, func(a, b *checker.Violation) int { return cmp.Compare(a.At, b.At) })
	return out
}
