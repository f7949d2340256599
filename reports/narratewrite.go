package reports

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

func (r *record) sayReadWrite(t *story, m moment, read *op, last int32) moment {
	p := r.name(nil, read.client, last).t(fmt.Sprintf(" reads version %s and", grouped(read.version)))
	m.At = read.start
	return r.sayWrite(t, m, p)
}

func (r *record) sayWrite(t *story, m moment, p prose) moment {
	o := m.op
	tok := ""
	if o.token != 0 {
		tok = fmt.Sprintf(" · #%d", o.token)
	}
	sends, writes := " sends its write", fmt.Sprintf(" writes version %s", grouped(o.version))
	if o.late() {
		p = prose{}.b(r.client(o.client)).t(fmt.Sprintf("'s write, sent %s before, arrives", span(o.decided-o.start)))
		sends, writes = "", fmt.Sprintf(" as version %s", grouped(o.version))
	}
	m.arrow = &arrow{to: toStore, label: fmt.Sprintf("write v%d%s → ok", o.version, tok)}
	switch {
	case o.declined:
		m.Text, m.arrow, m.Tone = p.t(" knows by now that its hold is lost, and does not write."), nil, good
	case o.refused:
		p = p.t(sends)
		if o.token != 0 {
			p = p.t(" under ").grant(o.grant, o.token)
		}
		p = p.t(". ").b("The store refuses it")
		if g := r.fenceBefore(o); g != nil && g.token > o.token {
			p = p.t(": it has already seen ").grant(g.id, g.token)
		}
		m.Text, m.Tone = p.t("."), good
		m.arrow = &arrow{to: toStore, label: "write" + tok + " (stale) → refused", tone: good}
	case o.conflict:
		m.Text, m.Tone = p.t(sends+" on condition that nothing has changed. ").b("The store has another version").t(" and does not take it."), good
		m.arrow = &arrow{to: toStore, label: "write → conflict", tone: good}
	case r.harmful(o):
		p = p.t(writes+" under ").grant(o.grant, o.token).t(". ")
		p = p.b("The store takes it")
		m.Text, m.Tone = r.sayHarm(p, o).t("."), bad
		m.arrow = &arrow{to: toStore, label: fmt.Sprintf("write v%d%s%s → ok", o.version, tok, r.staleWord(o)), tone: bad}
	case o.accepted():
		m.Text = p.t(writes + ". The store takes it.")
	case o.how == history.Fail:
		m.Text = p.t(" fails to write" + because(o))
		m.arrow.label = "write → failed"
	default:
		m.Text = p.t(" writes, and gets no answer" + because(o))
		m.arrow.label = "write" + tok + " → no answer"
	}
	return m
}

// staleWord marks a write that came too late. Where the order of the grants is not known it is one of two that is stale, and nobody knows which.
func (r *record) staleWord(o *op) string {
	if r.stale[o.id] && !r.unordered[o.grant] {
		return " (stale)"
	}
	return ""
}

// fenceBefore returns the grant with the greatest token that the store had seen of the key when it decided about an op; nil when the
// ledger does not tell.
func (r *record) fenceBefore(o *op) *grant {
	var top *grant
	for _, x := range r.entries {
		if x.seq >= o.seq || x.key != o.key || x.refused {
			continue
		}
		if x.kind == history.Read && !r.h.Header.Store.FenceReads {
			continue
		}
		if g := r.byGrant[x.grant]; g != nil && (top == nil || g.token > top.token) {
			top = g
		}
	}
	return top
}

// sayHarm says what the stale write did: to the counter, to the version that it replaced, and on what it was based.
func (r *record) sayHarm(p prose, o *op) prose {
	replaced, read := r.replacedBy(o), r.readBefore(o)
	if fall := r.fall(o, replaced); fall != "" {
		p = p.t(": ").b(fall)
	}
	switch {
	case replaced == nil || replaced.client == o.client:
		return p
	case r.rightfulAfter(o, replaced):
		return p.t(". ").b(r.subject(o.client) + " rightly holds the lock").t(fmt.Sprintf(
			": the version that it replaces had been written behind its back by %s's stale write", r.client(replaced.client)))
	case read != nil && read.version < o.replaced:
		return p.t(fmt.Sprintf(". It is based on version %s: ", grouped(read.version))).
			b(fmt.Sprintf("%s's version %s is lost", r.client(replaced.client), grouped(replaced.version)))
	}
	return p.t(fmt.Sprintf(", behind %s's version %s", r.client(replaced.client), grouped(replaced.version)))
}

// replacedBy returns the write whose version an accepted write replaced; nil when the ledger does not tell.
func (r *record) replacedBy(o *op) *op {
	for _, w := range r.ledger {
		if w.key == o.key && w.version == o.replaced && w.accepted() {
			return w
		}
	}
	return nil
}

// readBefore returns the last read under the grant of a write before it.
func (r *record) readBefore(o *op) *op {
	var read *op
	if g := r.byGrant[o.grant]; g != nil {
		for _, x := range g.ops {
			if x.kind == history.Read && x.how == history.OK && x.start < o.start {
				read = x
			}
		}
	}
	return read
}

// rightfulAfter tells whether a write that lost an update is not to blame: it is not stale, its grant was the latest of the key when it was
// sent, and what it replaced is another client's stale write.
func (r *record) rightfulAfter(o, replaced *op) bool {
	g := r.byGrant[o.grant]
	if g == nil || replaced == nil || r.unordered[g.id] || r.stale[o.id] || !r.stale[replaced.id] || replaced.client == o.client {
		return false
	}
	return !slices.ContainsFunc(r.grants, func(x *grant) bool { return x.key == o.key && x.end > g.end && x.end <= o.start })
}
