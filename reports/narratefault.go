package reports

import (
	"strings"

	"github.com/lockchaos/lockchaos/history"
)

func (r *record) sayFreeze(t *story, m moment) moment {
	m.who = m.freeze.client()
	m.Text = m.freeze.begins().t(m.freeze.proof())
	return m
}

// sayBeside tells a fault that lay on the service, or on links to the store, while the story went on.
func (r *record) sayBeside(m moment) moment {
	f := m.beside
	m.Text = f.begins().t(f.proof() + " It lasts " + span(f.To-f.From) + ".")
	return m
}

// proof repeats the evidence.
func (f *fault) proof() string {
	if f.Evidence == "" {
		return ""
	}
	text := cut(f.Evidence, clipFirst)
	if part, cutOff := strings.CutSuffix(text, "…"); cutOff { // not in the middle of a word; the table of faults has it whole
		if i := strings.LastIndexAny(part, " "); i > 0 {
			text = strings.TrimRight(part[:i], " ,;:") + " …"
		}
	}
	return " Proof: " + stop(text)
}

func (r *record) sayThaw(t *story, m moment) moment {
	f := m.thaw
	m.who = f.client()
	p := f.ends()
	g, other := t.a, t.b
	if t.v.Unordered && g != nil && g.client != m.who {
		g, other = other, g
	}
	if t.rivals() && g.client == m.who && g.last > f.To && other.end < f.To {
		p, m.Tone = p.t(" and goes on as the holder of ").code(t.key), bad
		if other.last > f.To {
			p = p.t(". Now there are two")
		}
	}
	m.Text = p.t(".")
	return m
}

// sayExpiry tells the end of A's promise, when it came before B was granted. The end of a session is the service's affair,
// and not in the history.
func (r *record) sayExpiry(t *story) (moment, bool) {
	if t.v.A == nil || !t.ordered() || t.v.A.Promise <= t.a.end || t.v.A.Promise > t.b.end {
		return moment{}, false
	}
	if r.h.Header.Claims.Validity == "session" {
		return moment{}, false
	}
	promised := "TTL"
	if r.h.Header.Claims.Validity == "library" {
		promised = "the validity it was told"
	}
	p := prose{}.t("By the client's own reckoning (start of its attempt + "+promised+" − 2 ms) the lease of ").grant(t.a.id, t.a.token).t(" is over.")
	return moment{At: t.v.A.Promise, Text: p, arrow: &arrow{to: atService, label: "lease over"}}, true
}

func (r *record) sayLost(g *grant, e history.Event) moment {
	when := e.Start
	if when == 0 {
		when = e.Time
	}
	p := prose{}.t("The lock tells ").b(r.client(g.client)).t(" that its hold is lost")
	if e.Text != "" {
		p = p.t(" (" + clip(firstLine(e.Text), 200) + ")")
	}
	return moment{At: when, who: g.client, Text: p.t("."), arrow: &arrow{to: toService, label: "lost-event", back: true}}
}
