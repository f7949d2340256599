package story

import (
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

func sayFreeze(r *reports.Record, t *Story, m Moment) Moment {
	m.Who = client(m.Freeze)
	m.Text = begins(m.Freeze).t(proof(m.Freeze))
	return m
}

// sayBeside tells a fault that lay on the service, or on links to the store,
// while the story went on.
func sayBeside(r *reports.Record, m Moment) Moment {
	f := m.beside
	m.Text = begins(f).t(proof(f) + " It lasts " + phrase.Span(f.To-f.From) + ".")
	return m
}

// proof repeats the evidence.
func proof(f *history.FaultSpan) string {
	if f.Evidence == "" {
		return ""
	}
	text := phrase.Cut(f.Evidence, MostProof)
	// not in the middle of a word; the table of faults has it whole
	if part, cutOff := strings.CutSuffix(text, "…"); cutOff {
		if i := strings.LastIndexAny(part, " "); i > 0 {
			text = strings.TrimRight(part[:i], " ,;:") + " …"
		}
	}
	return " Proof: " + phrase.Stop(text)
}

func sayThaw(r *reports.Record, t *Story, m Moment) Moment {
	f := m.Thaw
	m.Who = client(f)
	p := ends(f)
	g, other := t.A, t.B
	if t.Violation.Unordered && g != nil && g.Client != m.Who {
		g, other = other, g
	}
	if t.Rivals() && g.Client == m.Who && g.LastAct > f.To && other.End < f.To {
		p, m.Tone = p.t(" and goes on as the holder of ").code(t.Key), bad
		if other.LastAct > f.To {
			p = p.t(". Now there are two")
		}
	}
	m.Text = p.t(".")
	return m
}

// sayExpiry tells the end of A's promise, when it came before B was granted.
// The end of a session is the service's affair, and not in the history.
func sayExpiry(r *reports.Record, t *Story) (Moment, bool) {
	if t.Violation.A == nil || !t.Ordered() || t.Violation.A.Promise <= t.A.End || t.Violation.A.Promise > t.B.End {
		return Moment{}, false
	}
	if r.History.Header.Claims.Validity == "session" {
		return Moment{}, false
	}
	promised := "TTL"
	if r.History.Header.Claims.Validity == "library" {
		promised = "the validity it was told"
	}
	p := Prose{}.t("By the client's own reckoning (start of its attempt + " + promised +
		" − 2 ms) the lease of ").grant(reports.NameOf(t.A)).t(" is over.")
	return Moment{At: t.Violation.A.Promise, Text: p, Arrow: &arrow{To: AtService, Label: "lease over"}}, true
}

func sayLost(r *reports.Record, g *history.Grant, e history.Event) Moment {
	when := e.Start
	if when == 0 {
		when = e.Time
	}
	p := Prose{}.t("The lock tells ").b(r.Client(g.Client)).t(" that its hold is lost")
	if e.Text != "" {
		p = p.t(" (" + phrase.Clip(phrase.FirstLine(e.Text), 200) + ")")
	}
	return Moment{At: when, Who: g.Client, Text: p.t("."),
		Arrow: &arrow{To: toService, Label: "lost-event", Back: true}}
}
