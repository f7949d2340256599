package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Demand is what a policy asks of one scenario: the properties by their names,
// or in the words "all" or "expected".
type Demand struct {
	Scenario string
	Names    []string
	Word     string
}

// KnownViolation is a violation that a policy tolerates, and what the run showed of it.
type KnownViolation struct {
	Scenario, Property, Kind, Reason string
	// LastDay is the last day of the tolerance (2027-03-31), DaysLeft how many
	// days there are to it; 0: it is over.
	LastDay  string
	DaysLeft int
	// Shown, Clear and Open count the runs that violate the property, those
	// that were judged and do not, and those that leave it open.
	Shown, Clear, Open int
}

// Ruling is the gate's last word in one line: "PASSED: ..." or "FAILED: ...". It is safe to print.
func (g Gate) Ruling(s Suite) string { return g.Word() + ": " + phrase.OneLine(g.Why(s)) }

// Word is PASSED or FAILED.
func (g Gate) Word() string {
	if g.Exit == 0 {
		return "PASSED"
	}
	return "FAILED"
}

// Why says in a sentence or two what decided the gate.
func (g Gate) Why(s Suite) string {
	switch broken := brokenRules(s); {
	case g.Broken != "":
		return phrase.Sentence(phrase.Clip(g.Broken, phrase.MostText)) + alsoBroken(s, broken)
	case g.Exit == 0:
		return passedWhy(g, s)
	case g.Exit == 1 && len(broken) > 0:
		return tellBroken(s, broken)
	case g.Exit == 2:
		return openWhy(s)
	default:
		return failedWhy(s) + alsoBroken(s, broken)
	}
}

func passedWhy(g Gate, s Suite) string {
	text := fmt.Sprintf("Every rule is met in %s of %s.", phrase.Plural(len(s.Scenarios)-openRuns(s), "run"),
		phrase.Plural(scenarioNames(s), "scenario"))
	shown := 0
	for _, k := range g.Known {
		if k.Shown > 0 {
			shown++
		}
	}
	if shown > 0 {
		text += fmt.Sprintf(" %s showed and %s tolerated.", phrase.Plural(shown, "known violation"),
			verb(shown, "is", "are"))
	}
	if open := openRuns(s); open > 0 {
		text += fmt.Sprintf(" %s %s left open, and the policy only warns of that.", phrase.Plural(open, "run"),
			verb(open, "is", "are"))
	}
	return text
}

func openWhy(s Suite) string {
	open, all := openRuns(s), len(s.Scenarios)
	switch {
	case all == 0 || !slices.ContainsFunc(s.Scenarios, Scenario.ran):
		return "No run reached a verdict, so nothing is shown."
	case all == 1:
		return "No rule that must hold was broken, but the run leaves something open."
	case open == all:
		return fmt.Sprintf("No rule that must hold was broken, but all %s leave something open.", phrase.Plural(all, "run"))
	}
	return fmt.Sprintf("No rule that must hold was broken, but %d of %s %s something open.", open,
		phrase.Plural(all, "run"), verb(open, "leaves", "leave"))
}

func failedWhy(s Suite) string {
	i := slices.IndexFunc(s.Scenarios, func(x Scenario) bool { return x.Failed != "" })
	if i < 0 {
		return "The run itself failed."
	}
	return fmt.Sprintf("The run of %s failed: %s", phrase.Clip(s.Scenarios[i].Name, phrase.MostName),
		phrase.Sentence(phrase.Clip(phrase.FirstLine(s.Scenarios[i].Failed), phrase.MostText)))
}

// brokenRules are the findings that fail the gate by what was seen, and not by what is missing.
func brokenRules(s Suite) []Finding {
	return slices.DeleteFunc(s.Findings(), func(f Finding) bool {
		return f.Level != Error || f.Rule == RuleInconclusive || f.Rule == RuleFailed || f.Rule == RuleSkipped
	})
}

// tellBroken tells the first of the broken rules, and how many more there are.
func tellBroken(s Suite, all []Finding) string {
	f := all[0]
	text := fmt.Sprintf("%s must hold and is violated in %s", phrase.Clip(f.Rule, phrase.MostName),
		phrase.Clip(f.Scenario, phrase.MostName))
	if f.Rule == RuleNotCaught || f.Rule == RuleSeverity {
		text = fmt.Sprintf("%s: %s", phrase.Clip(f.Scenario, phrase.MostName), phrase.Clip(f.Text, phrase.MostText))
	}
	if f.Of > 1 {
		text = fmt.Sprintf("%s (%d of %s)", strings.TrimSuffix(text, "."), f.Times, phrase.Plural(f.Of, "run"))
	}
	text = strings.TrimSpace(phrase.Stop(text) + " " + noteOn(s, f))
	switch more := len(all) - 1; more {
	case 0:
		return text
	case 1:
		return text + " 1 more finding fails the gate."
	default:
		return text + fmt.Sprintf(" %s fail the gate.", phrase.Plural(more, "more finding"))
	}
}

// noteOn is what the policy adds to a finding: that its tolerance is over, say.
func noteOn(s Suite, f Finding) string {
	for _, x := range s.Scenarios {
		for _, e := range x.Missed() {
			if x.Name == f.Scenario && e.Property == f.Rule && e.Note != "" {
				return phrase.Sentence(phrase.Clip(e.Note, phrase.MostText))
			}
		}
	}
	return ""
}

func alsoBroken(s Suite, all []Finding) string {
	if len(all) == 0 {
		return ""
	}
	return " Also: " + tellBroken(s, all)
}

// ran reports whether the scenario has a verdict.
func (s Scenario) ran() bool { return s.Failed == "" && s.Skipped == "" }

// LeavesDemandsOpen reports whether the scenario has no verdict, or one that
// leaves open what was demanded.
func (s Scenario) LeavesDemandsOpen() bool {
	return !s.ran() || slices.ContainsFunc(s.Expect, func(e Expectation) bool { return !e.Met && e.Undecided(s) }) ||
		len(s.Expect) == 0 && s.Result() == Inconclusive
}

func openRuns(s Suite) (n int) {
	for _, x := range s.Scenarios {
		if x.LeavesDemandsOpen() {
			n++
		}
	}
	return n
}

func scenarioNames(s Suite) int {
	var names []string
	for _, x := range s.Scenarios {
		if !slices.Contains(names, x.Name) {
			names = append(names, x.Name)
		}
	}
	return len(names)
}
