package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/harmless"
)

// Exam is what an examination was of. Each scenario of its suite is an attack.
type Exam struct {
	Lock string `json:"lock"`
	// Not are the attacks that make no sense against the lock.
	Not []NotApplicable `json:"not_applicable,omitempty"`
	// Short: only the most telling attacks were made.
	Short bool `json:"short,omitempty"`
}

// ExamOf is the exam of a lock against which some attacks make no sense.
func ExamOf[N ~struct{ Attack, Why string }](lock string, not []N) *Exam {
	exam := &Exam{Lock: lock}
	for _, n := range not {
		exam.Not = append(exam.Not, NotApplicable(n))
	}
	return exam
}

// NotApplicable is an attack that makes no sense against a lock, and why.
type NotApplicable struct {
	Attack string `json:"attack"`
	Why    string `json:"why"`
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

var fateNames = [...]string{FellDefect: "fell: a defect", FellUnclear: "fell, and it is not clear why", FellRelied: "fell: what it relies on broke",
	FellInherent:   "fell: inherent",
	NothingFollows: "inconclusive", NotRun: "not run", Stood: "stood"}

// String is the fate in a few words: "stood", "fell: a defect".
func (f Fate) String() string { return fateNames[f] }

// Fails reports whether the lock failed its exam by an attack of the fate.
func (f Fate) Fails() bool { return f == FellDefect || f == FellUnclear }

// Fate is what the attack came to that the scenario made.
func (s Scenario) Fate() Fate {
	switch r := s.Result(); {
	case len(s.own()) > 0: // for certain, also if the harness failed after it
		return FellDefect
	case r == Failed || r == Skipped:
		return NotRun
	case s.relied():
		return FellRelied
	case s.of(checker.Unclear):
		return FellUnclear
	case len(s.defects()) > 0 || s.of(checker.Inherent) || s.of(checker.Harm):
		return FellInherent
	case r == Inconclusive:
		return NothingFollows
	}
	return Stood
}

// own are the defects that the lock has to answer for itself: theory does not allow them under the planned faults. What lets a second
// holder in comes before the double-holds that come of it.
func (s Scenario) own() []defect {
	return causesFirst(slices.DeleteFunc(s.defects(), func(d defect) bool {
		return slices.ContainsFunc(s.Expect, func(e Expectation) bool { return e.Property == d.property() && e.Met })
	}))
}

// OwnDefects names the defects that the lock has to answer for itself, those first that the others come of: the kind of a double-hold, or the property.
func (s Scenario) OwnDefects() (names []string) {
	for _, d := range s.own() {
		names = append(names, d.name)
	}
	return names
}

// DefectWords tells a defect of OwnDefects in words.
func DefectWords(name string) string { return defect{name: name}.words() }

// DefectProperty is the property that a defect of OwnDefects breaks.
func DefectProperty(name string) string { return defect{name: name}.property() }

// causesFirst puts a key that was given away, or granted with a lease that was over, before the double-holds that come of that.
func causesFirst(all []defect) []defect {
	slices.SortStableFunc(all, func(a, b defect) int { return a.rank() - b.rank() })
	return all
}

func (d defect) rank() int {
	switch d.name {
	case checker.StolenRelease, checker.DeadGrant, checker.DeadRenewal:
		return 0
	}
	return 1
}

// property is that of the defect.
func (d defect) property() string {
	if checker.Named(d.name).Name == "" {
		return checker.MutualExclusion // d is a kind of double-holds
	}
	return d.name
}

// relied reports whether something is violated that the planned faults break through what the lock relies on.
func (s Scenario) relied() bool {
	return slices.ContainsFunc(s.defects(), func(d defect) bool { return slices.Contains(s.Relied, d.property()) })
}

// of reports whether a property of the blame is violated.
func (s Scenario) of(b checker.Blame) bool {
	return slices.ContainsFunc(s.Verdict.Properties, func(p checker.PropertyResult) bool {
		return p.Outcome == checker.Violated && p.CountOf(b) > 0
	})
}

// byFate are the attacks of a fate.
func (s Suite) byFate(f Fate) (all []Scenario) {
	for _, x := range s.Scenarios {
		if x.Fate() == f {
			all = append(all, x)
		}
	}
	return all
}

// examDefects are the defects that attacks have shown, each once.
func (s Suite) examDefects() (words []string) {
	var all []defect
	for _, x := range s.byFate(FellDefect) {
		all = append(all, x.own()...)
	}
	for _, d := range causesFirst(all) {
		if !slices.Contains(words, d.words()) {
			words = append(words, d.words())
		}
	}
	return words
}

// fateVerbs say in the headline what attacks of a fate did.
var fateVerbs = [...]string{FellUnclear: "fell, and it is not clear why",
	FellRelied:     "broke what it relies on: a clock, or the memory of its service",
	FellInherent:   "fell to what no lease prevents; a fence would contain that",
	NothingFollows: "inconclusive", NotRun: "not run"}

// examHeadline says what the exam has shown: the defects first, and what is inherent after them.
func (s Suite) examHeadline() string {
	parts := []string{plural(len(s.Scenarios), "attack")}
	defects := s.examDefects()
	if len(defects) > 0 {
		parts = append(parts, plural(len(defects), "defect")+": "+strings.Join(defects, "; "))
	} else {
		parts = append(parts, "No defect")
	}
	for f := FellDefect + 1; f < Stood; f++ {
		if n := len(s.byFate(f)); n > 0 {
			parts = append(parts, grouped(n)+" "+fateVerbs[f])
		}
	}
	if n := len(s.Exam.Not); n > 0 {
		parts = append(parts, grouped(n)+" not applicable")
	}
	return strings.Join(parts, ". ")
}

// examLede says which attacks showed the defects, and what a lock that stood is worth.
func (s Suite) examLede() string {
	var out []string
	for _, word := range s.examDefects() {
		var by []string
		for _, x := range s.byFate(FellDefect) {
			if slices.ContainsFunc(x.own(), func(d defect) bool { return d.words() == word }) {
				by = append(by, clip(x.Fault, clipName))
			}
		}
		out = append(out, sentence(word+": shown by "+list(by)))
	}
	if bites := s.Withstood(); bites > 0 {
		_, high := checker.Wilson(0, int64(bites))
		out = append(out, fmt.Sprintf("Faults that it stood bit %s: at 95 %% confidence it falls under fewer than %.1f %% of such.", times(bites), 100*high))
	}
	if s.Exam.Short {
		out = append(out, "Only the most telling attacks were made.")
	}
	return strings.Join(out, " ")
}

// Withstood counts the faults that are proven to have struck in attacks that the lock stood.
func (s Suite) Withstood() int { return s.bites(Stood) }

// bites counts the faults that are proven to have struck, in attacks of the fate.
func (s Suite) bites(f Fate) (n int) {
	for _, x := range s.byFate(f) {
		for _, fault := range x.Verdict.Stats.Faults {
			if fault.Injected {
				n += fault.Bit
			}
		}
	}
	return n
}

// WriteExam tells an exam on a terminal: the attacks, a line each, those that fell first; what was not applicable, by reason; and
// what that comes to.
func WriteExam(w io.Writer, s Suite, color bool, width int) error {
	var b strings.Builder
	for _, text := range s.StandIns {
		fmt.Fprintf(&b, "stand-in: %s\n", oneLine(clip(text, clipText)))
	}
	names := 0
	for _, x := range s.Scenarios {
		names = max(names, columns(clip(x.Fault, clipName)))
	}
	for f := FellDefect; f <= Stood; f++ {
		for _, x := range s.byFate(f) {
			b.WriteString(harmless.Line(fmt.Sprintf("%s %-*s  %s", f.mark(), names, clip(x.Fault, clipName), x.CameTo())) + "\n")
		}
	}
	for _, line := range s.Exam.Inapplicable() {
		b.WriteString(wrap(harmless.Line("– "+line), width) + "\n")
	}
	head := harmless.Line(s.headline()) + "."
	if color {
		head = ansiBold + head + ansiReset
	}
	fmt.Fprintf(&b, "\n%s\n", wrap(head, width))
	if text := s.lede(); text != "" {
		b.WriteString(wrap(harmless.Line(text), width) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mark lets a fate be told at a glance.
func (f Fate) mark() string {
	switch f {
	case Stood:
		return Pass.Mark()
	case FellInherent, FellRelied:
		return Contained.Mark()
	case NothingFollows:
		return Inconclusive.Mark()
	case NotRun:
		return Failed.Mark()
	}
	return Violated.Mark()
}

// CameTo tells the fate of the attack in a sentence: "fell: a defect: …".
func (s Scenario) CameTo() string {
	f := s.Fate()
	if text := s.fateWords(f); text != "" {
		return f.String() + ": " + text
	}
	return f.String()
}

// fateWords say more of a fate; "": there is no more.
func (s Scenario) fateWords(f Fate) string {
	switch f {
	case FellDefect, FellRelied, FellInherent:
		all := s.own()
		if f != FellDefect {
			all = s.defects()
		}
		var words []string
		for _, d := range all {
			words = append(words, d.String())
		}
		if len(words) == 0 {
			return oneLine(clip(s.Detail(), clipText))
		}
		return strings.Join(words, "; ")
	case FellUnclear:
		return s.firstUnclear()
	case NothingFollows:
		return oneLine(clip(s.Detail(), clipText))
	case NotRun:
		return oneLine(clip(s.Failed+s.Skipped, clipText))
	}
	return ""
}

// firstUnclear tells the first violation of which it is not clear whose affair it is.
func (s Scenario) firstUnclear() string {
	for _, p := range s.Verdict.Properties {
		if unclear(p) {
			return s.tell(p.Name)
		}
	}
	return ""
}

// Inapplicable tells the attacks that were not applicable, a line for each reason.
func (e *Exam) Inapplicable() (lines []string) {
	for _, why := range e.reasons() {
		lines = append(lines, "not applicable, since "+why+": "+strings.Join(e.because(why), ", "))
	}
	return lines
}

// reasons are why attacks were not applicable, each once.
func (e *Exam) reasons() (all []string) {
	for _, n := range e.Not {
		if !slices.Contains(all, n.Why) {
			all = append(all, n.Why)
		}
	}
	return all
}

// because names the attacks that were not applicable for a reason.
func (e *Exam) because(why string) (names []string) {
	for _, n := range e.Not {
		if n.Why == why {
			names = append(names, n.Attack)
		}
	}
	return names
}
