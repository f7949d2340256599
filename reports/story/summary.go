package story

import (
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Summary tells a scenario in one line: what it came to, and whether that was expected.
func Summary(s reports.Scenario) string {
	out := s.Result().Mark() + " " + s.Result().String()
	if d := s.Detail(); d != "" {
		out += " (" + phrase.OneLine(d) + ")"
	}
	if s.TooLittle() {
		out += ", otherwise inconclusive: " + phrase.OneLine(phrase.Clip(s.Verdict.Reasons[0], phrase.MostText))
	} else if s.Unexpected() {
		var want []string
		for _, e := range s.Unmet() {
			want = append(want, e.Names+" should "+e.Should())
		}
		out += ", UNEXPECTED"
		if len(want) > 0 { // else it proves nothing, which the detail has said
			out += ": " + phrase.List(want)
		}
	}
	return harmless.Line(out)
}

// ViolationLine tells one violation in one line, for those who watch a run.
func ViolationLine(v checker.Violation) string {
	return phrase.At(v.At) + "  " + phrase.Clip(v.Property, phrase.MostName) + "  " +
		phrase.OneLine(phrase.Clip(v.Text, 400))
}
