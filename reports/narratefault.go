package reports

import "github.com/lockchaos/lockchaos/history"

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
	if t.rivals() && t.a.client == m.who && t.a.last > f.To && t.b.end < f.To {
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
	if t.v.A == nil || !t.rivals() || t.v.A.Promise <= t.a.end || t.v.A.Promise > t.b.end {
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
	p := prose{}.t("The lock tells ").b(client(g.client)).t(" that its hold is lost")
	if e.Text != "" {
		p = p.t(" (" + clip(firstLine(e.Text), 200) + ")")
	}
	return moment{At: when, who: g.client, Text: p.t("."), arrow: &arrow{to: toService, label: "lost-event", back: true}}
}
