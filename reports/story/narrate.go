package story

import (
	"fmt"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// arrow is a moment's line in the sequence diagram: from its client to the lock
// service or to the store, or a point on the service's own line.
type arrow struct {
	To    lane
	Label string
	Tone  Tone
	Back  bool // from the service to the client
}

type lane int

const (
	toService lane = iota
	ToStore
	AtService
)

// name is how a client begins a sentence: by its name, or by "It" when the
// sentence before was about it too.
func name(r *reports.Record, p Prose, who, last int32) Prose {
	if who == last {
		return p.t("It")
	}
	return p.b(r.Client(who))
}

// sayOp tells one op.
func sayOp(r *reports.Record, t *Story, m Moment, last int32) Moment {
	o := m.Op
	p := name(r, nil, o.Client, last)
	switch o.Kind {
	case history.Acquire:
		return sayAcquire(r, t, m)
	case history.Read:
		m.Text, m.Arrow = sayRead(r, p, o)
	case history.Write:
		return sayWrite(r, t, m, p)
	case history.Release:
		m.Text, m.Arrow = sayRelease(r, t, p, o)
	case history.Renew, history.Held:
		m.Text, m.Arrow = sayAsk(r, p, o)
	case history.Commit:
		return sayCommit(r, m, p)
	default:
		m.Text = p.t(" closes its connection to the lock service.")
	}
	return m
}

func sayAcquire(r *reports.Record, t *Story, m Moment) Moment {
	o := m.Op
	key := r.Key(o.Key)
	p := Prose{}.b(r.Client(o.Client))
	m.Arrow = &arrow{To: toService, Label: "acquire " + key + " → " + reports.GrantName(o.ID, o.Token)}
	switch {
	case o.Outcome == history.OK:
		p = p.t(" acquires ").code(key).t(modeWords(o) + ": ").grant(reports.GrantName(o.ID, o.Token))
		p = p.t(goodFor(r, o))
		if wait := o.End - o.Start; t.B != nil && o == t.B.Op && wait > 20e6 {
			p = p.t(", after a wait of " + phrase.Span(wait))
		}
		if t.Ordered() && o == t.B.Op && t.Violation.Kind == checker.KindGrantedWhileValid && t.Violation.A != nil &&
			t.Violation.A.Promise > o.End {
			p = p.t(fmt.Sprintf(", though %s was promised it for another %s", r.Client(t.A.Client),
				phrase.Span(t.Violation.A.Promise-o.End)))
			m.Tone, m.Arrow.Tone = bad, bad
		}
		p = p.t(".")
	case o.Busy:
		p = p.t(" tries to acquire ").code(key).t(modeWords(o) +
			fmt.Sprintf(" for %s and is told that another client has %s.", phrase.Span(o.End-o.Start), askedKeys(o)))
		m.Arrow.Label, m.Tone = "acquire "+key+" → busy", bad
	case o.Outcome == history.Fail:
		p = p.t(" does not get ").code(key).t(modeWords(o) + ": " + because(o))
		m.Arrow.Label = "acquire " + key + " → failed"
	default:
		p = p.t(" asks for ").code(key).t(modeWords(o) + " and never learns whether it got it" + because(o))
		m.Arrow.Label = "acquire " + key + " → no answer"
	}
	m.Text = p
	return m
}

// modeWords says as what an acquire of a reader-writer lock asked for the key, or that
// one acquire asked for several keys; "" of other acquires.
func modeWords(o *history.Op) string {
	if o.Set != 0 {
		return " together with other keys"
	}
	switch o.Mode {
	case history.ModeRead:
		return " as a reader"
	case history.ModeWrite:
		return " as a writer"
	}
	return ""
}

// askedKeys names what an acquire asks for.
func askedKeys(o *history.Op) string {
	if o.Set != 0 {
		return "one of them"
	}
	return "it"
}

// goodFor says what the lock promised with the grant, by its claims.
func goodFor(r *reports.Record, o *history.Op) string {
	h := r.History.Header
	switch {
	case h.Claims.NoExpiry:
		return ", without an expiry"
	case h.Claims.Validity == "library" && o.HasValidFor:
		return ", good for " + phrase.Span(o.ValidFor)
	case h.Claims.Validity == "from_invocation" && h.TTL > 0:
		return ", good for " + phrase.Span(h.TTL)
	case h.Claims.Validity == "session" && h.TTL > 0:
		return ", good while its session lives (TTL " + phrase.Span(h.TTL) + ")"
	}
	return ""
}

func sayRead(r *reports.Record, p Prose, o *history.Op) (Prose, *arrow) {
	a := &arrow{To: ToStore, Label: fmt.Sprintf("read → v%d", o.Version)}
	switch o.Outcome {
	case history.OK:
		if o.Slow() {
			return p.t(fmt.Sprintf(" is answered, %s after it asked: version %s.", phrase.Span(o.End-o.Start),
				phrase.Grouped(o.Version))), a
		}
		return p.t(fmt.Sprintf(" reads version %s.", phrase.Grouped(o.Version))), a
	case history.Fail:
		a.Label = "read → refused"
		if o.Declined {
			return p.t(" knows that its hold is lost, and does not read."), nil
		}
		return p.t(" is not allowed to read" + because(o)), a
	}
	a.Label = "read → no answer"
	return p.t(" reads, and gets no answer" + because(o)), a
}

func sayRelease(r *reports.Record, t *Story, p Prose, o *history.Op) (Prose, *arrow) {
	key := r.Key(o.Key)
	a := &arrow{To: toService, Label: "release " + key + " → ok"}
	switch {
	case o.Outcome == history.OK && t.Ordered() && o.Grant == t.A.ID && o.Start > t.B.End:
		return p.t(" releases ").code(key).t(". The answer is ok, though the key is no longer its own."), a
	case o.Outcome == history.OK:
		return p.t(" releases ").code(key).t("."), a
	case o.NotHeld:
		a.Label = "release → not held"
		return p.t(" releases ").code(key).t(" and is told that it no longer holds it."), a
	case o.Outcome == history.Fail && o.Declined:
		return p.t(" does not release what it knows to be lost."), nil
	}
	a.Label = "release " + key + " → unknown"
	return p.t(" releases ").code(key).t(" and never learns whether that worked" + because(o)), a
}

func sayAsk(r *reports.Record, p Prose, o *history.Op) (Prose, *arrow) {
	// so package audit puts down what is an act, and nothing else is known of it
	if r.History.Header.Translated && o.Outcome == history.Fail && !o.NotHeld {
		return p.t(" takes itself for the holder of ").code(r.Key(o.Key)).t("."), nil
	}
	verb, ask := " asks the lock whether it still holds ", "held?"
	if o.Kind == history.Renew {
		verb, ask = " renews its grant of ", "renew"
	}
	p = p.t(verb).code(r.Key(o.Key))
	a := &arrow{To: toService, Label: ask + " → no answer"}
	switch {
	case o.Outcome == history.OK:
		a.Label = ask + " → yes"
		return p.t(": yes."), a
	case o.NotHeld:
		a.Label = ask + " → not held"
		return p.t(": no."), a
	}
	return p.t(", and gets no clear answer" + because(o)), a
}

// because appends what a program gave as its reason.
func because(o *history.Op) string {
	if o.Text == "" {
		return "."
	}
	return " (" + phrase.Clip(phrase.FirstLine(o.Text), 200) + ")."
}
