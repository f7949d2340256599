package reports

import (
	"fmt"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// arrow is a moment's line in the sequence diagram: from its client to the lock service or to the store, or a point on the
// service's own line.
type arrow struct {
	to    lane
	label string
	tone  tone
	back  bool // from the service to the client
}

type lane int

const (
	toService lane = iota
	toStore
	atService
)

// name is how a client begins a sentence: by its name, or by "It" when the sentence before was about it too.
func (r *record) name(p prose, who, last int32) prose {
	if who == last {
		return p.t("It")
	}
	return p.b(r.client(who))
}

// sayOp tells one op.
func (r *record) sayOp(t *story, m moment, last int32) moment {
	o := m.op
	p := r.name(nil, o.client, last)
	switch o.kind {
	case history.Acquire:
		return r.sayAcquire(t, m)
	case history.Read:
		m.Text, m.arrow = r.sayRead(p, o)
	case history.Write:
		return r.sayWrite(t, m, p)
	case history.Release:
		m.Text, m.arrow = r.sayRelease(t, p, o)
	case history.Renew, history.Held:
		m.Text, m.arrow = r.sayAsk(p, o)
	default:
		m.Text = p.t(" closes its connection to the lock service.")
	}
	return m
}

func (r *record) sayAcquire(t *story, m moment) moment {
	o := m.op
	key := r.key(o.key)
	p := prose{}.b(r.client(o.client))
	m.arrow = &arrow{to: toService, label: "acquire " + key + " → " + grantName(o.id, o.token)}
	switch {
	case o.how == history.OK:
		p = p.t(" acquires ").code(key).t(as(o)+": ").grant(o.id, o.token)
		p = p.t(r.goodFor(o))
		if wait := o.end - o.start; t.b != nil && o == t.b.op && wait > 20e6 {
			p = p.t(", after a wait of " + span(wait))
		}
		if t.ordered() && o == t.b.op && t.v.Kind == checker.KindGrantedWhileValid && t.v.A != nil && t.v.A.Promise > o.end {
			p = p.t(fmt.Sprintf(", though %s was promised it for another %s", r.client(t.a.client), span(t.v.A.Promise-o.end)))
			m.Tone, m.arrow.tone = bad, bad
		}
		p = p.t(".")
	case o.busy:
		p = p.t(" tries to acquire ").code(key).t(as(o) + fmt.Sprintf(" for %s and is told that another client has it.", span(o.end-o.start)))
		m.arrow.label, m.Tone = "acquire "+key+" → busy", bad
	case o.how == history.Fail:
		p = p.t(" does not get ").code(key).t(as(o) + ": " + because(o))
		m.arrow.label = "acquire " + key + " → failed"
	default:
		p = p.t(" asks for ").code(key).t(as(o) + " and never learns whether it got it" + because(o))
		m.arrow.label = "acquire " + key + " → no answer"
	}
	m.Text = p
	return m
}

// as says as what an acquire of a reader-writer lock asked for the key; "" of other locks.
func as(o *op) string {
	switch o.mode {
	case history.ModeRead:
		return " as a reader"
	case history.ModeWrite:
		return " as a writer"
	}
	return ""
}

// goodFor says what the lock promised with the grant, by its claims.
func (r *record) goodFor(o *op) string {
	h := r.h.Header
	switch {
	case h.Claims.NoExpiry:
		return ", without an expiry"
	case h.Claims.Validity == "library" && o.hasValidFor:
		return ", good for " + span(o.validFor)
	case h.Claims.Validity == "from_invocation" && h.TTL > 0:
		return ", good for " + span(h.TTL)
	case h.Claims.Validity == "session" && h.TTL > 0:
		return ", good while its session lives (TTL " + span(h.TTL) + ")"
	}
	return ""
}

func (r *record) sayRead(p prose, o *op) (prose, *arrow) {
	a := &arrow{to: toStore, label: fmt.Sprintf("read → v%d", o.version)}
	switch o.how {
	case history.OK:
		if o.slow() {
			return p.t(fmt.Sprintf(" is answered, %s after it asked: version %s.", span(o.end-o.start), grouped(o.version))), a
		}
		return p.t(fmt.Sprintf(" reads version %s.", grouped(o.version))), a
	case history.Fail:
		a.label = "read → refused"
		if o.declined {
			return p.t(" knows that its hold is lost, and does not read."), nil
		}
		return p.t(" is not allowed to read" + because(o)), a
	}
	a.label = "read → no answer"
	return p.t(" reads, and gets no answer" + because(o)), a
}

func (r *record) sayRelease(t *story, p prose, o *op) (prose, *arrow) {
	key := r.key(o.key)
	a := &arrow{to: toService, label: "release " + key + " → ok"}
	switch {
	case o.how == history.OK && t.ordered() && o.grant == t.a.id && o.start > t.b.end:
		return p.t(" releases ").code(key).t(". The answer is ok, though the key is no longer its own."), a
	case o.how == history.OK:
		return p.t(" releases ").code(key).t("."), a
	case o.notHeld:
		a.label = "release → not held"
		return p.t(" releases ").code(key).t(" and is told that it no longer holds it."), a
	case o.how == history.Fail && o.declined:
		return p.t(" does not release what it knows to be lost."), nil
	}
	a.label = "release " + key + " → unknown"
	return p.t(" releases ").code(key).t(" and never learns whether that worked" + because(o)), a
}

func (r *record) sayAsk(p prose, o *op) (prose, *arrow) {
	if r.h.Header.Translated && o.how == history.Fail && !o.notHeld { // so package foreign puts down what is an act, and nothing else is known of it
		return p.t(" takes itself for the holder of ").code(r.key(o.key)).t("."), nil
	}
	verb, ask := " asks the lock whether it still holds ", "held?"
	if o.kind == history.Renew {
		verb, ask = " renews its grant of ", "renew"
	}
	p = p.t(verb).code(r.key(o.key))
	a := &arrow{to: toService, label: ask + " → no answer"}
	switch {
	case o.how == history.OK:
		a.label = ask + " → yes"
		return p.t(": yes."), a
	case o.notHeld:
		a.label = ask + " → not held"
		return p.t(": no."), a
	}
	return p.t(", and gets no clear answer" + because(o)), a
}

// because appends what a program gave as its reason.
func because(o *op) string {
	if o.text == "" {
		return "."
	}
	return " (" + clip(firstLine(o.text), 200) + ")."
}
