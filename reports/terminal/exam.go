package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// WriteExam tells an exam on a terminal: the attacks, a line each, those that
// fell first; what was not applicable, by reason; and what that comes to.
func WriteExam(w io.Writer, s reports.Suite, color bool, width int) error {
	var b strings.Builder
	for _, text := range s.StandIns {
		fmt.Fprintf(&b, "stand-in: %s\n", phrase.OneLine(phrase.Clip(text, phrase.MostText)))
	}
	names := 0
	for _, x := range s.Scenarios {
		names = max(names, phrase.Columns(phrase.Clip(x.Fault, phrase.MostName)))
	}
	for f := reports.FellDefect; f <= reports.Stood; f++ {
		for _, x := range s.ByFate(f) {
			b.WriteString(harmless.Line(fmt.Sprintf("%s %-*s  %s", mark(f), names,
				phrase.Clip(x.Fault, phrase.MostName), x.Account())) + "\n")
		}
	}
	for _, line := range s.Exam.NotMade() {
		b.WriteString(phrase.Wrap(harmless.Line("– "+line), width) + "\n")
	}
	head := harmless.Line(story.SuiteHeadline(s)) + "."
	if color {
		head = ansiBold + head + ansiReset
	}
	fmt.Fprintf(&b, "\n%s\n", phrase.Wrap(head, width))
	if text := story.SuiteLede(s); text != "" {
		b.WriteString(phrase.Wrap(harmless.Line(text), width) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mark lets a fate be told at a glance.
func mark(f reports.Fate) string {
	switch f {
	case reports.Stood:
		return reports.Pass.Mark()
	case reports.FellInherent, reports.FellRelied:
		return reports.Contained.Mark()
	case reports.NothingFollows:
		return reports.Inconclusive.Mark()
	case reports.NotRun:
		return reports.Failed.Mark()
	}
	return reports.Violated.Mark()
}
