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
	Reasons []leftOut
}

// attackRow is one attack. Those that fell come first.
type attackRow struct{ Name, Href, Fate, Class, About, Showed, Rerun string }

// leftOut is why some attacks were not applicable.
type leftOut struct{ Why, Attacks string }

func examPageOf(s reports.Suite) *examPage {
	p := &examPage{}
	for f := reports.FellDefect; f <= reports.Stood; f++ {
		for _, x := range s.ByFate(f) {
			row := attackRow{Name: phrase.Clip(x.Fault, phrase.MostName), Href: link(x), Fate: f.String(), Class: FateClass(f), About: phrase.Sentence(phrase.Clip(x.About, phrase.MostText)), Showed: phrase.Sentence(x.FateWords(f))}
			if f != reports.Stood {
				row.Rerun = x.Rerun
			}
			p.Attacks = append(p.Attacks, row)
		}
	}
	for _, why := range s.Exam.Reasons() {
		p.Reasons = append(p.Reasons, leftOut{phrase.Clip(why, phrase.MostText), strings.Join(s.Exam.Because(why), ", ")})
	}
	return p
}

// fateTiles count the attacks by fate.
func fateTiles(s reports.Suite) (out []tile) {
	for f := reports.FellDefect; f <= reports.Stood; f++ {
		n := len(s.ByFate(f))
		if n > 0 || f == reports.FellDefect || f == reports.Stood {
			out = append(out, tile{Count: phrase.Grouped(n), Word: f.String(), Class: FateClass(f)})
		}
	}
	return append(out, tile{Count: phrase.Grouped(len(s.Exam.Not)), Word: "not applicable", Class: "s"})
}

// FateClass is the colour of a fate, a class of the style sheet.
func FateClass(f reports.Fate) string {
	return [...]string{reports.FellDefect: "v", reports.FellUnclear: "v", reports.FellRelied: "c", reports.FellInherent: "c", reports.NothingFollows: "i", reports.NotRun: "f", reports.Stood: "p"}[f]
}

// fateMeanings say what the fates mean.
var fateMeanings = []story.Entry{
	{Word: reports.FellDefect.String(), Means: "The lock broke what it claims, for certain.", Class: FateClass(reports.FellDefect)},
	{Word: reports.FellUnclear.String(), Means: "A property was violated, and the record does not show whose affair that is.", Class: FateClass(reports.FellUnclear)},
	{Word: reports.FellRelied.String(), Means: "A wrong clock, or a service that lost what it knew, let a second client in. The lock's code can't help that; another service can.", Class: FateClass(reports.FellRelied)},
	{Word: reports.FellInherent.String(), Means: "The holder came after the end of its lease and could not know. No lease prevents that; a store that checks fencing tokens contains it.", Class: FateClass(reports.FellInherent)},
	{Word: reports.NothingFollows.String(), Means: "The attack was made three times, the last time alone, and nothing follows.", Class: FateClass(reports.NothingFollows)},
	{Word: reports.Stood.String(), Means: "No property was violated, and the fault is proven to have struck at least twice.", Class: FateClass(reports.Stood)},
	{Word: "not applicable", Means: "The lock has no such step, or its service no such node.", Class: "s"},
}
