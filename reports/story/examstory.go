package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// fateVerbs say in the headline what attacks of a fate did.
var fateVerbs = [...]string{reports.FellUnclear: "fell, and it is not clear why",
	reports.FellRelied:     "broke what it relies on: a clock, or the memory of its service",
	reports.FellInherent:   "fell to what no lease prevents; a fence would contain that",
	reports.NothingFollows: "inconclusive", reports.NotRun: "not run"}

// examHeadline says what the exam has shown: the defects first, and what is inherent after them.
func examHeadline(s reports.Suite) string {
	parts := []string{phrase.Plural(len(s.Scenarios), "attack")}
	if n := len(s.Exam.Left); n > 0 {
		parts[0] = fmt.Sprintf("%s of %s", phrase.Grouped(len(s.Scenarios)),
			phrase.Plural(len(s.Scenarios)+n, "attack"))
	}
	defects := s.AllDefects()
	if len(defects) > 0 {
		parts = append(parts, phrase.Plural(len(defects), "defect")+": "+strings.Join(defects, "; "))
	} else {
		parts = append(parts, "No defect")
	}
	for f := reports.FellDefect + 1; f < reports.Stood; f++ {
		if n := len(s.ByFate(f)); n > 0 {
			parts = append(parts, phrase.Grouped(n)+" "+fateVerbs[f])
		}
	}
	if n := len(s.Exam.Left); n > 0 {
		parts = append(parts, phrase.Grouped(n)+" left out by --budget")
	}
	if n := len(s.Exam.Not); n > 0 {
		parts = append(parts, phrase.Grouped(n)+" not applicable")
	}
	return strings.Join(parts, ". ")
}

// mostComplete bounds what is told of a complete search: its counts and its bounds.
const mostComplete = 2000

// examLede says which attacks showed the defects, and what a lock that stood is worth.
func examLede(s reports.Suite) string {
	var out []string
	defects, mended := s.ExamDefects(), s.Exam.Mended
	first := 0 // the defect that may hide the others
	if mended != nil {
		first = slices.Index(defects, reports.DefectWords(mended.Defect))
	}
	for i, word := range defects {
		var by []string
		for _, x := range s.ShownBy(word) {
			by = append(by, phrase.Clip(x.Fault, phrase.MostName))
		}
		text := word + ": shown by " + phrase.List(by)
		if i != first && first >= 0 && s.HidesBehind(word, defects[first]) {
			text += mended.Behind(word)
		}
		out = append(out, phrase.Sentence(text))
		if i == first && mended != nil {
			out = append(out, phrase.Sentence(phrase.Clip(mended.String(), phrase.MostText)))
		}
	}
	if bites := s.Withstood(); bites > 0 {
		_, high := checker.Wilson(0, int64(bites))
		out = append(out, fmt.Sprintf("In the attacks that it stood, %s struck and none broke it: it breaks under fewer than %.1f %% of such faults (95 %% confidence).",
			phrase.Plural(bites, "fault"), 100*high))
	}
	if c := s.Exam.Complete; c != nil {
		out = append(out, phrase.Sentence(phrase.Clip(c.Told, mostComplete)), "Its report: "+phrase.Clip(c.Report, phrase.MostText)+".")
	}
	if len(s.Exam.Left) > 0 {
		out = append(out, fmt.Sprintf("This covers only the attacks that fit into --budget %v, the most telling ones.", s.Exam.Budget))
	}
	if s.Exam.Short {
		out = append(out, "Only the most telling attacks were made.")
	}
	return strings.Join(out, " ")
}
