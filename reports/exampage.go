package reports

import "strings"

// examPage is what the page of an exam has instead of a matrix.
type examPage struct {
	Attacks []attackRow
	Reasons []leftOut
}

// attackRow is one attack. Those that fell come first.
type attackRow struct{ Name, Href, Fate, Class, About, Showed, Rerun string }

// leftOut is why some attacks were not applicable.
type leftOut struct{ Why, Attacks string }

func (s Suite) examPage() *examPage {
	p := &examPage{}
	for f := FellDefect; f <= Stood; f++ {
		for _, x := range s.byFate(f) {
			row := attackRow{Name: clip(x.Fault, clipName), Href: link(x), Fate: f.String(), Class: f.Class(), About: sentence(clip(x.About, clipText)), Showed: sentence(x.fateWords(f))}
			if f != Stood {
				row.Rerun = x.Rerun
			}
			p.Attacks = append(p.Attacks, row)
		}
	}
	for _, why := range s.Exam.reasons() {
		p.Reasons = append(p.Reasons, leftOut{clip(why, clipText), strings.Join(s.Exam.because(why), ", ")})
	}
	return p
}

// fateTiles count the attacks by fate.
func (s Suite) fateTiles() (out []tile) {
	for f := FellDefect; f <= Stood; f++ {
		n := len(s.byFate(f))
		if n > 0 || f == FellDefect || f == Stood {
			out = append(out, tile{Count: grouped(n), Word: f.String(), Class: f.Class()})
		}
	}
	return append(out, tile{Count: grouped(len(s.Exam.Not)), Word: "not applicable", Class: "s"})
}

// Class is the colour of a fate, a class of the style sheet.
func (f Fate) Class() string {
	return [...]string{FellDefect: "v", FellUnclear: "v", FellRelied: "c", FellInherent: "c", NothingFollows: "i", NotRun: "f", Stood: "p"}[f]
}

// fateMeanings say what the fates mean.
var fateMeanings = []entry{
	{FellDefect.String(), "The lock broke what it claims, for certain.", FellDefect.Class()},
	{FellUnclear.String(), "A property was violated, and the record does not show whose affair that is.", FellUnclear.Class()},
	{FellRelied.String(), "A wrong clock, or a service that lost what it knew, let a second client in. The lock's code can't help that; another service can.", FellRelied.Class()},
	{FellInherent.String(), "The holder came after the end of its lease and could not know. No lease prevents that; a store that checks fencing tokens contains it.", FellInherent.Class()},
	{NothingFollows.String(), "The attack was made three times, the last time alone, and nothing follows.", NothingFollows.Class()},
	{Stood.String(), "No property was violated, and the fault is proven to have struck at least twice.", Stood.Class()},
	{"not applicable", "The lock has no such step, or its service no such node.", "s"},
}
