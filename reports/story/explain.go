package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Explained is one violation told in full: in sentences, and fact by fact.
type Explained struct {
	Text  Prose
	Facts []fact
}

type fact struct {
	Name string
	Text Prose
}

// ExplainViolation tells a violation in full; r is nil where there is no history.
func ExplainViolation(s reports.Scenario, r *reports.Record, v *checker.Violation) Explained {
	e := Explained{Text: Prose{}.t(phrase.Sentence(phrase.Clip(v.Text, 500)))}
	if r != nil && v.Property == checker.LostUpdate {
		e.Text = e.Text.t(Blameless(r, v))
	}
	add := func(name string, text Prose) {
		if len(text) > 0 {
			e.Facts = append(e.Facts, fact{name, text})
		}
	}
	add("when", instantOf(s, v))
	if v.Pattern != "" {
		add("pattern", Prose{}.b(phrase.Clip(v.Pattern, phrase.MostName)))
	}
	if v.Kind != "" {
		add("kind", wordFact(phrase.Clip(v.Kind, phrase.MostName), KindWords(v.Kind)))
	}
	if v.A != nil && v.B != nil {
		earlier, later := "earlier grant", "later grant"
		if v.Unordered {
			earlier, later = "one grant", "the other"
		}
		add(earlier, grantFact(s, v.A))
		add(later, grantFact(s, v.B))
	} else if g := eitherGrant(v.A, v.B); g != nil {
		add("grant", grantFact(s, g))
	}
	if r != nil {
		add("faults", faultFacts(r, v))
		add("the store", storeFacts(r, v))
	}
	add("severity", wordFact(SeverityWord(v.Severity), severityMeans(s, v.Severity)))
	if r != nil {
		add("ops", opFacts(r, v.Ops))
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
func wordFact(word, means string) Prose {
	if word == "" {
		return nil
	}
	p := Prose{}.b(word)
	if means != "" {
		p = p.t(": " + means)
	}
	return p
}

// instantOf is the instant of a violation, or its span.
func instantOf(s reports.Scenario, v *checker.Violation) Prose {
	said := s.Labels()
	if from, to, ok := reports.Overlap(v); ok {
		return Prose{}.t(fmt.Sprintf("from %s to %s, for %s", said.At(from), said.At(to), phrase.Span(to-from)))
	}
	return Prose{}.t("at " + said.At(v.At))
}

// grantFact says what is known of a grant.
func grantFact(s reports.Scenario, g *checker.GrantRef) Prose {
	said := s.Labels()
	p := Prose{}.b(said.Client(g.Client)).t(", ").grant(reports.GrantName(g.Grant, g.Token)).t(
		fmt.Sprintf(", granted at %s", said.At(g.Acquired)))
	switch session := s.History != nil && s.History.Header.Claims.Validity == "session"; {
	case g.Promise > 0:
		p = p.t(fmt.Sprintf("; its lease ran to %s", said.At(g.Promise)))
	case session && s.History.Header.TTL > 0:
		p = p.t(fmt.Sprintf("; good while its session lived (TTL %s)", phrase.Span(s.History.Header.TTL)))
	}
	if g.LastAct == 0 {
		return p.t("; it never acted under it")
	}
	return p.t(fmt.Sprintf("; it last acted at %s", said.At(g.LastAct)))
}

// severityMeans says what a severity means.
func severityMeans(s reports.Scenario, v checker.Severity) string {
	switch v {
	case checker.Corrupting:
		return "the store took a write that it should not have, or an update was lost"
	case checker.Contained:
		return "the fence refused what came too late, and the data is whole"
	case checker.Untested:
		if !knowsWrites(s) {
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
func faultFacts(r *reports.Record, v *checker.Violation) (p Prose) {
	var all []*history.FaultSpan
	for _, f := range r.Faults {
		if slices.Contains(v.Faults, f.ID) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b *history.FaultSpan) int {
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
		who, many := victimName(f)
		verb := " was "
		if many {
			verb = " were "
		}
		p = p.b(who + verb + Did(f)).t(fmt.Sprintf(" from %s to %s", phrase.At(f.From), phrase.At(f.To)))
		if f.Evidence != "" {
			p = p.t(" (" + phrase.Clip(phrase.FirstLine(f.Evidence), 160) + ")")
		}
	}
	switch more := len(all) - explainedFaults; {
	case len(all) == 0 && r.History.Header.Translated:
		return Prose{}.t("the history tells of none")
	case len(all) == 0:
		return Prose{}.t("none touched either client or the lock service meanwhile")
	case more > 0:
		p = p.t("; and " + phrase.Plural(more, "more"))
	}
	return p
}

// storeFacts say what the store did with the ops of a violation.
func storeFacts(r *reports.Record, v *checker.Violation) (p Prose) {
	for _, id := range v.Ops {
		o := r.Op(id)
		if o == nil || o.Kind != history.Write || !o.InLedger {
			continue
		}
		if len(p) > 0 {
			p = p.t("; ")
		}
		name := r.Client(o.Client)
		switch {
		case o.Refused:
			p = p.b("refused").t(" " + name + "'s write")
			if g := r.FenceBefore(o); g != nil && g.Token > o.Token {
				p = p.t(", having seen ").grant(reports.NameOf(g))
			}
		case o.Conflict:
			p = p.t("did not take " + name + "'s write, since it had another version")
		default:
			p = p.t(fmt.Sprintf("took %s's version %s", name, phrase.Grouped(o.Version)))
			if r.Harmful(o) {
				p = p.t(", ").b("which it should not have")
			}
		}
		p = p.t(" at " + r.At(o.Decided))
	}
	return p
}

// opFacts name the ops that prove a violation, as they are numbered in the history.
func opFacts(r *reports.Record, ids []int64) (p Prose) {
	ids = slices.DeleteFunc(slices.Clone(ids), r.IsUnsaid)
	for i, id := range ids[:min(len(ids), explainedOps)] {
		if i > 0 {
			p = p.t(", ")
		}
		p = p.code(phrase.Itoa(id))
		if o := r.Op(id); o != nil {
			p = p.t(fmt.Sprintf(" %s (%s)", strings.ToLower(o.Kind.String()), r.Client(o.Client)))
		}
	}
	return p
}

// KindWords explains what kind of violation it is, for people who know locks but not this program.
func KindWords(kind string) string {
	switch kind {
	case "lease-overrun":
		return "inherent: the lease ran out while its holder could not know it. No lock that expires can prevent this; a fence contains it"
	case "granted-while-valid":
		return "a defect of the lock: it gave the key away while it had promised it to another"
	case checker.KindSameIdentity:
		return "a defect of the lock: it took another client for the holder, by a name that it makes itself"
	case checker.KindConfiguredIdentity:
		return "two clients were given one name, and the lock took one for the other: whoever configured the names must tell them apart"
	case checker.KindReleasedBeforeCommit:
		return "the application's order: it gave the lock back before its transaction was committed. No lock can prevent this"
	case checker.KindGrantedDead:
		return "a defect of the lock: it granted the key when the lease, or the session, of that grant was over already. If the lock says only how long a lease lasts (from_invocation), its user has to look for that"
	case "late-notice":
		return "a defect of the lock: it told its client of the loss later than it says it does"
	case checker.KindLossIgnored:
		return "a defect of the application, or of its adapter: it was told that it had lost the key, and went on as holder"
	case "unexplained":
		return "the history does not show for certain why"
	case "stale":
		return "the write began after the later grant: the client no longer had the lock when it sent it"
	case "ghost":
		return "a client that had been told no occupied the key until it was closed"
	case "asleep":
		return "the key was free and another client got it at once, while one that waited for it slept on"
	case "wedged":
		return "nobody held the key, and nobody who asked for it got it"
	case "never-expired":
		return "the last holder gave nothing back, and the key stayed taken after every client was closed"
	case "shut-out":
		return "one client got nothing but errors any more, while others were granted the key"
	case "in-flight":
		return "the write was sent in time and arrived late: no lock can prevent this, only a fence"
	}
	return jobKindWords[kind]
}

func SeverityWord(v checker.Severity) string {
	switch v {
	case checker.Corrupting:
		return "corrupting"
	case checker.Contained:
		return "contained"
	case checker.Untested:
		return "untested"
	}
	return ""
}

// Blameless says of a lost update that its writer is not at fault, where the history
// shows whose it is: the version that it replaced had been slipped in by a stale write.
func Blameless(r *reports.Record, v *checker.Violation) string {
	for _, id := range v.Ops {
		o := r.Op(id)
		if o == nil || !r.Lossy[id] {
			continue
		}
		if w := r.ReplacedBy(o); rightfulAfter(r, o, w) {
			return fmt.Sprintf(" %s rightly held the lock; the version it replaced had been written behind its back by %s's stale write.",
				r.Subject(o.Client), r.Client(w.Client))
		}
	}
	return ""
}
