package reports

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Counter is what the counter workload left under one key. Each of its writes
// is meant to add one to what its client had read, so Value falls short of
// Accepted by the increments that were destroyed.
type Counter struct {
	Key string `json:"key"`
	// Accepted is how many writes of the key the store took; Value what the last of them wrote.
	Accepted int64 `json:"accepted"`
	Value    int64 `json:"value"`
}

// figures is what a matrix says of a scenario that only its history can tell.
type figures struct {
	Counters []Counter
	// Holders is how many grants a later one overlapped; exact reports whether that
	// is all of them, and not just those that the verdict keeps the particulars of.
	Holders int
	Exact   bool
	// workload is what the clients did.
	workload string
	// stalled: the machine stalled a client or a node at the time of a
	// violation of which it is not clear whose affair it is.
	stalled bool
	// overslept: it did so, or a fault took long to inject, at the time of a
	// violation that no lease prevents, or of the harm that comes of it.
	overslept bool
}

// figuresOf computes the figures; r is nil where there is no history.
func figuresOf(s Scenario, r *Record) *figures {
	f := &figures{}
	p := s.Property(checker.MutualExclusion)
	var earlier []int64
	if p != nil {
		for _, v := range p.Violations {
			if v.A != nil && !slices.Contains(earlier, v.A.Grant) {
				earlier = append(earlier, v.A.Grant)
			}
		}
		f.Holders, f.Exact = len(earlier), p.Count == len(p.Violations)
		if n := int(s.Verdict.Stats.Overlapped.Count); n >= f.Holders && r != nil &&
			r.History.Header.Claims.Permits == 1 {
			f.Holders, f.Exact = n, true // the checker has counted them all
		}
	}
	if r == nil {
		return f
	}
	f.Counters, f.workload = r.counters(s.Verdict), r.History.Header.Workload
	f.stalled, f.overslept = r.stalledMeanwhile(s.Verdict, checker.Unclear),
		r.stalledMeanwhile(s.Verdict, checker.Inherent, checker.Harm)
	if p != nil && !f.Exact {
		// The checker counts pairs and keeps the first. Where the holds as
		// drawn make just as many pairs, they are the same ones.
		if holders, pairs := r.overlapped(); pairs == p.Count && holders >= f.Holders {
			f.Holders, f.Exact = holders, true
		}
	}
	return f
}

// Note computes what an index says of the scenario that only its history tells,
// so that the history can be let go. The verdict must be there.
func (s *Scenario) Note(h *history.History) {
	s.NoteRecord(NewRecord(h, s.Verdict))
}

// NoteRecord does what Note does, with the record of the history.
func (s *Scenario) NoteRecord(r *Record) { s.figures = figuresOf(*s, r) }

// Noted returns the figures of a scenario, computing them where nobody has.
func (s Scenario) Noted() *figures {
	switch {
	case s.figures != nil:
		return s.figures
	case s.History != nil && s.Skipped == "":
		return figuresOf(s, NewRecord(s.History, s.Verdict))
	}
	return figuresOf(s, nil)
}

// overlapped counts the pairs of holds of one key that share an instant, and
// the earlier ones among them.
func (r *Record) overlapped() (holders, pairs int) {
	for i, a := range r.Grants {
		n := len(Later(a, r.Grants[i+1:]))
		pairs += n
		if n > 0 {
			holders++
		}
	}
	return holders, pairs
}

// Later returns those of the grants after a whose holds begin within a's.
func Later(a *history.Grant, after []*history.Grant) []*history.Grant {
	var out []*history.Grant
	for _, b := range after {
		if b.End >= a.LastAct {
			break
		}
		if b.Key == a.Key && b.LastAct > b.End {
			out = append(out, b)
		}
	}
	return out
}

// counters returns what became of every key, in the order of the keys; nil
// unless the workload counts and the ledger is whole.
func (r *Record) counters(v checker.Verdict) []Counter {
	if r.History.Header.Workload != "counter" || v.Truncated || !r.WholeLedger() {
		return nil
	}
	out := make([]Counter, len(r.History.Keys))
	for i := range out {
		out[i].Key = r.Key(history.KeyID(i))
	}
	for _, o := range r.Writes {
		if o.Accepted() {
			out[o.Key].Accepted++
			out[o.Key].Value = o.Value
		}
	}
	return slices.DeleteFunc(out, func(c Counter) bool { return c.Accepted == 0 })
}

// Total adds the counters of all keys up.
func Total(all []Counter) (c Counter) {
	for _, x := range all {
		c.Accepted += x.Accepted
		c.Value += x.Value
	}
	return c
}

// Damage says what the run did to the counter; "" where that is not known.
func Damage(all []Counter) string {
	c := Total(all)
	switch {
	case c.Accepted == 0:
		return ""
	case c.Accepted == c.Value && c.Accepted == 1:
		return "the one accepted increment is in the counter"
	case c.Accepted == c.Value:
		return fmt.Sprintf("all %s increments are in the counter", phrase.Grouped(c.Accepted))
	}
	ends := "the counter ends"
	if len(all) > 1 {
		ends = "the counters of " + phrase.Plural(len(all), "key") + " end together"
	}
	lost := c.Accepted - c.Value
	if lost < 0 {
		return fmt.Sprintf("%s accepted, and %s at %s", Were(c.Accepted, "increment"), ends, phrase.Grouped(c.Value))
	}
	return fmt.Sprintf("%s of %s %s lost: %s at %s", phrase.Grouped(lost), phrase.Plural(c.Accepted, "increment"),
		verb(lost, "was", "were"), ends, phrase.Grouped(c.Value))
}

// LostIncrements is how many accepted increments are not in the counters at the end.
func LostIncrements(all []Counter) int64 {
	c := Total(all)
	return max(c.Accepted-c.Value, 0)
}

// Fall says what an accepted write did to the counter, where it did not add one to it, and who
// undid it: "the counter falls from 26 to 6, until client 3, which had read 25, writes 26".
func (r *Record) Fall(o, replaced *history.Op) string {
	var text string
	switch {
	case !r.counts || replaced == nil || !o.InLedger || !replaced.InLedger || o.Value == replaced.Value+1:
		return ""
	case o.Value == replaced.Value:
		return fmt.Sprintf("the counter stays at %s", phrase.Grouped(o.Value))
	case o.Value < replaced.Value:
		text = fmt.Sprintf("the counter falls from %s to %s", phrase.Grouped(replaced.Value), phrase.Grouped(o.Value))
	default:
		text = fmt.Sprintf("the counter goes from %s to %s", phrase.Grouped(replaced.Value), phrase.Grouped(o.Value))
	}
	next := r.Replacing(o)
	if next == nil || next.Value == o.Value+1 {
		return text
	}
	return fmt.Sprintf("%s, until %s writes %s", text, phrase.Client(next.Client), phrase.Grouped(next.Value))
}

// Overran reports whether every double-hold is one of a holder that went on past its lease.
func (s Scenario) Overran() bool {
	p := s.Property(checker.MutualExclusion)
	return p != nil && p.Count > 0 && p.CountOf(checker.Inherent) == p.Count
}

// Were writes a number with its noun and verb.
func Were(n int64, noun string) string { return phrase.Plural(n, noun) + " " + verb(n, "was", "were") }

// verb is the form of a verb that fits a number.
func verb[N int | int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// TimesRepeated says how often something was done twice; empty when nothing was.
func TimesRepeated(s Scenario) string {
	n := s.Count(checker.DuplicateEffect)
	if n == 0 {
		return ""
	}
	what, did, again := "effect", "was repeated", "were repeated"
	switch s.Noted().workload {
	case "payment":
		what, did, again = "order", "was charged twice", "were charged twice"
	case "leader":
		what, did, again = "tick", "ran twice", "ran twice"
	}
	return phrase.Plural(n, what) + " " + verb(n, did, again)
}
