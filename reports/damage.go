package reports

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// Counter is what the counter workload left under one key. Each of its writes is meant to add one to what its client had read, so
// Value falls short of Accepted by the increments that were destroyed.
type Counter struct {
	Key string `json:"key"`
	// Accepted is how many writes of the key the store took; Value what the last of them wrote.
	Accepted int64 `json:"accepted"`
	Value    int64 `json:"value"`
}

// figures is what a matrix says of a scenario that only its history can tell.
type figures struct {
	counters []Counter
	// holders is how many grants a later one overlapped; exact tells whether that is all of them, and not just those that the
	// verdict keeps the particulars of.
	holders int
	exact   bool
	// workload is what the clients did.
	workload string
	// stalled: the machine stalled a client or a node at the time of a violation of which it is not clear whose affair it is.
	stalled bool
	// overslept: it did so, or a fault took long to inject, at the time of a violation that no lease prevents, or of the harm that comes of it.
	overslept bool
}

// figuresOf computes the figures; r is nil where there is no history.
func figuresOf(s Scenario, r *record) *figures {
	f := &figures{}
	p := s.property(checker.MutualExclusion)
	var earlier []int64
	if p != nil {
		for _, v := range p.Violations {
			if v.A != nil && !slices.Contains(earlier, v.A.Grant) {
				earlier = append(earlier, v.A.Grant)
			}
		}
		f.holders, f.exact = len(earlier), p.Count == len(p.Violations)
		if n := int(s.Verdict.Stats.Overlapped.Count); n >= f.holders && r != nil && r.h.Header.Claims.Permits == 1 {
			f.holders, f.exact = n, true // the checker has counted them all
		}
	}
	if r == nil {
		return f
	}
	f.counters, f.workload = r.counters(s.Verdict), r.h.Header.Workload
	f.stalled, f.overslept = r.stalledMeanwhile(s.Verdict, checker.Unclear), r.stalledMeanwhile(s.Verdict, checker.Inherent, checker.Harm)
	if p != nil && !f.exact {
		// The checker counts pairs and keeps the first. Where the holds as drawn make just as many pairs, they are the same ones.
		if holders, pairs := r.overlapped(); pairs == p.Count && holders >= f.holders {
			f.holders, f.exact = holders, true
		}
	}
	return f
}

// Note computes what an index says of the scenario that only its history tells, so that the history can be let go. The verdict must be there.
func (s *Scenario) Note(h *history.History) {
	s.noteRecord(newRecord(h, s.Verdict))
}

// noteRecord does what Note does, with the record of the history.
func (s *Scenario) noteRecord(r *record) { s.figures = figuresOf(*s, r) }

// noted returns the figures of a scenario, computing them where nobody has.
func (s Scenario) noted() *figures {
	switch {
	case s.figures != nil:
		return s.figures
	case s.History != nil && s.Skipped == "":
		return figuresOf(s, newRecord(s.History, s.Verdict))
	}
	return figuresOf(s, nil)
}

// overlapped counts the pairs of holds of one key that share an instant, and the earlier ones among them.
func (r *record) overlapped() (holders, pairs int) {
	for i, a := range r.grants {
		n := len(later(a, r.grants[i+1:]))
		pairs += n
		if n > 0 {
			holders++
		}
	}
	return holders, pairs
}

// later returns those of the grants after a whose holds begin within a's.
func later(a *grant, after []*grant) []*grant {
	var out []*grant
	for _, b := range after {
		if b.end >= a.last {
			break
		}
		if b.key == a.key && b.last > b.end {
			out = append(out, b)
		}
	}
	return out
}

// counters returns what became of every key, in the order of the keys; nil unless the workload counts and the ledger is whole.
func (r *record) counters(v checker.Verdict) []Counter {
	if r.h.Header.Workload != "counter" || v.Truncated || !r.wholeLedger() {
		return nil
	}
	out := make([]Counter, len(r.h.Keys))
	for i := range out {
		out[i].Key = r.key(history.KeyID(i))
	}
	for _, o := range r.ledger {
		if o.accepted() {
			out[o.key].Accepted++
			out[o.key].Value = o.value
		}
	}
	return slices.DeleteFunc(out, func(c Counter) bool { return c.Accepted == 0 })
}

// wholeLedger tells whether the ledger can be counted: the history has its end, no entry is missing in the numbering, every key's
// versions follow each other, and every write that may have reached the store is among them.
func (r *record) wholeLedger() bool {
	if r.h.Truncated || !r.ended {
		return false
	}
	version := make([]int64, len(r.h.Keys))
	for i, o := range r.entries {
		if o.seq != int64(i+1) || int(o.key) < 0 || int(o.key) >= len(version) {
			return false
		}
		if o.kind != history.Write || !o.accepted() {
			continue
		}
		if version[o.key]++; o.version != version[o.key] {
			return false
		}
	}
	return !slices.ContainsFunc(r.order, func(o *op) bool {
		return o.kind == history.Write && !o.inLedger && !o.declined && o.how != history.Fail
	})
}

// sum adds the counters of all keys up.
func sum(all []Counter) (c Counter) {
	for _, x := range all {
		c.Accepted += x.Accepted
		c.Value += x.Value
	}
	return c
}

// damage says what the run did to the counter; "" where that is not known.
func damage(all []Counter) string {
	c := sum(all)
	switch {
	case c.Accepted == 0:
		return ""
	case c.Accepted == c.Value && c.Accepted == 1:
		return "the one accepted increment is in the counter"
	case c.Accepted == c.Value:
		return fmt.Sprintf("all %s increments are in the counter", grouped(c.Accepted))
	}
	ends := "the counter ends"
	if len(all) > 1 {
		ends = "the counters of " + plural(len(all), "key") + " end together"
	}
	lost := c.Accepted - c.Value
	if lost < 0 {
		return fmt.Sprintf("%s accepted, and %s at %s", were(c.Accepted, "increment"), ends, grouped(c.Value))
	}
	return fmt.Sprintf("%s of %s %s lost: %s at %s", grouped(lost), plural(c.Accepted, "increment"), wasWere(lost), ends, grouped(c.Value))
}

// lostIncrements is how many accepted increments are not in the counters at the end.
func lostIncrements(all []Counter) int64 {
	c := sum(all)
	return max(c.Accepted-c.Value, 0)
}

// counterTiles shows the counter beside the writes that should have made it.
func counterTiles(all []Counter) []tile {
	c := sum(all)
	if c.Accepted == 0 {
		return nil
	}
	class, lost := "p", c.Accepted-c.Value
	if lost != 0 {
		class = "v"
	}
	word := "counter at the end"
	if len(all) > 1 {
		word = fmt.Sprintf("%s at the end, together", plural(len(all), "counter"))
	}
	out := []tile{{Count: grouped(c.Accepted), Word: "increments accepted"}, {Count: grouped(c.Value), Word: word, Class: class}}
	if lost > 0 {
		out = append(out, tile{Count: grouped(lost), Word: "increments lost", Class: class})
	}
	return out
}

// fall says what an accepted write did to the counter, where it did not add one to it, and who undid it: "the counter falls from 26 to 6,
// until client 3, which had read 25, writes 26".
func (r *record) fall(o, replaced *op) string {
	var text string
	switch {
	case !r.counts || replaced == nil || !o.inLedger || !replaced.inLedger || o.value == replaced.value+1:
		return ""
	case o.value == replaced.value:
		return fmt.Sprintf("the counter stays at %s", grouped(o.value))
	case o.value < replaced.value:
		text = fmt.Sprintf("the counter falls from %s to %s", grouped(replaced.value), grouped(o.value))
	default:
		text = fmt.Sprintf("the counter goes from %s to %s", grouped(replaced.value), grouped(o.value))
	}
	next := r.replacing(o)
	if next == nil || next.value == o.value+1 {
		return text
	}
	return fmt.Sprintf("%s, until %s writes %s", text, client(next.client), grouped(next.value))
}

// replacing returns the accepted write that replaced the version of another; nil when the ledger does not tell.
func (r *record) replacing(o *op) *op {
	for _, w := range r.ledger {
		if w.key == o.key && w.replaced == o.version && w.accepted() {
			return w
		}
	}
	return nil
}

// overran tells whether every double-hold is one of a holder that went on past its lease.
func (s Scenario) overran() bool {
	p := s.property(checker.MutualExclusion)
	return p != nil && p.Count > 0 && p.CountOf(checker.Inherent) == p.Count
}

// were writes a number with its noun and verb.
func were(n int64, noun string) string { return plural(n, noun) + " " + wasWere(n) }

func wasWere(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
