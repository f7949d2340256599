package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
)

// Level is how much a finding matters to the one who started the run. The zero value is an error, so that nothing is taken lightly by mistake.
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
	// File and Line are the place to point at; Builtin that of a scenario that comes with lockchaos.
	File, Builtin string
	Line          int
	// Text tells it in a sentence or two; Known is the reason why it is tolerated.
	Text, Known string
	// Times of Of repetitions show it.
	Times, Of int
	// Dir is the folder of the first that does, Again the command that runs it again.
	Dir, Again string
}

// Findings lists what did not come out as it should, what is known, and what the run leaves open: errors first, in the order of the run.
func (s Suite) Findings() []Finding {
	runs := map[string]int{}
	for _, x := range s.Scenarios {
		runs[x.Name]++
	}
	var all []Finding
	for _, x := range s.Scenarios {
		for _, f := range x.findings() {
			f.Of = runs[x.Name]
			all = merge(all, f)
		}
	}
	for _, r := range s.Remarks {
		all = append(all, Finding{Level: r.Level, Rule: clip(r.Rule, clipName), File: r.File, Line: r.Line, Text: clip(r.Text, clipText), Times: 1, Of: 1})
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

func (s Scenario) findings() (all []Finding) {
	add := func(level Level, rule, text, known string) {
		all = append(all, Finding{Level: level, Rule: clip(rule, clipName), Scenario: s.Name, File: s.File, Line: s.Line, Builtin: s.Builtin, Text: text, Known: known, Times: 1,
			Dir: s.Dir, Again: s.Rerun})
	}
	open := Error
	if s.Lenient {
		open = Warning
	}
	switch {
	case s.Failed != "":
		add(Error, RuleFailed, sentence(clip(firstLine(s.Failed), clipText)), "")
		if !s.violatedThough() {
			return all
		}
	case s.Skipped != "":
		level := Warning
		if s.Demanded {
			level = open
		}
		add(level, RuleSkipped, sentence(clip(s.Skipped, clipText)), "")
		return all
	}
	if s.Failed != "" || len(s.Expect) == 0 { // by properties alone
		for _, name := range s.violatedNames() {
			add(Error, name, s.tell(name), "")
		}
		if s.Result() == Inconclusive {
			add(open, RuleInconclusive, s.openReason(), "")
		}
		return all
	}
	doubt := false
	for _, e := range s.expectations() {
		switch {
		case e.Known != "" && e.Got == "violated":
			add(Note, e.Property, s.tell(e.Property), e.Known)
		case e.Met:
		case e.undecided(s):
			doubt = true
		case e.Got == "violated":
			add(Error, e.Property, strings.TrimSpace(s.tell(e.Property)+" "+sentence(clip(e.Note, clipText))), "")
		case e.Property == RuleSeverity:
			add(Error, RuleSeverity, fmt.Sprintf("The severity should be %s and is %s.", clip(e.Want, clipName), clip(e.Got, clipName)), "")
		default:
			add(Error, RuleNotCaught, fmt.Sprintf("%s should be %s and is %s.", clip(e.Property, clipName), clip(e.Want, clipName), clip(e.Got, clipName)), "")
		}
	}
	if doubt {
		add(open, RuleInconclusive, s.openReason(), "")
	}
	return all
}

// undecided tells of an expectation that the run says nothing about. Without a verdict there is no severity either: that it is not the expected one
// says nothing.
func (e Expectation) undecided(s Scenario) bool {
	return e.Got == checker.Inconclusive.String() || e.Property == RuleSeverity && s.Verdict.Outcome == checker.Inconclusive
}

// Undecided tells whether a scenario that did not come out as expected only leaves it open.
func (s Scenario) Undecided() bool {
	for _, e := range s.Expect {
		if !e.Met && !e.undecided(s) {
			return false
		}
	}
	return true
}

// tell tells of a property's violations: how many, and the one to tell first.
func (s Scenario) tell(name string) string {
	p := s.property(name)
	if p == nil {
		return ""
	}
	text := clip(name, clipName) + " violated " + s.Times(name) + "."
	if v := p.First(); v != nil {
		text += " " + sentence(oneLine(clip(v.Text, clipText)))
	}
	return text
}

// openReason says why a run leaves something open.
func (s Scenario) openReason() string {
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
	return clip(oneLine(strings.Join(reasons, " ")), clipText)
}
