package reports

import (
	"strings"

	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Trouble is what needs a reader's attention, with why: a scenario, or several
// that came to nothing for one cause.
type Trouble struct {
	Runs      []troubled
	What, Why string
	Do        string // what can be done about it
	Log       string
	Rerun     string // of the first
}

// Several reports whether it is more than one scenario.
func (t Trouble) Several() bool { return len(t.Runs) > 1 }

// troubled is a scenario of a trouble. Note is what it has beside the others.
type troubled struct {
	Of         Scenario
	Name, Note string
}

// Troubles lists what is not as expected, then what failed, was skipped or says
// nothing. What has one cause is told once.
func Troubles(s Suite) []Trouble {
	var out []Trouble
	for _, x := range s.Scenarios {
		if x.Unexpected() {
			out = append(out, tellTrouble(x))
		}
	}
	for _, r := range []Result{Failed, Inconclusive, Skipped} {
		for _, group := range gather(s.Scenarios, func(x Scenario) bool { return x.Result() == r && !x.Unexpected() }) {
			t := tellTrouble(group[0])
			if len(group) > 1 && r == Failed {
				why, do := cause(group[0].Failed)
				t.Why, t.Do, t.Runs[0].Note = phrase.Sentence(phrase.Clip(why, phrase.MostText)), do,
					alsoViolated(group[0])
			}
			for _, x := range group[1:] {
				t.Runs = append(t.Runs, troubled{x, phrase.Clip(x.Name, phrase.MostName), alsoViolated(x)})
			}
			out = append(out, t)
		}
	}
	return out
}

// alsoViolated tells what was certain before the scenario failed; "": nothing.
func alsoViolated(x Scenario) string {
	if !x.ViolatedThough() {
		return ""
	}
	return phrase.List(x.ViolatedNames()) + " violated before"
}

func tellTrouble(x Scenario) Trouble {
	t := Trouble{Runs: []troubled{{Of: x, Name: phrase.Clip(x.Name, phrase.MostName)}}, What: x.Result().String(),
		Rerun: phrase.Clip(x.Rerun, phrase.MostText)}
	switch {
	case x.Failed != "":
		t.Why = phrase.Sentence(phrase.Clip(phrase.FirstLine(x.Failed), phrase.MostText))
		_, t.Do = cause(x.Failed)
		if x.ViolatedThough() {
			t.Why += " What was recorded until then certainly shows " + phrase.List(x.ViolatedNames()) + " violated."
		}
		if strings.Contains(strings.TrimSpace(x.Failed), "\n") {
			t.Log = phrase.Clip(x.Failed, phrase.MostLog)
		}
	case x.Skipped != "":
		t.Why, t.Rerun = phrase.Sentence(phrase.Clip(x.Skipped, phrase.MostText)), ""
	case x.Unexpected():
		t.What = "unexpected"
		var diff []string
		for _, e := range x.Unmet() {
			diff = append(diff, e.Names+" should "+e.Should()+" and "+e.Is+" "+e.Got+".")
		}
		if len(x.Verdict.Reasons) > 0 {
			diff = append(diff, phrase.Sentence(phrase.Clip(strings.Join(x.Verdict.Reasons, " "), phrase.MostText)))
		}
		t.Why = strings.Join(diff, " ")
	default:
		t.Why = phrase.Clip(strings.Join(x.Verdict.Reasons, " "), phrase.MostText)
	}
	return t
}

// Reason says in a sentence or two why a scenario failed, was skipped, was left
// open, or is not as expected. It is "" where a scenario came out as it should,
// and where a violation speaks for itself.
func (s Scenario) Reason() string {
	if s.Met && s.Judged() {
		return ""
	}
	return tellTrouble(s).Why
}
