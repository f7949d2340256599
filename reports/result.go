package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Result is what a scenario came to, in the one word that a cell of the matrix
// has room for. The zero value is inconclusive, as the zero outcome is.
type Result uint8

// The results.
const (
	Inconclusive Result = iota
	// Pass: no violation, and enough was done to see one.
	Pass
	// Contained: two clients held the lock, the store refused what they should
	// not have written, and nothing else was violated.
	Contained
	// Corrupted: the store took a write that it should have refused, or an update was lost.
	Corrupted
	// Violated: a property was violated, and the data was not harmed.
	Violated
	// Skipped: not run.
	Skipped
	// Failed: the harness or a service failed. What was recorded until then may
	// have a verdict all the same.
	Failed
)

var resultNames = [...]string{Inconclusive: "inconclusive", Pass: "pass", Contained: "contained",
	Corrupted: "corrupted",
	Violated:  "violated", Skipped: "skipped", Failed: "failed"}

// resultMarks let a result be told apart without colour, and at a glance.
var resultMarks = [...]string{Inconclusive: "?", Pass: "✓", Contained: "◐", Corrupted: "✗", Violated: "✗", Skipped: "–",
	Failed: "!"}

func (r Result) String() string { return resultNames[r] }

// Mark is the result as one character.
func (r Result) Mark() string { return resultMarks[r] }

// MarshalText writes the result's name.
func (r Result) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the result's name.
func (r *Result) UnmarshalText(text []byte) error {
	i := slices.Index(resultNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown result %q", text)
	}
	*r = Result(i)
	return nil
}

// Result sums the scenario up.
func (s Scenario) Result() Result {
	switch {
	case s.Failed != "":
		return Failed
	case s.Skipped != "":
		return Skipped
	case s.Verdict.Outcome == checker.Pass:
		return Pass
	case s.Verdict.Outcome != checker.Violated:
		return Inconclusive
	case s.Verdict.Severity == checker.Corrupting || s.Violated(checker.UnfencedWrite) ||
		s.Violated(checker.LostUpdate) ||
		s.Violated(checker.DuplicateEffect):
		return Corrupted
	case s.Verdict.Severity == checker.Contained && !s.violatedBeside(checker.MutualExclusion):
		return Contained
	}
	return Violated
}

// Judged reports whether the scenario has a verdict that says something.
func (s Scenario) Judged() bool {
	r := s.Result()
	return r == Pass || r == Contained || r == Corrupted || r == Violated
}

// Unexpected reports whether the scenario came out otherwise than expected. One
// that was skipped or failed came out not at all.
func (s Scenario) Unexpected() bool {
	r := s.Result()
	return !s.Met && r != Skipped && r != Failed && len(s.Expect) > 0
}

// TooLittle reports whether nothing came out otherwise than expected, and the
// run merely shows too little for a pass.
func (s Scenario) TooLittle() bool {
	return s.Unexpected() && s.Judged() && s.Result() != Inconclusive && len(s.Verdict.Reasons) > 0 &&
		len(s.Unmet()) == 0
}

// Missed lists the expectations that were not met, those of defects first.
func (s Scenario) Missed() []Expectation {
	var out []Expectation
	for _, e := range s.expectations() {
		if !e.Met {
			out = append(out, e)
		}
	}
	return out
}

// Unmet is expectations that were missed in the same way, in words.
type Unmet struct{ Names, Want, Is, Got string }

// Should is what was wanted, as it stands behind "should": "pass", "be violated".
func (u Unmet) Should() string {
	switch u.Want {
	case "pass", "hold":
		return u.Want
	case "pass or not judged":
		return "pass or not be judged"
	}
	return "be " + u.Want
}

// Unmet puts what was missed into as few lines as there are ways in which it
// was missed. Passes that an inconclusive run left open are not among them: all
// of them were left open for one reason, and the page tells that.
func (s Scenario) Unmet() []Unmet {
	var out []Unmet
	var names [][]string
	for _, e := range s.Missed() {
		passes := strings.HasPrefix(e.Want, "pass") || e.Want == "hold"
		if (s.Result() == Inconclusive || len(s.Verdict.Reasons) > 0) && passes &&
			e.Got == checker.Inconclusive.String() {
			continue
		}
		x := Unmet{Want: phrase.Clip(e.Want, phrase.MostName), Is: "is",
			Got: phrase.Clip(e.Got, phrase.MostName) + NoteOf(e)}
		i := slices.Index(out, x)
		if i < 0 {
			i = len(out)
			out, names = append(out, x), append(names, nil)
		}
		names[i] = append(names[i], phrase.Clip(e.Property, phrase.MostName))
	}
	for i := range out {
		out[i].Names = phrase.List(names[i])
		if len(names[i]) > 1 {
			out[i].Is = "are"
		}
	}
	return out
}

// expectations are those of the scenario, first of properties that show a defect.
func (s Scenario) expectations() []Expectation {
	blame := func(e Expectation) int {
		if p := s.Property(e.Property); p != nil && p.Outcome == checker.Violated {
			return int(p.Blame())
		}
		return int(checker.Harm)
	}
	out := slices.Clone(s.Expect)
	slices.SortStableFunc(out, func(a, b Expectation) int { return blame(a) - blame(b) })
	return out
}

// Property finds a property's result; nil when the verdict has none.
func (s Scenario) Property(name string) *checker.PropertyResult {
	for i := range s.Verdict.Properties {
		if s.Verdict.Properties[i].Name == name {
			return &s.Verdict.Properties[i]
		}
	}
	return nil
}

func (s Scenario) Violated(name string) bool {
	p := s.Property(name)
	return p != nil && p.Outcome == checker.Violated
}

// Count is how often a property was violated.
func (s Scenario) Count(name string) int {
	if p := s.Property(name); p != nil && p.Outcome == checker.Violated {
		return p.Count
	}
	return 0
}

func (s Scenario) violatedBeside(name string) bool {
	return slices.ContainsFunc(s.Verdict.Properties, func(p checker.PropertyResult) bool {
		return p.Outcome == checker.Violated && p.Name != name
	})
}

// AdapterError is how the error of an adapter begins: what it did comes after,
// and would be cut off.
var AdapterError = lazyregexp.New(`^(client \d+ on host \S+: )?(open adapter: )?the adapter "(?:[^"\\]|\\.)*" `)

// Detail is the small text beside a result: the figures that it rests on, or
// why there is none, and how many tries before proved nothing.
func (s Scenario) Detail() string { return s.detail(mostDetail) }

// mostDetail is how many columns of a reason there are beside a result.
const mostDetail = 60

// detail is Detail with so many columns of a reason.
func (s Scenario) detail(width int) string {
	text := s.grounds(width)
	if n := len(s.Spoilt); n > 0 {
		text += fmt.Sprintf(", after %s", phrase.Plural(n, "spoilt run"))
	}
	return text
}

// grounds are the figures that the result rests on, or why there is none, in so many columns.
func (s Scenario) grounds(width int) string {
	st := s.Verdict.Stats
	switch s.Result() {
	case Pass:
		text := phrase.Plural(st.Grants, "grant")
		if bit := Bites(st.Faults); bit > 0 {
			text += ", " + phrase.Plural(bit, "fault")
		}
		if never := neverStruck(st.Faults); never > 0 {
			text += fmt.Sprintf(", %d planned never struck", never)
		}
		return text
	case Contained:
		return strings.Join(append(s.figuresOfHolds(), phrase.Grouped(st.Refused)+" refused"), " · ")
	case Corrupted:
		return strings.Join(append(s.figuresOfHolds(), s.harmed()), " · ")
	case Violated:
		return s.violatedDetail()
	case Skipped:
		return phrase.Cut(s.Skipped, width)
	case Failed:
		if s.ViolatedThough() {
			return phrase.List(s.ViolatedNames()) + " violated before it failed"
		}
		if why, do := cause(s.Failed); do != "" {
			return phrase.Cut(why, width) // the reason comes first
		}
		return phrase.Cut(AdapterError().ReplaceAllString(s.Failed, "adapter "), width)
	}
	if len(s.Verdict.Reasons) > 0 {
		return phrase.Cut(s.Verdict.Reasons[0], width)
	}
	return "nothing was judged"
}

// violatedDetail names what was violated where no data was harmed: the defects
// first. Of two holders it says what sort they were.
func (s Scenario) violatedDetail() string {
	names, holds := s.ViolatedNames(), s.figuresOfHolds()
	if s.Count(checker.MutualExclusion) == 0 || len(holds) == 0 {
		return strings.Join(names, ", ")
	}
	all := s.Defects()
	if len(all) == 0 {
		names = slices.DeleteFunc(names, func(name string) bool { return name == checker.MutualExclusion })
		return strings.Join(append(holds, names...), " · ")
	}
	var shown []string
	for _, d := range all {
		shown = append(shown, d.Name)
	}
	holds[0] += ": " + strings.Join(shown, ", ")
	return strings.Join(holds, " · ")
}

// ViolatedThough tells of a scenario that failed after a violation was certain.
func (s Scenario) ViolatedThough() bool {
	return s.Failed != "" && s.Verdict.Outcome == checker.Violated
}

// ViolatedNames lists the violated properties, those that show a defect first.
func (s Scenario) ViolatedNames() []string {
	var out []string
	for _, p := range s.Verdict.InOrderOfBlame() {
		out = append(out, p.Name)
	}
	return out
}

// Bites counts the injected faults that took effect.
func Bites(faults []checker.FaultStats) int {
	n := 0
	for _, f := range faults {
		if f.Injected {
			n += f.Bit
		}
	}
	return n
}

// neverStruck counts the planned faults that were never injected.
func neverStruck(faults []checker.FaultStats) int {
	n := 0
	for _, f := range faults {
		if f.Plan > 0 && f.Begun == 0 {
			n++
		}
	}
	return n
}

// variant is what a scenario's name says beyond its lock, fault and store: it
// tells apart the scenarios of one cell.
func variant(s Scenario) string {
	var rest []string
	for _, part := range strings.Split(s.Name, "/") {
		if part != s.Lock && part != s.Fault && part != s.Store {
			rest = append(rest, part)
		}
	}
	return strings.Join(rest, "/")
}

// Tally counts the scenarios by result.
func (s Suite) Tally() [Failed + 1]int {
	var n [Failed + 1]int
	for _, x := range s.Scenarios {
		n[x.Result()]++
	}
	return n
}

// IsQuiet reports whether a fault's label names none.
func IsQuiet(fault string) bool { return fault == "" || fault == "none" }
