package reports

import (
	"fmt"

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
func name(p prose, who, last int32) prose {
	if who == last {
		return p.t("It")
	}
	return p.b(client(who))
}

// sayOp tells one op.
func (r *record) sayOp(t *story, m moment, last int32) moment {
	o := m.op
	p := name(nil, o.client, last)
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
	p := prose{}.b(client(o.client))
	m.arrow = &arrow{to: toService, label: "acquire " + key + " → " + grantName(o.id, o.token)}
	switch {
	case o.how == history.OK:
		p = p.t(" acquires ").code(key).t(": ").grant(o.id, o.token)
		p = p.t(r.goodFor(o))
		if wait := o.end - o.start; t.b != nil && o == t.b.op && wait > 20e6 {
			p = p.t(", after a wait of " + span(wait))
		}
		if t.b != nil && o == t.b.op && t.v.Kind == "granted-while-valid" && t.v.A != nil && t.v.A.Promise > o.end {
			p = p.t(fmt.Sprintf(", though %s was promised it for another %s", client(t.a.client), span(t.v.A.Promise-o.end)))
			m.Tone, m.arrow.tone = bad, bad
		}
		p = p.t(".")
	case o.busy:
		p = p.t(" tries to acquire ").code(key).t(fmt.Sprintf(" for %s and is told that another client has it.", span(o.end-o.start)))
		m.arrow.label, m.Tone = "acquire "+key+" → busy", bad
	case o.how == history.Fail:
		p = p.t(" does not get ").code(key).t(": " + because(o))
		m.arrow.label = "acquire " + key + " → failed"
	default:
		p = p.t(" asks for ").code(key).t(" and never learns whether it got it" + because(o))
		m.arrow.label = "acquire " + key + " → no answer"
	}
	m.Text = p
	return m
}

// goodFor says what the lock promised with the grant, by its claims.
func (r *record) goodFor(o *op) string {
	h := r.h.Header
	switch {
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

func (r *record) sayReadWrite(t *story, m moment, read *op, last int32) moment {
	p := name(nil, read.client, last).t(fmt.Sprintf(" reads version %s and", grouped(read.version)))
	m.At = read.start
	return r.sayWrite(t, m, p)
}

func (r *record) sayWrite(t *story, m moment, p prose) moment {
	o := m.op
	tok := ""
	if o.token != 0 {
		tok = fmt.Sprintf(" · #%d", o.token)
	}
	m.arrow = &arrow{to: toStore, label: fmt.Sprintf("write v%d%s → ok", o.version, tok)}
	switch {
	case o.declined:
		m.Text, m.arrow, m.Tone = p.t(" knows by now that its hold is lost, and does not write."), nil, good
	case o.refused:
		p = p.t(" sends its write")
		if o.token != 0 {
			p = p.t(" under ").grant(o.grant, o.token)
		}
		p = p.t(". ").b("The store refuses it")
		if g := r.fenceBefore(o); g != nil && g.token > o.token {
			p = p.t(": it has already seen ").grant(g.id, g.token)
		}
		m.Text, m.Tone = p.t("."), good
		m.arrow = &arrow{to: toStore, label: "write" + tok + " (stale) → refused", tone: good}
	case r.harmful(o):
		p = p.t(fmt.Sprintf(" writes version %s under ", grouped(o.version))).grant(o.grant, o.token).t(". ").b("The store takes it")
		m.Text, m.Tone = r.sayHarm(p, o).t("."), bad
		m.arrow = &arrow{to: toStore, label: fmt.Sprintf("write v%d%s%s → ok", o.version, tok, r.staleWord(o)), tone: bad}
	case o.accepted():
		m.Text = p.t(fmt.Sprintf(" writes version %s. The store takes it.", grouped(o.version)))
	case o.how == history.Fail:
		m.Text = p.t(" fails to write" + because(o))
		m.arrow.label = "write → failed"
	default:
		m.Text = p.t(" writes, and gets no answer" + because(o))
		m.arrow.label = "write" + tok + " → no answer"
	}
	return m
}

func (r *record) staleWord(o *op) string {
	if r.stale[o.id] {
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

// sayHarm says what the stale write did: whose version it replaced, and on what it was based.
func (r *record) sayHarm(p prose, o *op) prose {
	var replaced, read *op
	for _, w := range r.ledger {
		if w.key == o.key && w.version == o.replaced && w.accepted() {
			replaced = w
		}
	}
	if g := r.byGrant[o.grant]; g != nil {
		for _, x := range g.ops {
			if x.kind == history.Read && x.how == history.OK && x.start < o.start {
				read = x
			}
		}
	}
	if replaced == nil || replaced.client == o.client {
		return p
	}
	if read != nil && read.version < o.replaced {
		return p.t(fmt.Sprintf(", though it is based on version %s: ", grouped(read.version))).
			b(fmt.Sprintf("%s's version %s is lost", client(replaced.client), grouped(replaced.version)))
	}
	return p.t(fmt.Sprintf(" behind %s's version %s", client(replaced.client), grouped(replaced.version)))
}

func (r *record) sayRelease(t *story, p prose, o *op) (prose, *arrow) {
	key := r.key(o.key)
	a := &arrow{to: toService, label: "release " + key + " → ok"}
	switch {
	case o.how == history.OK && t.a != nil && t.b != nil && o.grant == t.a.id && o.start > t.b.end:
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

func (r *record) sayFreeze(t *story, m moment) moment {
	f := m.freeze
	p := prose{}
	switch {
	case f.Kind == "pause" && len(f.Clients) > 0:
		m.who = f.Clients[0]
		p = p.b(client(m.who) + " is frozen").t(", as by a stop-the-world collection.")
	case len(f.Clients) > 0:
		m.who = f.Clients[0]
		p = p.b(client(m.who) + " is " + faultDid(f.Kind, f.Injected)).t(by(f))
	default:
		p = p.b(clip(f.Kind, clipName) + " begins").t(" on " + clip(f.Target, clipName) + by(f))
	}
	if f.Evidence != "" {
		p = p.t(" Proof: " + stop(clip(firstLine(f.Evidence), 200)))
	}
	m.Text = p
	return m
}

// by says that nobody injected what the machine did by itself.
func by(f *fault) string {
	if f.Injected {
		return "."
	}
	return " by the machine itself; nobody injected this."
}

func (r *record) sayThaw(t *story, m moment) moment {
	f := m.thaw
	m.who = 0
	if len(f.Clients) == 0 {
		m.Text = prose{}.b(clip(f.Kind, clipName) + " ends").t(" after " + span(f.To-f.From) + ".")
		return m
	}
	m.who = f.Clients[0]
	p := prose{}
	if f.Kind == "pause" {
		p = p.b(client(m.who) + " wakes up").t(" after " + span(f.To-f.From))
	} else {
		p = p.b(client(m.who) + " goes on").t(" after " + span(f.To-f.From))
	}
	if t.a != nil && t.a.client == m.who && t.a.last > f.To && t.b != nil && t.b.end < f.To {
		p, m.Tone = p.t(" and goes on as the holder of ").code(t.key), bad
		if t.b.last > f.To {
			p = p.t(". Now there are two")
		}
	}
	m.Text = p.t(".")
	return m
}

// sayExpiry tells the end of A's promise, when it came before B was granted. The end of a session is the service's affair,
// and not in the history.
func (r *record) sayExpiry(t *story) (moment, bool) {
	if t.v.A == nil || t.a == nil || t.b == nil || t.v.A.Promise <= t.a.end || t.v.A.Promise > t.b.end {
		return moment{}, false
	}
	if r.h.Header.Claims.Validity == "session" {
		return moment{}, false
	}
	p := prose{}.t("The lease of ").grant(t.a.id, t.a.token).t(" runs out. From now on the service may give ").code(t.key).t(" to another client.")
	return moment{At: t.v.A.Promise, Text: p, arrow: &arrow{to: atService, label: "lease over"}}, true
}

func (r *record) sayLost(g *grant, e history.Event) moment {
	when := e.Start
	if when == 0 {
		when = e.Time
	}
	p := prose{}.t("The lock tells ").b(client(g.client)).t(" that its hold is lost")
	if e.Text != "" {
		p = p.t(" (" + clip(firstLine(e.Text), 200) + ")")
	}
	return moment{At: when, who: g.client, Text: p.t("."), arrow: &arrow{to: toService, label: "lost-event", back: true}}
}
