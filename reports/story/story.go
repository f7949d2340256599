// Package story says what happened in a run: its headline, the story of a
// violation from its cause to its harm, what a fault did, what to do about it,
// and the glossary of every word that a report uses.
package story

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Tone colours a moment of a story.
type Tone string

const (
	Plain Tone = ""
	bad   Tone = "bad"  // here it goes wrong
	good  Tone = "good" // here something stops it
)

// Moment is one numbered step of a story.
type Moment struct {
	At   int64
	Tone Tone
	Text Prose

	Who    int32 // the client that it is about, 0: none
	Op     *history.Op
	Arrow  *arrow
	Freeze *history.FaultSpan // a fault begins here
	Thaw   *history.FaultSpan // and ends here
	beside *history.FaultSpan // one that disturbs neither client begins here
	Aside  bool               // told for completeness, not part of what went wrong
}

// Story is one violation retold: its moments in order of time, and what the
// headline and the lede need of it.
type Story struct {
	Moments []Moment
	// Left is how many moments were left out for length.
	Left int

	Violation *checker.Violation
	A, B      *history.Grant
	// Fault is the injected fault, or else the stall, that disturbed A before it acted again; where
	// their order is unknown, either of the two.
	Fault *history.FaultSpan
	// beside are faults that lay on the service, or between one of the two and
	// the store, meanwhile.
	beside []*history.FaultSpan
	Key    string
	// stale are A's writes (or anybody's) that the store took though it should
	// not have, refused those that it refused.
	Stale, Refused []*history.Op
	lostUpdate     bool
}

// Rivals reports whether the story is of two grants of one key. Those of a
// deadlock are of two, and nobody is in the other's way as a holder.
func (t *Story) Rivals() bool { return t.A != nil && t.B != nil && t.A.Key == t.B.Key }

// Ordered reports whether a was certainly granted the key before b. Only then
// may a story say that the key was given away, or was no longer a's.
func (t *Story) Ordered() bool { return t.Rivals() && !t.Violation.Unordered }

// The greatest number of steps a story tells; a longer one is cut in its middle.
const storyLength = 16

// Retell makes the story of a violation from the ops that prove it, all that was done under the
// two grants, and the faults that touched them. With only, no other ops are told than those.
func Retell(r *reports.Record, s reports.Scenario, v *checker.Violation, only map[int64]bool) Story {
	t := Story{Violation: v, Key: phrase.Clip(v.Key, 40)}
	if v.A != nil {
		t.A = r.Grant(v.A.Grant)
	}
	if v.B != nil {
		t.B = r.Grant(v.B.Grant)
	}
	ops := cast(r, &t, only)
	t.Fault = disturbance(r, &t, ops)
	t.beside = otherFaults(r, &t)
	for _, o := range ops {
		if r.Harmful(o) {
			t.Stale = append(t.Stale, o)
		}
		if o.Kind == history.Write && o.Refused {
			t.Refused = append(t.Refused, o)
		}
	}
	t.lostUpdate = losesUpdate(r, s, &t)
	t.Moments = chronology(r, &t, ops)
	t.shorten()
	return t
}

// cast collects the ops of the story.
func cast(r *reports.Record, t *Story, only map[int64]bool) []*history.Op {
	var ops []*history.Op
	seen := map[int64]bool{}
	add := func(o *history.Op) {
		if o != nil && !seen[o.ID] && !r.IsUnsaid(o.ID) && (only == nil || only[o.ID]) {
			seen[o.ID] = true
			ops = append(ops, o)
		}
	}
	for _, g := range []*history.Grant{t.A, t.B} {
		if g == nil {
			continue
		}
		add(g.Op)
		for _, o := range g.Ops {
			add(o)
		}
	}
	for _, id := range slices.Concat(t.Violation.Ops, slices.Sorted(maps.Keys(only))) {
		add(r.Op(id))
	}
	return ops
}

// losesUpdate reports whether a lost update is among what the verdict found of these two grants.
func losesUpdate(r *reports.Record, s reports.Scenario, t *Story) bool {
	p := s.Property(checker.LostUpdate)
	if p == nil {
		return false
	}
	for _, x := range p.Violations {
		for _, id := range x.Ops {
			if slices.ContainsFunc(t.Stale, func(o *history.Op) bool { return o.ID == id }) {
				return true
			}
		}
	}
	return false
}

// chronology puts ops, faults, leases and losses into one order and words.
func chronology(r *reports.Record, t *Story, ops []*history.Op) []Moment {
	var out []Moment
	for _, o := range ops {
		at := o.AtStore()
		if o.Kind == history.Acquire {
			at = o.End
		}
		if o.Late() {
			out = append(out, Moment{At: o.Start, Who: o.Client,
				Text: Prose{}.b(r.Client(o.Client)).t(" sends its write, which is long under way.")})
		}
		if o.Slow() {
			out = append(out, Moment{At: o.Start, Who: o.Client,
				Text: Prose{}.b(r.Client(o.Client)).t(" sends a read, and waits for the answer.")})
		}
		out = append(out, Moment{At: at, Who: o.Client, Op: o})
	}
	if f := t.Fault; f != nil {
		out = append(out, Moment{At: f.From, Freeze: f})
		if !f.Kills() && !f.Sudden() { // nobody goes on after that, or nothing was stopped
			out = append(out, Moment{At: f.To, Thaw: f})
		}
	}
	for _, f := range t.beside {
		out = append(out, Moment{At: f.From, beside: f})
	}
	for _, g := range []*history.Grant{t.A, t.B} {
		if g == nil {
			continue
		}
		for _, e := range g.Lost {
			out = append(out, sayLost(r, g, e))
		}
	}
	out = append(out, between(r, t)...)
	if m, ok := sayExpiry(r, t); ok {
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b Moment) int { return cmp.Compare(a.At, b.At) })
	return narrate(r, t, out)
}

// narrate gives every moment its words, joining a read with the write that follows it at once.
func narrate(r *reports.Record, t *Story, in []Moment) []Moment {
	var out []Moment
	last := int32(0)
	for i := 0; i < len(in); i++ {
		m := in[i]
		switch {
		case m.Freeze != nil:
			m = sayFreeze(r, t, m)
		case m.Thaw != nil:
			m = sayThaw(r, t, m)
		case m.beside != nil:
			m = sayBeside(r, m)
		case m.Op == nil:
		case i+1 < len(in) && joins(m.Op, in[i+1].Op):
			m = sayReadWrite(r, t, in[i+1], m.Op, last)
			i++
		default:
			m = sayOp(r, t, m, last)
		}
		last = m.Who
		out = append(out, m)
	}
	return out
}

// joins reports whether a read and the next op make one sentence.
func joins(o, next *history.Op) bool {
	return o.Kind == history.Read && o.Outcome == history.OK && !o.Slow() && next != nil &&
		next.Kind == history.Write &&
		next.Grant == o.Grant && next.Accepted() && !next.Late()
}

// shorten leaves out plain moments from the middle of a story that is too long, and counts them.
func (t *Story) shorten() {
	for len(t.Moments) > storyLength {
		cut := -1
		mid := len(t.Moments) / 2
		for d := 0; d < mid && cut < 0; d++ {
			for _, i := range []int{mid - d, mid + d} {
				m := t.Moments[i]
				if i > 0 && i < len(t.Moments)-1 && m.Tone == Plain && m.Op != nil && m.Op.Kind != history.Acquire {
					cut = i
					break
				}
			}
		}
		if cut < 0 {
			t.Left += len(t.Moments) - storyLength
			t.Moments = t.Moments[:storyLength]
			return
		}
		t.Moments = slices.Delete(t.Moments, cut, cut+1)
		t.Left++
	}
}
