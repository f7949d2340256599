package page

import (
	"strings"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// examPage is what the page of an exam has instead of a matrix.
type examPage struct {
	Attacks []attackRow
	Reasons []leftOut // of those that were not applicable
	Left    []leftOut // of those that did not fit into the budget
	Mended  *mendedPage
}

// mendedPage says what the lock comes to without its first defect, and where
// the attacks are that show it; "": there are none.
type mendedPage struct{ Defect, Text, Href string }

// attackRow is one attack. Those that fell come first.
type attackRow struct{ Name, Href, Fate, Class, About, Showed, Rerun string }

// leftOut is why some attacks were not made.
type leftOut struct{ Why, Attacks string }

func examPageOf(s reports.Suite) *examPage {
	p := &examPage{}
	for f := reports.FellDefect; f <= reports.Stood; f++ {
		for _, x := range s.ByFate(f) {
			row := attackRow{Name: phrase.Clip(x.Fault, phrase.MostName), Href: link(x), Fate: f.String(),
				Class: FateClass(f), About: phrase.Sentence(phrase.Clip(x.About, phrase.MostText)),
				Showed: strings.TrimSpace(phrase.Sentence(x.FateWords(f)) + " " + phrase.Sentence(x.Unknown()))}
			if f != reports.Stood {
				row.Rerun = x.Rerun
			}
			p.Attacks = append(p.Attacks, row)
		}
	}
	if m := s.Exam.Mended; m != nil {
		p.Mended = &mendedPage{Defect: phrase.Sentence(reports.DefectWords(m.Defect)),
			Text: phrase.Sentence(phrase.Clip(m.String(), phrase.MostText))}
		if m.Dir != "" {
			p.Mended.Href = href(m.Dir, reports.IndexFile)
		}
	}
	p.Reasons, p.Left = leftOuts(s.Exam.Reasons()), leftOuts(s.Exam.LeftOver())
	return p
}

func leftOuts(all []reports.Reason) (out []leftOut) {
	for _, r := range all {
		out = append(out, leftOut{phrase.Clip(r.Why, phrase.MostText), strings.Join(r.Attacks, ", ")})
	}
	return out
}

// leftWord is what a page calls attacks that did not fit into the budget.
const leftWord = "left out"

// fateTiles count the attacks by fate.
func fateTiles(s reports.Suite) (out []tile) {
	for f := reports.FellDefect; f <= reports.Stood; f++ {
		n := len(s.ByFate(f))
		if n > 0 || f == reports.FellDefect || f == reports.Stood {
			out = append(out, tile{Count: phrase.Grouped(n), Word: f.String(), Class: FateClass(f)})
		}
	}
	if n := len(s.Exam.Left); n > 0 {
		out = append(out, tile{Count: phrase.Grouped(n), Word: leftWord, Class: "s"})
	}
	return append(out, tile{Count: phrase.Grouped(len(s.Exam.Not)), Word: "not applicable", Class: "s"})
}

// FateClass is the colour of a fate, a class of the style sheet.
func FateClass(f reports.Fate) string {
	return [...]string{reports.FellDefect: "v", reports.FellUnclear: "v", reports.FellRelied: "c",
		reports.FellInherent: "c", reports.NothingFollows: "i", reports.NotRun: "f", reports.Stood: "p"}[f]
}

// wordsOfExams say what the words of an exam's page mean. A fate that says nothing of the lock is
// told with its reason.
func wordsOfExams() (all []story.Entry) {
	for f := reports.FellDefect; f <= reports.Stood; f++ {
		if f != reports.NotRun {
			all = append(all, story.Entry{Word: f.String(), Means: story.FateMeans(f), Class: FateClass(f)})
		}
	}
	return append(all, []story.Entry{
		{Word: leftWord, Means: "It makes sense against the lock, and did not fit into the time that --budget gave. What the exam says is of the attacks that were made.", Class: "s"},
		{Word: "not applicable", Means: "The lock has no such step, or its service no such node.", Class: "s"},
	}...)
}
