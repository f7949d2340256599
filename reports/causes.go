package reports

import (
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Amount is how often something happened, counted by cause: a holder that outlives
// its lease is one overrun, however many later grants it overlaps. With least it
// may have happened more often, since the verdict does not keep all violations.
type Amount struct {
	N     int
	Least bool
}

// Of writes the amount with its noun.
func (a Amount) Of(noun string) string { return a.Bound() + phrase.Plural(a.N, noun) }

// Times writes how often it happened.
func (a Amount) Times() string { return a.Bound() + phrase.Times(a.N) }

// Short writes the number alone.
func (a Amount) Short() string {
	if a.Least {
		return "≥ " + phrase.Grouped(a.N)
	}
	return phrase.Grouped(a.N)
}

func (a Amount) Bound() string {
	if a.Least {
		return "at least "
	}
	return ""
}

// Caused counts what brought those violations of a property about that only
// accepts; all is how many of them there are.
func Caused(p *checker.PropertyResult, all int, only func(*checker.Violation) bool) Amount {
	kept := 0
	for i := range p.Violations {
		if only(&p.Violations[i]) {
			kept++
		}
	}
	a := Amount{N: p.Causes(only), Least: kept < all}
	if all > 0 {
		a.N = max(a.N, 1)
	}
	return a
}

// Causes counts the causes of all violations of a property; none where it is not violated.
func (s Scenario) Causes(name string) (sum Amount) {
	p := s.Property(name)
	if p == nil || p.Outcome != checker.Violated {
		return Amount{}
	}
	if name != checker.MutualExclusion {
		return Caused(p, p.Count, func(*checker.Violation) bool { return true })
	}
	for _, k := range s.HoldKinds() {
		sum.N, sum.Least = sum.N+k.N, sum.Least || k.Least
	}
	return sum
}

// HoldKinds counts the double-holds by kind, the defects first.
func (s Scenario) HoldKinds() (all []Defect) {
	p := s.Property(checker.MutualExclusion)
	if p == nil {
		return nil
	}
	for _, kind := range []string{checker.KindGrantedWhileValid, checker.KindSameIdentity, checker.KindGrantedDead, checker.KindLateNotice,
		checker.KindLossIgnored, checker.KindConfiguredIdentity, checker.KindUnexplained, checker.KindLeaseOverrun} {
		n := p.CountOfKind(kind)
		if n == 0 {
			continue
		}
		a := Caused(p, n, func(v *checker.Violation) bool { return v.Kind == kind })
		if f := s.Noted(); f.Exact && n == p.Count && (kind == checker.KindGrantedDead || kind == checker.KindLateNotice ||
			kind == checker.KindLossIgnored || kind == checker.KindUnexplained || kind == checker.KindLeaseOverrun) {
			a = Amount{N: f.Holders}
		}
		all = append(all, Defect{kind, a})
	}
	return all
}

// OfKind is how many causes there are of the double-holds of a kind.
func (s Scenario) OfKind(kind string) Amount {
	for _, k := range s.HoldKinds() {
		if k.Name == kind {
			return k.Amount
		}
	}
	return Amount{}
}

// Overruns counts the holders that outlived their lease.
func (s Scenario) Overruns() Amount { return s.OfKind(checker.KindLeaseOverrun) }

// Defect is one way in which the lock broke what it claims, or a kind of
// double-holds, and how often it showed.
type Defect struct {
	// Name is the kind, of double-holds or of effects that never came, or the property.
	Name string
	Amount
}

// Defects lists the certain defects of the lock, the worst first.
func (s Scenario) Defects() (all []Defect) {
	for _, p := range s.Verdict.InOrderOfBlame() {
		if p.Blame() != checker.Defect {
			continue
		}
		if p.Name != checker.MutualExclusion {
			name := phrase.Clip(p.Name, phrase.MostName)
			if p.CountOfKind(checker.KindEffectLost) == p.Count {
				name = checker.KindEffectLost // its property's words are of ticks that were executed twice
			}
			all = append(all, Defect{name, s.Causes(p.Name)})
			continue
		}
		for _, k := range s.HoldKinds() {
			if (&checker.Violation{Property: p.Name, Kind: k.Name}).Blame() == checker.Defect {
				all = append(all, k)
			}
		}
	}
	return all
}

// defectWords tell a defect that has no sentence among the words of its property.
var defectWords = map[string]string{
	checker.KindGrantedWhileValid: "the lock gave a key away while it was promised to another client",
	checker.KindEffectLost:        "effects of ticks never came",
	checker.KindSameIdentity:      "the lock took a client for another one of the same identity",
	checker.KindGrantedDead:       "the lock granted a key with a lease that was over already",
	checker.KindLateNotice:        "the lock told its client of a loss too late",
	checker.KindLossIgnored:       "the application was told that it had lost the key, and went on",
	checker.TokenOrder:            "the fencing tokens did not rise with the grants",
}

// String tells the defect and how often it showed: "the lock confirmed holds
// that it had given away (31 times)".
func (d Defect) String() string {
	switch once := checker.Named(d.Name).Words.Once; {
	case d.N != 1 || d.Least:
		return d.Words() + " (" + d.Times() + ")"
	case once != "":
		return phrase.Lowered(once)
	}
	return d.Words()
}

// Words tell the defect.
func (d Defect) Words() string {
	text := checker.Named(d.Name).Words
	switch {
	case defectWords[d.Name] != "":
		return defectWords[d.Name]
	case text.More != "":
		return phrase.Lowered(text.More)
	}
	return d.Name + " was violated"
}

// figuresOfHolds are what a cell says of two holders and of defects: "1 defect", "5 overruns".
func (s Scenario) figuresOfHolds() (out []string) {
	if all := s.Defects(); len(all) > 0 {
		out = append(out, phrase.Plural(len(all), "defect"))
	}
	if n := s.Overruns(); n.N > 0 {
		out = append(out, n.Of("overrun"))
	}
	for _, kind := range []string{checker.KindConfiguredIdentity, checker.KindUnexplained} {
		if n := s.OfKind(kind); n.N > 0 {
			out = append(out, n.Of("double-hold"))
		}
	}
	return out
}

// kindNotes say what the kinds of double-holds mean, in brief.
var kindNotes = map[string]string{
	checker.KindGrantedWhileValid:  ", a defect of the lock",
	checker.KindSameIdentity:       ", a defect of the lock",
	checker.KindConfiguredIdentity: ", the doing of those who gave two clients one name",
	checker.KindGrantedDead:        ", a defect of the lock",
	checker.KindLateNotice:         ", a defect of the lock",
	checker.KindLossIgnored:        ", a defect of the application",
	checker.KindLeaseOverrun:       ", which no lease prevents",
}

// Times says how often a property was violated, counted by cause: "3 times", "6 times (1
// granted-while-valid, a defect of the lock; 5 lease-overrun, which no lease prevents)".
func (s Scenario) Times(name string) string {
	kinds := s.HoldKinds()
	text := s.Causes(name).Times()
	if name != checker.MutualExclusion || len(kinds) == 0 {
		return text
	}
	var parts []string
	for _, k := range kinds {
		part := k.Name + kindNotes[k.Name]
		if len(kinds) > 1 {
			part = k.Bound() + phrase.Grouped(k.N) + " " + part
		}
		parts = append(parts, part)
	}
	return text + " (" + strings.Join(parts, "; ") + ")"
}

// harmed says what was corrupted, in the words of a cell.
func (s Scenario) harmed() string {
	switch lost := LostIncrements(s.Noted().Counters); {
	case TimesRepeated(s) != "":
		return strings.NewReplacer(" was ", " ", " were ", " ").Replace(TimesRepeated(s))
	case s.Verdict.Stats.Stale > 0:
		return phrase.Plural(s.Verdict.Stats.Stale, "stale write")
	case lost > 0:
		return phrase.Plural(lost, "increment") + " lost"
	}
	for _, name := range []string{checker.LostUpdate, checker.OncePerTick, checker.Overlap} {
		if n := s.Causes(name); n.N > 0 {
			return n.Of(checker.Named(name).Words.Violation)
		}
	}
	return s.Causes(checker.LostUpdate).Of("lost update")
}
