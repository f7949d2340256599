package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// explained is one violation told in full: in sentences, and fact by fact.
type explained struct {
	Text  prose
	Facts []fact
}

type fact struct {
	Name string
	Text prose
}

// explain tells a violation in full; r is nil where there is no history.
func (s Scenario) explain(r *record, v *checker.Violation) explained {
	e := explained{Text: prose{}.t(sentence(clip(v.Text, 500)))}
	if r != nil && v.Property == checker.LostUpdate {
		e.Text = e.Text.t(r.blameless(v))
	}
	add := func(name string, text prose) {
		if len(text) > 0 {
			e.Facts = append(e.Facts, fact{name, text})
		}
	}
	add("when", s.when(v))
	if v.Pattern != "" {
		add("pattern", prose{}.b(clip(v.Pattern, clipName)))
	}
	if v.Kind != "" {
		add("kind", wordFact(clip(v.Kind, clipName), kindWords(v.Kind)))
	}
	if v.A != nil && v.B != nil {
		earlier, later := "earlier grant", "later grant"
		if v.Unordered {
			earlier, later = "one grant", "the other"
		}
		add(earlier, s.grantFact(v.A))
		add(later, s.grantFact(v.B))
	} else if g := eitherGrant(v.A, v.B); g != nil {
		add("grant", s.grantFact(g))
	}
	if r != nil {
		add("faults", r.faultFacts(v))
		add("the store", r.storeFacts(v))
	}
	add("severity", wordFact(severityWord(v.Severity), s.severityMeans(v.Severity)))
	if r != nil {
		add("ops", r.opFacts(v.Ops))
	}
	return e
}

func eitherGrant(a, b *checker.GrantRef) *checker.GrantRef {
	if a != nil {
		return a
	}
	return b
}

// wordFact is a word with what it means.
func wordFact(word, means string) prose {
	if word == "" {
		return nil
	}
	p := prose{}.b(word)
	if means != "" {
		p = p.t(": " + means)
	}
	return p
}

// when is the instant of a violation, or its span.
func (s Scenario) when(v *checker.Violation) prose {
	said := s.voice()
	if from, to, ok := overlap(v); ok {
		return prose{}.t(fmt.Sprintf("from %s to %s, for %s", said.at(from), said.at(to), span(to-from)))
	}
	return prose{}.t("at " + said.at(v.At))
}

// voice says what clients and instants are called.
func (s Scenario) voice() voice {
	if s.History == nil {
		return voice{}
	}
	return voiceOf(&s.History.Header)
}

// grantFact says what is known of a grant.
func (s Scenario) grantFact(g *checker.GrantRef) prose {
	said := s.voice()
	p := prose{}.b(said.client(g.Client)).t(", ").grant(g.Grant, g.Token).t(fmt.Sprintf(", granted at %s", said.at(g.Acquired)))
	switch session := s.History != nil && s.History.Header.Claims.Validity == "session"; {
	case g.Promise > 0:
		p = p.t(fmt.Sprintf("; its lease ran to %s", said.at(g.Promise)))
	case session && s.History.Header.TTL > 0:
		p = p.t(fmt.Sprintf("; good while its session lived (TTL %s)", span(s.History.Header.TTL)))
	}
	if g.LastAct == 0 {
		return p.t("; it never acted under it")
	}
	return p.t(fmt.Sprintf("; it last acted at %s", said.at(g.LastAct)))
}

// severityMeans says what a severity means.
func (s Scenario) severityMeans(v checker.Severity) string {
	switch v {
	case checker.Corrupting:
		return "the store took a write that it should not have, or an update was lost"
	case checker.Contained:
		return "the fence refused what came too late, and the data is whole"
	case checker.Untested:
		if !s.knowsWrites() {
			return "the history does not tell what reached the store"
		}
		return "nothing stale reached the store, so nothing shows whether it would have been refused"
	}
	return ""
}

// The most faults and ops that an explanation names.
const (
	explainedFaults = 3
	explainedOps    = 8
)

// faultFacts are the faults that cover a violation, the injected ones first, with their proofs.
func (r *record) faultFacts(v *checker.Violation) (p prose) {
	var all []*fault
	for _, f := range r.faults {
		if slices.Contains(v.Faults, f.ID) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b *fault) int {
		switch {
		case a.Injected == b.Injected:
			return cmp.Compare(b.To-b.From, a.To-a.From)
		case a.Injected:
			return -1
		}
		return 1
	})
	for i, f := range all[:min(len(all), explainedFaults)] {
		if i > 0 {
			p = p.t("; ")
		}
		who, many := f.who()
		verb := " was "
		if many {
			verb = " were "
		}
		p = p.b(who + verb + f.did()).t(fmt.Sprintf(" from %s to %s", at(f.From), at(f.To)))
		if f.Evidence != "" {
			p = p.t(" (" + clip(firstLine(f.Evidence), 160) + ")")
		}
	}
	switch more := len(all) - explainedFaults; {
	case len(all) == 0 && r.h.Header.Translated:
		return prose{}.t("the history tells of none")
	case len(all) == 0:
		return prose{}.t("none touched either client or the lock service meanwhile")
	case more > 0:
		p = p.t("; and " + plural(more, "more"))
	}
	return p
}

// storeFacts say what the store did with the ops of a violation.
func (r *record) storeFacts(v *checker.Violation) (p prose) {
	for _, id := range v.Ops {
		o := r.ops[id]
		if o == nil || o.kind != history.Write || !o.inLedger {
			continue
		}
		if len(p) > 0 {
			p = p.t("; ")
		}
		name := r.client(o.client)
		switch {
		case o.refused:
			p = p.b("refused").t(" " + name + "'s write")
			if g := r.fenceBefore(o); g != nil && g.token > o.token {
				p = p.t(", having seen ").grant(g.id, g.token)
			}
		case o.conflict:
			p = p.t("did not take " + name + "'s write, since it had another version")
		default:
			p = p.t(fmt.Sprintf("took %s's version %s", name, grouped(o.version)))
			if r.harmful(o) {
				p = p.t(", ").b("which it should not have")
			}
		}
		p = p.t(" at " + r.at(o.decided))
	}
	return p
}

// opFacts name the ops that prove a violation, as they are numbered in the history.
func (r *record) opFacts(ids []int64) (p prose) {
	ids = slices.DeleteFunc(slices.Clone(ids), r.isUnsaid)
	for i, id := range ids[:min(len(ids), explainedOps)] {
		if i > 0 {
			p = p.t(", ")
		}
		p = p.code(itoa(id))
		if o := r.ops[id]; o != nil {
			p = p.t(fmt.Sprintf(" %s (%s)", strings.ToLower(o.kind.String()), r.client(o.client)))
		}
	}
	return p
}
