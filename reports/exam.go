package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Exam is what an examination was of. Each scenario of its suite is an attack.
type Exam struct {
	Lock string `json:"lock"`
	// Not are the attacks that make no sense against the lock, or can't be made
	// where it was examined.
	Not []NotApplicable `json:"not_applicable,omitempty"`
	// Short: only the most telling attacks were made.
	Short bool `json:"short,omitempty"`
	// Budget is how long the exam was given; 0: any time. Left are the attacks
	// that were not made since they did not fit into it.
	Budget time.Duration `json:"budget_ns,omitempty"`
	Left   []LeftOut     `json:"left_out,omitempty"`
	// Avoids says what the applications of a masked exam do, as Mended.Avoids
	// does; "": they do what the attacks say.
	Avoids string `json:"avoids,omitempty"`
	// Mended is what the lock comes to without the first defect; nil: there is
	// none, or it was not tried.
	Mended *Mended `json:"mended,omitempty"`
	// Complete is what the lock came to under every single fault at every place; nil: that was not
	// tried.
	Complete *ExamComplete `json:"complete,omitempty"`
}

// ExamComplete is what a complete search in virtual time came to, beside the attacks of an exam.
type ExamComplete struct {
	// Told says how much of it was tried, what that came to, and what is bounded.
	Told string `json:"told"`
	// Report is the file of its page.
	Report string `json:"report"`
}

// LeftOut is an attack that makes sense against the lock and was not made, and why.
type LeftOut struct {
	Attack string `json:"attack"`
	Why    string `json:"why"`
}

// LeftByBudget is why an attack was not made that takes so long ("about 2 min").
func LeftByBudget(takes string) string { return "left out by --budget: needs " + takes }

// Leave notes an attack that does not fit into the budget, and how long it takes.
func (e *Exam) Leave(attack, takes string) {
	e.Left = append(e.Left, LeftOut{attack, LeftByBudget(takes)})
}

// ExamOf is the exam of a lock on which some attacks can't be made.
func ExamOf[N ~struct{ Attack, Why, Fix string }](lock string, not []N) *Exam {
	exam := &Exam{Lock: lock}
	for _, n := range not {
		exam.Not = append(exam.Not, NotApplicable(n))
	}
	return exam
}

// NotApplicable is an attack that can't be made on a lock, and why.
type NotApplicable struct {
	Attack string `json:"attack"`
	Why    string `json:"why"`
	// Fix says what to do where the machine lacks something; "": the attack
	// makes no sense against the lock.
	Fix string `json:"fix,omitempty"`
}

// Fate is what an attack came to. The values are in the order in which a reader wants them.
type Fate uint8

// The fates.
const (
	// FellDefect: the lock broke what it claims, for certain.
	FellDefect Fate = iota
	// FellUnclear: a property was violated, and the history does not show whose affair that is.
	FellUnclear
	// FellRelied: what the lock relies on broke, a clock or the memory of its service.
	FellRelied
	// FellInherent: a client came after the end of its lease, which no lock prevents.
	FellInherent
	// NothingFollows: nothing follows from the run.
	NothingFollows
	// NotRun: the attack failed to run or was skipped.
	NotRun
	// Stood: no property was violated.
	Stood
)

var fateNames = [...]string{FellDefect: "fell: a defect", FellUnclear: "fell, and it is not clear why",
	FellRelied:     "fell: what it relies on broke",
	FellInherent:   "fell: inherent",
	NothingFollows: "inconclusive", NotRun: "not run", Stood: "stood"}

// String is the fate in a few words: "stood", "fell: a defect".
func (f Fate) String() string { return fateNames[f] }

// Fails reports whether the lock failed its exam by an attack of the fate.
func (f Fate) Fails() bool { return f == FellDefect || f == FellUnclear }

// Fate is what the attack came to that the scenario made.
func (s Scenario) Fate() Fate {
	switch r := s.Result(); {
	case len(s.Own()) > 0: // for certain, also if the harness failed after it
		return FellDefect
	case r == Failed || r == Skipped:
		return NotRun
	case s.relied():
		return FellRelied
	case slices.ContainsFunc(s.Verdict.Properties, s.unclear):
		return FellUnclear
	case len(s.Defects()) > 0 || s.of(checker.Inherent) || s.of(checker.Harm):
		return FellInherent
	case r == Inconclusive:
		return NothingFollows
	}
	return Stood
}

// Own are the defects that the lock has to answer for itself: theory does not allow them under
// the planned faults. What lets a second holder in comes before the double-holds that come of it.
func (s Scenario) Own() []Defect {
	return causesFirst(slices.DeleteFunc(s.Defects(), func(d Defect) bool {
		return slices.ContainsFunc(s.Expect, func(e Expectation) bool { return e.Property == d.property() && e.Met })
	}))
}

// OwnDefects names the defects that the lock has to answer for itself, those
// first that the others come of: the kind of a double-hold, or the property.
func (s Scenario) OwnDefects() (names []string) {
	for _, d := range s.Own() {
		names = append(names, d.Name)
	}
	return names
}

// DefectWords tells a defect of OwnDefects in words.
func DefectWords(name string) string { return Defect{Name: name}.Words() }

// DefectProperty is the property that a defect of OwnDefects breaks.
func DefectProperty(name string) string { return Defect{Name: name}.property() }

// causesFirst puts a key that was given away, or granted with a lease that was over, and clients
// that were taken for each other, before the double-holds that come of that.
func causesFirst(all []Defect) []Defect {
	slices.SortStableFunc(all, func(a, b Defect) int { return a.rank() - b.rank() })
	return all
}

func (d Defect) rank() int {
	switch d.Name {
	case checker.StolenRelease, checker.DeadGrant, checker.DeadRenewal, checker.KindSameIdentity:
		return 0
	}
	return 1
}

// property is that of the defect.
func (d Defect) property() string {
	for _, name := range checker.Names() {
		if name == d.Name || slices.Contains(checker.Named(name).Kinds, d.Name) {
			return name
		}
	}
	return checker.MutualExclusion // of double-holds of a kind that is not known
}

// relied reports whether something is violated that the planned faults break
// through what the lock relies on.
func (s Scenario) relied() bool {
	return slices.ContainsFunc(s.Defects(), func(d Defect) bool { return slices.Contains(s.Relied, d.property()) })
}

// of reports whether a property of the blame is violated.
func (s Scenario) of(b checker.Blame) bool {
	return slices.ContainsFunc(s.Verdict.Properties, func(p checker.PropertyResult) bool {
		return p.Outcome == checker.Violated && p.CountOf(b) > 0
	})
}

// ByFate are the attacks of a fate.
func (s Suite) ByFate(f Fate) (all []Scenario) {
	for _, x := range s.Scenarios {
		if x.Fate() == f {
			all = append(all, x)
		}
	}
	return all
}

// ExamDefects are the defects that attacks have shown, each once: those first
// that most attacks show. An attack that shows a cause, and the double-holds
// that come of it, counts for the cause alone.
func (s Suite) ExamDefects() (words []string) {
	var all []Defect
	shown := map[string]int{}
	for _, x := range s.ByFate(FellDefect) {
		own := x.Own()
		for _, d := range own {
			if d.rank() == own[0].rank() {
				shown[d.Words()]++
			}
		}
		all = append(all, own...)
	}
	for _, d := range causesFirst(all) {
		if !slices.Contains(words, d.Words()) {
			words = append(words, d.Words())
		}
	}
	slices.SortStableFunc(words, func(a, b string) int { return shown[b] - shown[a] })
	return words
}

// AllDefects are ExamDefects, and behind them those that show only when the first is mended.
func (s Suite) AllDefects() []string {
	words := s.ExamDefects()
	if s.Exam.Mended != nil {
		words = appendNew(words, s.Exam.Mended.stillWords()...)
	}
	return words
}

// ShownBy are the attacks that have shown a defect of ExamDefects.
func (s Suite) ShownBy(defect string) (all []Scenario) {
	for _, x := range s.ByFate(FellDefect) {
		if slices.ContainsFunc(x.Own(), func(d Defect) bool { return d.Words() == defect }) {
			all = append(all, x)
		}
	}
	return all
}

// turnOrder are defects of what a lock says beside its grants: of a token's number,
// of whose turn it was, of how many it woke. No application of an exam goes by
// that, and no other property is judged by a token that has lost its order. So
// what such a run shows beside them, it would have shown without them.
var turnOrder = [...]string{checker.TokenOrder, checker.FIFO, checker.Starvation, checker.Herd}

// HidesBehind reports whether no attack has shown a defect without another one,
// so that nothing shows whether it remains when the other is mended.
func (s Suite) HidesBehind(defect, other string) bool {
	if slices.ContainsFunc(turnOrder[:], func(name string) bool { return DefectWords(name) == other }) {
		return false
	}
	return !slices.ContainsFunc(s.ShownBy(defect), func(x Scenario) bool {
		return !slices.ContainsFunc(x.Own(), func(d Defect) bool { return d.Words() == other })
	})
}

// Withstood counts the faults that are proven to have struck in attacks that the lock stood.
func (s Suite) Withstood() int { return s.bites(Stood) }

// bites counts the faults that are proven to have struck, in attacks of the fate.
func (s Suite) bites(f Fate) (n int) {
	for _, x := range s.ByFate(f) {
		for _, fault := range x.Verdict.Stats.Faults {
			if fault.Injected {
				n += fault.Bit
			}
		}
	}
	return n
}

// CameTo tells the fate of the attack in a sentence: "fell: a defect: …".
func (s Scenario) CameTo() string {
	f := s.Fate()
	if text := s.FateWords(f); text != "" {
		return f.String() + ": " + text
	}
	return f.String()
}

// Account is CameTo with how many answers stayed unknown: an attack in which most did decided
// little.
func (s Scenario) Account() string {
	if unknown := s.Unknown(); unknown != "" {
		return strings.TrimSuffix(s.CameTo(), ".") + "; " + unknown
	}
	return s.CameTo()
}

// Unknown counts the calls of which nobody knows what became of them: "3 of 120 answers unknown".
// It is empty where there are none.
func (s Scenario) Unknown() string {
	st := s.Verdict.Stats
	text := fmt.Sprintf("%s of %s unknown", phrase.Grouped(int(st.Indefinite)), phrase.Plural(int(st.Ops), "answer"))
	switch {
	case st.Indefinite == 0:
		return ""
	case 2*st.Indefinite > st.Ops:
		return text + ", so it decided little"
	}
	return text
}

// FateWords say more of a fate; "": there is no more.
func (s Scenario) FateWords(f Fate) string {
	switch f {
	case FellDefect, FellRelied, FellInherent:
		all := s.Own()
		if f != FellDefect {
			all = s.Defects()
		}
		var words []string
		for _, d := range all {
			words = append(words, d.String())
		}
		if len(words) == 0 {
			return phrase.OneLine(phrase.Clip(s.Detail(), phrase.MostText)) + s.assumption()
		}
		return strings.Join(words, "; ")
	case FellUnclear:
		return s.firstUnclear()
	case NothingFollows:
		return phrase.OneLine(s.detail(phrase.MostText))
	case NotRun:
		return phrase.OneLine(phrase.Clip(s.Failed+s.Skipped, phrase.MostText))
	}
	return ""
}

// assumption says which order of two grants an overrun assumes, where none is
// told that needs no assumption; "": it assumes none.
func (s Scenario) assumption() string {
	p := s.Property(checker.MutualExclusion)
	if p == nil || len(p.Violations) == 0 || slices.ContainsFunc(p.Violations,
		func(v checker.Violation) bool { return !v.Assumed }) {
		return ""
	}
	text := fmt.Sprintf(", if client %d was granted the key first", p.Violations[0].A.Client)
	if strings.Contains(p.Violations[0].Text, "attempt_ns") {
		text += " (attempt_ns would tell)"
	}
	return text
}

// firstUnclear tells the first violation of which it is not clear whose affair it is.
func (s Scenario) firstUnclear() string {
	for _, p := range s.Verdict.Properties {
		if s.unclear(p) {
			return s.tell(p.Name)
		}
	}
	return ""
}

// NotMade tells the attacks that were not made, a line for each reason: first
// those that did not fit into the budget.
func (e *Exam) NotMade() (lines []string) {
	for _, r := range e.LeftOver() {
		lines = append(lines, r.String())
	}
	return append(lines, e.Inapplicable()...)
}

// Inapplicable tells the attacks that were not applicable, a line for each reason. Those that the
// machine could not take come last.
func (e *Exam) Inapplicable() []string {
	var senseless, lacking []string
	for _, r := range e.Reasons() {
		if r.lacks {
			lacking = append(lacking, "not applicable: "+r.String())
		} else {
			senseless = append(senseless, "not applicable, since "+r.String())
		}
	}
	return append(senseless, lacking...)
}

// Reason is why some attacks were not made.
type Reason struct {
	Why     string
	Attacks []string
	lacks   bool // something that the machine could have
}

// String is of the form "it knows no readers: stop-reader, kill-readers".
func (r Reason) String() string { return r.Why + ": " + strings.Join(r.Attacks, ", ") }

// Reasons are why attacks were not applicable, each once.
func (e *Exam) Reasons() (all []Reason) {
	for _, n := range e.Not {
		all = because(all, n.Why, n.Attack, n.Fix != "")
	}
	return all
}

// LeftOver are why attacks were left out that make sense against the lock, each once.
func (e *Exam) LeftOver() (all []Reason) {
	for _, l := range e.Left {
		all = because(all, l.Why, l.Attack, false)
	}
	return all
}

// because adds an attack to those that were not made for the reason.
func because(all []Reason, why, attack string, lacks bool) []Reason {
	i := slices.IndexFunc(all, func(r Reason) bool { return r.Why == why })
	if i < 0 {
		return append(all, Reason{why, []string{attack}, lacks})
	}
	all[i].Attacks, all[i].lacks = append(all[i].Attacks, attack), all[i].lacks || lacks
	return all
}
