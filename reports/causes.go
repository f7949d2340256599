package reports

import (
	"strings"

	"github.com/lockchaos/lockchaos/checker"
)

// amount is how often something happened, counted by cause: a holder that outlives its lease is one overrun, however many later grants
// it overlaps. With least it may have happened more often, since the verdict does not keep all violations.
type amount struct {
	n     int
	least bool
}

// of writes the amount with its noun.
func (a amount) of(noun string) string { return a.bound() + plural(a.n, noun) }

// times writes how often it happened.
func (a amount) times() string { return a.bound() + times(a.n) }

// short writes the number alone.
func (a amount) short() string {
	if a.least {
		return "≥ " + grouped(a.n)
	}
	return grouped(a.n)
}

func (a amount) bound() string {
	if a.least {
		return "at least "
	}
	return ""
}

// caused counts what brought those violations of a property about that only accepts; all is how many of them there are.
func caused(p *checker.PropertyResult, all int, only func(*checker.Violation) bool) amount {
	kept := 0
	for i := range p.Violations {
		if only(&p.Violations[i]) {
			kept++
		}
	}
	a := amount{n: p.Causes(only), least: kept < all}
	if all > 0 {
		a.n = max(a.n, 1)
	}
	return a
}

// causes counts the causes of all violations of a property; none where it is not violated.
func (s Scenario) causes(name string) (sum amount) {
	p := s.property(name)
	if p == nil || p.Outcome != checker.Violated {
		return amount{}
	}
	if name != checker.MutualExclusion {
		return caused(p, p.Count, func(*checker.Violation) bool { return true })
	}
	for _, k := range s.holdKinds() {
		sum.n, sum.least = sum.n+k.n, sum.least || k.least
	}
	return sum
}

// holdKinds counts the double-holds by kind, the defects first.
func (s Scenario) holdKinds() (all []defect) {
	p := s.property(checker.MutualExclusion)
	if p == nil {
		return nil
	}
	for _, kind := range []string{checker.KindGrantedWhileValid, checker.KindGrantedDead, checker.KindLateNotice, checker.KindUnexplained, checker.KindLeaseOverrun} {
		n := p.CountOfKind(kind)
		if n == 0 {
			continue
		}
		a := caused(p, n, func(v *checker.Violation) bool { return v.Kind == kind })
		if f := s.noted(); f.exact && n == p.Count && kind != checker.KindGrantedWhileValid {
			a = amount{n: f.holders}
		}
		all = append(all, defect{kind, a})
	}
	return all
}

// ofKind is how many causes there are of the double-holds of a kind.
func (s Scenario) ofKind(kind string) amount {
	for _, k := range s.holdKinds() {
		if k.name == kind {
			return k.amount
		}
	}
	return amount{}
}

// overruns counts the holders that outlived their lease.
func (s Scenario) overruns() amount { return s.ofKind(checker.KindLeaseOverrun) }

// defect is one way in which the lock broke what it claims, or a kind of double-holds, and how often it showed.
type defect struct {
	// name is the kind of the double-holds, or the property.
	name string
	amount
}

// defects lists the certain defects of the lock, the worst first.
func (s Scenario) defects() (all []defect) {
	for _, p := range s.Verdict.InOrderOfBlame() {
		if p.Blame() != checker.Defect {
			continue
		}
		if p.Name != checker.MutualExclusion {
			all = append(all, defect{clip(p.Name, clipName), s.causes(p.Name)})
			continue
		}
		for _, k := range s.holdKinds() {
			if (&checker.Violation{Property: p.Name, Kind: k.name}).Blame() == checker.Defect {
				all = append(all, k)
			}
		}
	}
	return all
}

// defectWords tell a defect that has no sentence among the words of its property.
var defectWords = map[string]string{
	checker.KindGrantedWhileValid: "the lock gave a key away while it was promised to another client",
	checker.KindGrantedDead:       "the lock granted a key with a lease that was over already",
	checker.KindLateNotice:        "the lock told its client of a loss too late",
	checker.TokenOrder:            "the fencing tokens did not rise with the grants",
}

// String tells the defect and how often it showed: "the lock confirmed holds that it had given away (31 times)".
func (d defect) String() string {
	switch once := checker.Named(d.name).Words.Once; {
	case d.n != 1 || d.least:
		return d.words() + " (" + d.times() + ")"
	case once != "":
		return lowered(once)
	}
	return d.words()
}

// words tell the defect.
func (d defect) words() string {
	text := checker.Named(d.name).Words
	switch {
	case defectWords[d.name] != "":
		return defectWords[d.name]
	case text.More != "":
		return lowered(text.More)
	}
	return d.name + " was violated"
}

// tellDefects tells all defects as the beginning of a headline: "2 defects: … and …".
func tellDefects(all []defect) string {
	var words []string
	for _, d := range all {
		words = append(words, d.String())
	}
	return plural(len(all), "defect") + ": " + list(words)
}

// figuresOfHolds are what a cell says of two holders and of defects: "1 defect", "5 overruns".
func (s Scenario) figuresOfHolds() (out []string) {
	if all := s.defects(); len(all) > 0 {
		out = append(out, plural(len(all), "defect"))
	}
	if n := s.overruns(); n.n > 0 {
		out = append(out, n.of("overrun"))
	}
	if n := s.ofKind(checker.KindUnexplained); n.n > 0 {
		out = append(out, n.of("double-hold"))
	}
	return out
}

// besideDefects tells what else there was of two holders, after the defects.
func (s Scenario) besideDefects() string {
	text := besideOverruns(s.overruns())
	if n := s.ofKind(checker.KindUnexplained); n.n > 0 {
		text += "; and " + n.of("double-hold") + " that the history does not explain"
	}
	return text
}

// besideOverruns tells of overruns after defects; "" where there are none.
func besideOverruns(over amount) string {
	if over.n == 0 {
		return ""
	}
	return "; and " + over.of("overrun") + ", which no lease prevents"
}

// causeDetails says how many violations verdict.json has for the causes of a property; empty where each is its own cause.
func (s Scenario) causeDetails(p *checker.PropertyResult) string {
	n := s.causes(p.Name)
	switch p.Name {
	case checker.MutualExclusion:
		return sentence(strings.Join(s.holdDetails(p), "; "))
	case checker.Continuity:
		return sentence(n.of("grant") + " confirmed too late, and one violation for each later grant by then: " + grouped(p.Count))
	case checker.LostUpdate:
		return sentence(n.of("hold") + " brought this about, in " + plural(p.Count, "write") + " over an unread version")
	}
	return ""
}

// holdDetails says of each kind of double-holds how many causes there are, and how many pairs of grants they make.
func (s Scenario) holdDetails(p *checker.PropertyResult) (all []string) {
	for _, k := range s.holdKinds() {
		all = append(all, k.name+": "+k.of("grant")+", in "+plural(p.CountOfKind(k.name), "pair")+" of grants")
	}
	return all
}

// kindNotes say what the kinds of double-holds mean, in brief.
var kindNotes = map[string]string{
	checker.KindGrantedWhileValid: ", a defect of the lock",
	checker.KindGrantedDead:       ", a defect of the lock",
	checker.KindLateNotice:        ", a defect of the lock",
	checker.KindLeaseOverrun:      ", which no lease prevents",
}

// Times says how often a property was violated, counted by cause: "3 times", "6 times (1 granted-while-valid, a defect of the lock;
// 5 lease-overrun, which no lease prevents)".
func (s Scenario) Times(name string) string {
	kinds := s.holdKinds()
	text := s.causes(name).times()
	if name != checker.MutualExclusion || len(kinds) == 0 {
		return text
	}
	var parts []string
	for _, k := range kinds {
		part := k.name + kindNotes[k.name]
		if len(kinds) > 1 {
			part = k.bound() + grouped(k.n) + " " + part
		}
		parts = append(parts, part)
	}
	return text + " (" + strings.Join(parts, "; ") + ")"
}

// harm says what became of the data, in the words of a headline: what was corrupted, or what a fence refused.
func (s Scenario) harm() string {
	st, counters := s.Verdict.Stats, s.noted().counters
	switch {
	case s.Result() == Contained && len(counters) > 0:
		return "the fence refused " + plural(st.Refused, "stale write") + ": " + damage(counters)
	case s.Result() == Contained:
		return "the fence refused " + plural(st.Refused, "stale write") + ": the data is whole"
	case repeated(s) != "":
		return repeated(s)
	case st.Stale > 0:
		return "the store took " + s.staleWrites()
	case lostIncrements(counters) > 0:
		return damage(counters)
	}
	return were(int64(s.causes(checker.LostUpdate).n), "update") + " lost"
}

// harmed says what was corrupted, in the words of a cell.
func (s Scenario) harmed() string {
	switch lost := lostIncrements(s.noted().counters); {
	case repeated(s) != "":
		return strings.NewReplacer(" was ", " ", " were ", " ").Replace(repeated(s))
	case s.Verdict.Stats.Stale > 0:
		return plural(s.Verdict.Stats.Stale, "stale write")
	case lost > 0:
		return plural(lost, "increment") + " lost"
	}
	return s.causes(checker.LostUpdate).of("lost update")
}
