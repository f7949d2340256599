package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Level is how much a finding matters to the one who started the run. The zero
// value is an error, so that nothing is taken lightly by mistake.
type Level uint8

// The levels.
const (
	// Error: it makes the exit status other than 0.
	Error Level = iota
	// Warning: it does not, and is never a pass.
	Warning
	// Note: it is as expected, and worth knowing.
	Note
)

var levelNames = [...]string{Error: "error", Warning: "warning", Note: "note"}

func (l Level) String() string { return levelNames[l] }

// MarshalText writes the level's name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads the level's name.
func (l *Level) UnmarshalText(text []byte) error {
	i := slices.Index(levelNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown level %q", text)
	}
	*l = Level(i)
	return nil
}

// The rules of findings that are no property of the checker.
const (
	RuleInconclusive = "inconclusive"
	RuleFailed       = "failed"
	RuleSkipped      = "skipped"
	RuleNotCaught    = "not-caught"
	RuleSeverity     = "severity"
)

// Finding is what a run has to say about one scenario under one rule, over all its repetitions.
type Finding struct {
	Level Level
	// Rule is the property that is violated, or one of the Rule constants.
	Rule     string
	Scenario string
	// File and Line are the place to point at; Builtin that of a scenario that
	// comes with lockchaos.
	File, Builtin string
	Line          int
	// Text tells it in a sentence or two; Known is the reason why it is tolerated.
	Text, Known string
	// Times of Of repetitions show it.
	Times, Of int
	// Dir is the folder of the first that does, Again the command that runs it again.
	Dir, Again string
}

// Findings lists what did not come out as it should, what is known, and what
// the run leaves open: errors first, in the order of the run.
func (s Suite) Findings() []Finding {
	runs := map[string]int{}
	for _, x := range s.Scenarios {
		runs[x.Name]++
	}
	var all []Finding
	for _, x := range s.Scenarios {
		for _, f := range x.FindingsOf() {
			f.Of = runs[x.Name]
			all = merge(all, f)
		}
	}
	for _, r := range s.Remarks {
		all = append(all, Finding{Level: r.Level, Rule: phrase.Clip(r.Rule, phrase.MostName), File: r.File,
			Line: r.Line, Text: phrase.Clip(r.Text, phrase.MostText), Times: 1, Of: 1})
	}
	var sorted []Finding
	for _, level := range []Level{Error, Warning, Note} {
		for _, f := range all {
			if f.Level == level {
				sorted = append(sorted, f)
			}
		}
	}
	return sorted
}

// merge adds a finding, or counts it where an earlier repetition has shown it.
func merge(all []Finding, f Finding) []Finding {
	for i := range all {
		if all[i].Scenario == f.Scenario && all[i].Rule == f.Rule && all[i].Level == f.Level {
			all[i].Times++
			return all
		}
	}
	return append(all, f)
}

// FindingsOf are a scenario's findings: a failure or skip, and what its expectations say.
func (s Scenario) FindingsOf() (all []Finding) {
	open := Error
	if s.Lenient {
		open = Warning
	}
	switch {
	case s.Failed != "":
		all = []Finding{s.finding(Error, RuleFailed,
			phrase.Sentence(phrase.Clip(phrase.FirstLine(s.Failed), phrase.MostText)))}
		if !s.ViolatedThough() {
			return all
		}
	case s.Skipped != "":
		level := Warning
		if s.Demanded {
			level = open
		}
		return []Finding{s.finding(level, RuleSkipped, phrase.Sentence(phrase.Clip(s.Skipped, phrase.MostText)))}
	}
	doubt := false
	if s.Failed != "" || len(s.Expect) == 0 { // by properties alone
		for _, name := range s.ViolatedNames() {
			all = append(all, s.finding(Error, name, s.tell(name)))
		}
		doubt = s.Result() == Inconclusive
	} else {
		all, doubt = s.allUnmet()
	}
	if doubt {
		all = append(all, s.finding(open, RuleInconclusive, s.OpenReason()))
	}
	return all
}

func (s Scenario) finding(level Level, rule, text string) Finding {
	return Finding{Level: level, Rule: phrase.Clip(rule, phrase.MostName), Scenario: s.Name, File: s.File, Line: s.Line,
		Builtin: s.Builtin, Text: text, Times: 1,
		Dir: s.Dir, Again: s.Rerun}
}

// allUnmet are the findings of all expectations. doubt: the run leaves one of them open.
func (s Scenario) allUnmet() (all []Finding, doubt bool) {
	for _, e := range s.expectations() {
		switch known := e.Known != "" && e.Got == "violated"; {
		case !known && e.Met:
		case !known && e.Undecided(s):
			doubt = true
		default:
			all = append(all, s.unmet(e))
		}
	}
	return all, doubt
}

// unmet is the finding of an expectation that was not met, or of a violation that is known.
func (s Scenario) unmet(e Expectation) Finding {
	clip := func(text string) string { return phrase.Clip(text, phrase.MostName) }
	switch {
	case e.Got == "violated" && e.Known != "":
		f := s.finding(Note, e.Property, s.tell(e.Property))
		f.Known = e.Known
		return f
	case e.Got == "violated":
		return s.finding(Error, e.Property,
			strings.TrimSpace(s.tell(e.Property)+" "+phrase.Sentence(phrase.Clip(e.Note, phrase.MostText))))
	case e.Property == RuleSeverity:
		return s.finding(Error, RuleSeverity, fmt.Sprintf("The severity should be %s and is %s.", clip(e.Want),
			clip(e.Got)))
	}
	return s.finding(Error, RuleNotCaught, fmt.Sprintf("%s should be %s and is %s.", clip(e.Property), clip(e.Want),
		clip(e.Got)))
}

// Undecided tells of an expectation that the run says nothing about. Without a
// verdict there is no severity either: that it is not the expected one says nothing.
func (e Expectation) Undecided(s Scenario) bool {
	return e.Got == checker.Inconclusive.String() || e.Property == RuleSeverity &&
		s.Verdict.Outcome == checker.Inconclusive
}

// Undecided reports whether a scenario that did not come out as expected only leaves it open.
func (s Scenario) Undecided() bool {
	return !slices.ContainsFunc(s.Expect, func(e Expectation) bool { return !e.Met && !e.Undecided(s) })
}

// tell tells of a property's violations: how many, and the one to tell first.
func (s Scenario) tell(name string) string {
	p := s.Property(name)
	if p == nil {
		return ""
	}
	text := phrase.Clip(name, phrase.MostName) + " violated " + s.Times(name) + "."
	if v := p.First(); v != nil {
		text += " " + phrase.Sentence(phrase.OneLine(phrase.Clip(v.Text, phrase.MostText)))
	}
	return text
}

// OpenReason says why a run leaves something open.
func (s Scenario) OpenReason() string {
	reasons := s.Verdict.Reasons
	if len(reasons) == 0 {
		for _, e := range s.Expect {
			if !e.Met && e.Note != "" {
				reasons = append(reasons, e.Note)
			}
		}
	}
	if len(reasons) == 0 {
		return "Nothing was judged."
	}
	return phrase.Clip(phrase.OneLine(strings.Join(reasons, " ")), phrase.MostText)
}

// Sentence is the text of a finding with how often it showed, and why it is tolerated.
func (f Finding) Sentence() string {
	text := f.Text
	if f.Of > 1 {
		text = fmt.Sprintf("In %d of %d runs. In the first of them: %s", f.Times, f.Of, text)
	}
	if f.Known != "" {
		text += " Known: " + phrase.Sentence(phrase.Clip(f.Known, phrase.MostText))
	}
	if f.Level == Error && f.Again != "" {
		text += "\nAgain: " + phrase.Clip(f.Again, phrase.MostText)
	}
	return text
}

// NoteOf is the note of an expectation in brackets, to stand behind a sentence.
func NoteOf(e Expectation) string {
	if e.Note == "" {
		return ""
	}
	return " (" + phrase.Clip(e.Note, phrase.MostText) + ")"
}
