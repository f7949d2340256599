package reports

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// tone colours a moment of a story.
type tone string

const (
	plain tone = ""
	bad   tone = "bad"  // here it goes wrong
	good  tone = "good" // here something stops it
)

// moment is one numbered step of a story.
type moment struct {
	At   int64
	Tone tone
	Text prose

	who    int32 // the client that it is about, 0: none
	op     *op
	arrow  *arrow
	freeze *fault // a fault begins here
	thaw   *fault // and ends here
	beside *fault // one that disturbs neither client begins here
	aside  bool   // told for completeness, not part of what went wrong
}

// story is one violation retold: its moments in order of time, and what the headline and the lede need of it.
type story struct {
	Moments []moment
	// Left is how many moments were left out for length.
	Left int

	v     *checker.Violation
	a, b  *grant
	fault *fault // the injected fault, or else the stall, that disturbed A before it acted again; where their order is unknown, either of the two
	// beside are faults that lay on the service, or between one of the two and the store, meanwhile.
	beside []*fault
	key    string
	// stale are A's writes (or anybody's) that the store took though it should not have, refused those that it refused.
	stale, refused []*op
	lostUpdate     bool
}

// rivals tells whether the story is of two grants of one key. Those of a deadlock are of two, and nobody is in the other's way as a holder.
func (t *story) rivals() bool { return t.a != nil && t.b != nil && t.a.key == t.b.key }

// ordered reports whether a was certainly granted the key before b. Only then may a story say that the key was given away, or was no longer a's.
func (t *story) ordered() bool { return t.rivals() && !t.v.Unordered }

// The greatest number of steps a story tells; a longer one is cut in its middle.
const storyLength = 16

// retell makes the story of a violation from the ops that prove it, all that was done under the two grants, and the faults
// that touched them. With only, no other ops are told than those.
func (r *record) retell(s Scenario, v *checker.Violation, only map[int64]bool) story {
	t := story{v: v, key: clip(v.Key, 40)}
	if v.A != nil {
		t.a = r.byGrant[v.A.Grant]
	}
	if v.B != nil {
		t.b = r.byGrant[v.B.Grant]
	}
	ops := r.cast(&t, only)
	t.fault = r.disturbance(&t, ops)
	t.beside = r.besides(&t)
	for _, o := range ops {
		if r.harmful(o) {
			t.stale = append(t.stale, o)
		}
		if o.kind == history.Write && o.refused {
			t.refused = append(t.refused, o)
		}
	}
	t.lostUpdate = r.losesUpdate(s, &t)
	t.Moments = r.moments(&t, ops)
	t.shorten()
	return t
}

// cast collects the ops of the story.
func (r *record) cast(t *story, only map[int64]bool) []*op {
	var ops []*op
	seen := map[int64]bool{}
	add := func(o *op) {
		if o != nil && !seen[o.id] && !r.isUnsaid(o.id) && (only == nil || only[o.id]) {
			seen[o.id] = true
			ops = append(ops, o)
		}
	}
	for _, g := range []*grant{t.a, t.b} {
		if g == nil {
			continue
		}
		add(g.op)
		for _, o := range g.ops {
			add(o)
		}
	}
	for _, id := range slices.Concat(t.v.Ops, slices.Sorted(maps.Keys(only))) {
		add(r.ops[id])
	}
	return ops
}

// losesUpdate tells whether a lost update is among what the verdict found of these two grants.
func (r *record) losesUpdate(s Scenario, t *story) bool {
	p := s.property(checker.LostUpdate)
	if p == nil {
		return false
	}
	for _, x := range p.Violations {
		for _, id := range x.Ops {
			if slices.ContainsFunc(t.stale, func(o *op) bool { return o.id == id }) {
				return true
			}
		}
	}
	return false
}

// moments puts ops, faults, leases and losses into one order and words.
func (r *record) moments(t *story, ops []*op) []moment {
	var out []moment
	for _, o := range ops {
		at := o.atStore()
		if o.kind == history.Acquire {
			at = o.end
		}
		if o.late() {
			out = append(out, moment{At: o.start, who: o.client, Text: prose{}.b(r.client(o.client)).t(" sends its write, which is long under way.")})
		}
		if o.slow() {
			out = append(out, moment{At: o.start, who: o.client, Text: prose{}.b(r.client(o.client)).t(" sends a read, and waits for the answer.")})
		}
		out = append(out, moment{At: at, who: o.client, op: o})
	}
	if f := t.fault; f != nil {
		out = append(out, moment{At: f.From, freeze: f})
		if !f.kills() && !f.sudden() { // nobody goes on after that, or nothing was stopped
			out = append(out, moment{At: f.To, thaw: f})
		}
	}
	for _, f := range t.beside {
		out = append(out, moment{At: f.From, beside: f})
	}
	for _, g := range []*grant{t.a, t.b} {
		if g == nil {
			continue
		}
		for _, e := range g.lost {
			out = append(out, r.sayLost(g, e))
		}
	}
	out = append(out, r.between(t)...)
	if m, ok := r.sayExpiry(t); ok {
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b moment) int { return cmp.Compare(a.At, b.At) })
	return r.narrate(t, out)
}

// narrate gives every moment its words, joining a read with the write that follows it at once.
func (r *record) narrate(t *story, in []moment) []moment {
	var out []moment
	last := int32(0)
	for i := 0; i < len(in); i++ {
		m := in[i]
		switch {
		case m.freeze != nil:
			m = r.sayFreeze(t, m)
		case m.thaw != nil:
			m = r.sayThaw(t, m)
		case m.beside != nil:
			m = r.sayBeside(m)
		case m.op == nil:
		case i+1 < len(in) && joins(m.op, in[i+1].op):
			m = r.sayReadWrite(t, in[i+1], m.op, last)
			i++
		default:
			m = r.sayOp(t, m, last)
		}
		last = m.who
		out = append(out, m)
	}
	return out
}

// joins tells whether a read and the next op make one sentence.
func joins(o, next *op) bool {
	return o.kind == history.Read && o.how == history.OK && !o.slow() && next != nil && next.kind == history.Write &&
		next.grant == o.grant && next.accepted() && !next.late()
}

// shorten leaves out plain moments from the middle of a story that is too long, and counts them.
func (t *story) shorten() {
	for len(t.Moments) > storyLength {
		cut := -1
		mid := len(t.Moments) / 2
		for d := 0; d < mid && cut < 0; d++ {
			for _, i := range []int{mid - d, mid + d} {
				m := t.Moments[i]
				if i > 0 && i < len(t.Moments)-1 && m.Tone == plain && m.op != nil && m.op.kind != history.Acquire {
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
