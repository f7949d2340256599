package reports

import "strings"

// trouble is what needs a reader's attention, with why: a scenario, or several that came to nothing for
// one cause.
type trouble struct {
	Runs      []troubled
	What, Why string
	Do        string // what can be done about it
	Log       string
	Rerun     string // of the first
}

// Several reports whether it is more than one scenario.
func (t trouble) Several() bool { return len(t.Runs) > 1 }

// troubled is a scenario of a trouble. Note is what it has beside the others.
type troubled struct {
	Of         Scenario
	Name, Note string
}

// troubles lists what is not as expected, then what failed, was skipped or says nothing. What has one
// cause is told once.
func troubles(s Suite) []trouble {
	var out []trouble
	for _, x := range s.Scenarios {
		if x.unexpected() {
			out = append(out, tellTrouble(x))
		}
	}
	for _, r := range []Result{Failed, Inconclusive, Skipped} {
		for _, group := range gather(s.Scenarios, func(x Scenario) bool { return x.Result() == r && !x.unexpected() }) {
			t := tellTrouble(group[0])
			if len(group) > 1 && r == Failed {
				why, do := cause(group[0].Failed)
				t.Why, t.Do, t.Runs[0].Note = sentence(clip(why, clipText)), do, alsoViolated(group[0])
			}
			for _, x := range group[1:] {
				t.Runs = append(t.Runs, troubled{x, clip(x.Name, clipName), alsoViolated(x)})
			}
			out = append(out, t)
		}
	}
	return out
}

// alsoViolated tells what was certain before the scenario failed; "": nothing.
func alsoViolated(x Scenario) string {
	if !x.violatedThough() {
		return ""
	}
	return list(x.violatedNames()) + " violated before"
}

func tellTrouble(x Scenario) trouble {
	t := trouble{Runs: []troubled{{Of: x, Name: clip(x.Name, clipName)}}, What: x.Result().String(), Rerun: clip(x.Rerun, clipText)}
	switch {
	case x.Failed != "":
		t.Why = sentence(clip(firstLine(x.Failed), clipText))
		_, t.Do = cause(x.Failed)
		if x.violatedThough() {
			t.Why += " What was recorded until then certainly shows " + list(x.violatedNames()) + " violated."
		}
		if strings.Contains(strings.TrimSpace(x.Failed), "\n") {
			t.Log = clip(x.Failed, clipLog)
		}
	case x.Skipped != "":
		t.Why, t.Rerun = sentence(clip(x.Skipped, clipText)), ""
	case x.unexpected():
		t.What = "unexpected"
		var diff []string
		for _, e := range x.unmet() {
			diff = append(diff, e.Names+" should be "+e.Want+" and "+e.Is+" "+e.Got+".")
		}
		if len(x.Verdict.Reasons) > 0 {
			diff = append(diff, sentence(clip(strings.Join(x.Verdict.Reasons, " "), clipText)))
		}
		t.Why = strings.Join(diff, " ")
	default:
		t.Why = clip(strings.Join(x.Verdict.Reasons, " "), clipText)
	}
	return t
}
