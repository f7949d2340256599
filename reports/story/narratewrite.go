package story

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

func sayReadWrite(r *reports.Record, t *Story, m Moment, read *history.Op, last int32) Moment {
	p := name(r, nil, read.Client, last).t(fmt.Sprintf(" reads version %s and", phrase.Grouped(read.Version)))
	m.At = read.Start
	return sayWrite(r, t, m, p)
}

func sayWrite(r *reports.Record, t *Story, m Moment, p Prose) Moment {
	o := m.Op
	tok := ""
	if o.Token.Given() {
		tok = fmt.Sprintf(" · #%d", o.Token)
	}
	sends, writes := " sends its write", fmt.Sprintf(" writes version %s", phrase.Grouped(o.Version))
	if o.Late() {
		p = Prose{}.b(r.Client(o.Client)).t(fmt.Sprintf("'s write, sent %s before, arrives",
			phrase.Span(o.Decided-o.Start)))
		sends, writes = "", fmt.Sprintf(" as version %s", phrase.Grouped(o.Version))
	}
	m.Arrow = &arrow{To: ToStore, Label: fmt.Sprintf("write v%d%s → ok", o.Version, tok)}
	switch {
	case o.Declined:
		m.Text, m.Arrow, m.Tone = p.t(" knows by now that its hold is lost, and does not write."), nil, good
	case o.Refused:
		p = p.t(sends)
		if o.Token.Given() {
			p = p.t(" under ").grant(reports.GrantName(o.Grant, o.Token))
		}
		p = p.t(". ").b("The store refuses it")
		if g := r.FenceBefore(o); g != nil && g.Token > o.Token {
			p = p.t(": it has already seen ").grant(reports.NameOf(g))
		}
		m.Text, m.Tone = p.t("."), good
		m.Arrow = &arrow{To: ToStore, Label: "write" + tok + " (stale) → refused", Tone: good}
	case o.Conflict:
		m.Text, m.Tone = p.t(sends+" on condition that nothing has changed. ").b("The store has another version").t(" and does not take it."), good
		m.Arrow = &arrow{To: ToStore, Label: "write → conflict", Tone: good}
	case r.Harmful(o) && !o.InTransaction:
		p = p.t(writes + " under ").grant(reports.GrantName(o.Grant, o.Token)).t(". ")
		p = p.b("The store takes it")
		m.Text, m.Tone = sayHarm(r, p, o).t("."), bad
		m.Arrow = &arrow{To: ToStore, Label: fmt.Sprintf("write v%d%s%s → ok", o.Version, tok, staleWord(r, o)),
			Tone: bad}
	case o.Accepted() && !o.InTransaction:
		m.Text = p.t(writes + ". The store takes it.")
	case o.InTransaction && o.Outcome == history.OK:
		m.Text = p.t(writes + " in its transaction. Nobody else sees it yet.")
	case o.Outcome == history.Fail:
		m.Text = p.t(" fails to write" + because(o))
		m.Arrow.Label = "write → failed"
	default:
		m.Text = p.t(" writes, and gets no answer" + because(o))
		m.Arrow.Label = "write" + tok + " → no answer"
	}
	return m
}

// sayCommit tells the end of a transaction, and what it did to the data.
func sayCommit(r *reports.Record, m Moment, p Prose) Moment {
	o := m.Op
	m.Arrow = &arrow{To: ToStore, Label: "commit → ok"}
	switch o.Outcome {
	case history.OK:
		p = p.t(" commits its transaction")
		if r.ReleasedBefore(o) {
			p = p.t(", ").b("after it has released the lock")
			m.Tone, m.Arrow.Tone = bad, bad
		}
		p = p.t(". ").b("Only now its write stands")
		if w := writtenIn(r, o); w != nil && r.Harmful(w) {
			p, m.Tone, m.Arrow.Tone = sayHarm(r, p, w), bad, bad
		}
		m.Text = p.t(".")
	case history.Fail:
		m.Text, m.Arrow.Label, m.Tone = p.t(" can't commit, and the store rolls its write back"+because(o)), "commit → rolled back", good
	default:
		m.Text, m.Arrow.Label = p.t(" commits, and gets no answer"+because(o)), "commit → no answer"
	}
	return m
}

// writtenIn returns the write that a commit made stand; nil: there is none.
func writtenIn(r *reports.Record, commit *history.Op) (w *history.Op) {
	if g := r.Grant(commit.Grant); g != nil {
		for _, x := range g.Ops {
			if x.Kind == history.Write && x.InLedger && x.Asked < commit.Asked {
				w = x
			}
		}
	}
	return w
}

// staleWord marks a write that came too late. Where the order of the grants is
// not known it is one of two that is stale, and nobody knows which.
func staleWord(r *reports.Record, o *history.Op) string {
	if r.Stale[o.ID] && !r.Unordered[o.Grant] {
		return " (stale)"
	}
	return ""
}

// sayHarm says what the stale write did: to the counter, to the version that it
// replaced, and on what it was based.
func sayHarm(r *reports.Record, p Prose, o *history.Op) Prose {
	replaced, read := r.ReplacedBy(o), readBefore(r, o)
	if fall := r.Fall(o, replaced); fall != "" {
		p = p.t(": ").b(fall)
	}
	switch {
	case replaced == nil || replaced.Client == o.Client:
		return p
	case rightfulAfter(r, o, replaced):
		return p.t(". ").b(r.Subject(o.Client) + " rightly holds the lock").t(fmt.Sprintf(
			": the version that it replaces had been written behind its back by %s's stale write",
			r.Client(replaced.Client)))
	case read != nil && read.Version < o.Replaced:
		return p.t(fmt.Sprintf(". It is based on version %s: ", phrase.Grouped(read.Version))).
			b(fmt.Sprintf("%s's version %s is lost", r.Client(replaced.Client), phrase.Grouped(replaced.Version)))
	}
	return p.t(fmt.Sprintf(", behind %s's version %s", r.Client(replaced.Client), phrase.Grouped(replaced.Version)))
}

// readBefore returns the last read under the grant of a write before it.
func readBefore(r *reports.Record, o *history.Op) *history.Op {
	var read *history.Op
	if g := r.Grant(o.Grant); g != nil {
		for _, x := range g.Ops {
			if x.Kind == history.Read && x.Outcome == history.OK && x.Start < o.Start {
				read = x
			}
		}
	}
	return read
}

// rightfulAfter reports whether a write that lost an update is not to blame: it
// is not stale, its grant was the latest of the key when it was sent, and what
// it replaced is another client's stale write.
func rightfulAfter(r *reports.Record, o, replaced *history.Op) bool {
	g := r.Grant(o.Grant)
	if g == nil || replaced == nil || r.Unordered[g.ID] || r.Stale[o.ID] || !r.Stale[replaced.ID] ||
		replaced.Client == o.Client {
		return false
	}
	return !slices.ContainsFunc(r.Grants, func(x *history.Grant) bool {
		return x.Key == o.Key && x.End > g.End &&
			x.End <= o.Start
	})
}
