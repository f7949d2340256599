package story

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Reported is what a failure says beyond its first line; the headline tells
// that one, if it has room for it.
func Reported(failed string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(failed), "\n")
	if utf8.RuneCountInString(first) > headlineText {
		rest = failed
	}
	return phrase.Clip(rest, phrase.MostLog)
}

// ledeSentences is the most that a lede has: what a reader takes in before
// deciding whether to read on.
const ledeSentences = 4

// Lede is the paragraph under the headline, and why the outcome was expected,
// if the lede has no room for that.
func Lede(s reports.Scenario, r *reports.Record, t *Story) (p Prose, why string) {
	switch s.Result() {
	case reports.Failed:
		return failedLede(s, r, t).atMost(ledeSentences), ""
	case reports.Skipped:
		return Prose{}.t("A skip is never a pass: nothing is known about this scenario here."), ""
	case reports.Inconclusive:
		if len(s.Verdict.Reasons) == 0 {
			return expected(Prose{}.t("Nothing was judged."), nil, s)
		}
		return expected(Prose{}.t(phrase.Sentence(phrase.Clip(s.Verdict.Reasons[0], phrase.MostText))), nil, s)
	case reports.Pass:
		// What the scenario is about and why it should pass often say the same;
		// one of them is enough.
		if len(s.Expect) > 0 && s.Met && s.Why != "" {
			return expected(nil, nil, s)
		}
		p := Prose{}
		if s.About != "" {
			p = p.t(phrase.Sentence(phrase.Clip(s.About, phrase.MostText)))
		}
		return expected(p, nil, s)
	}
	if r == nil {
		return expected(nil, nil, s)
	}
	return toldLede(r, s, t)
}

// failedLede says what is known though the scenario failed: nothing, or the
// violations that were certain by then.
func failedLede(s reports.Scenario, r *reports.Record, t *Story) Prose {
	if !s.ViolatedThough() {
		return Prose{}.t("Nothing was judged. A scenario that failed says nothing about its lock.")
	}
	p := Prose{}.t("The run failed; what was recorded until then certainly shows ").b(phrase.List(s.ViolatedNames()) +
		" violated").t(". ")
	if r != nil && t != nil {
		p = append(p, tellPair(r, t)...)
	}
	return p
}

// expected joins a lede: what is told, cut to the room that the rest leaves, what else there is to
// say, and what theory says of it. Why theory says so comes back where there is no room for it.
func expected(told, more Prose, s reports.Scenario) (p Prose, why string) {
	var last Prose
	switch {
	case s.TooLittle():
		last = last.t(" The rest is inconclusive: ").b(phrase.Sentence(phrase.Clip(s.Verdict.Reasons[0],
			phrase.MostText)))
	case s.Unexpected():
		last = last.t(" ").b("This was not expected.")
	case len(s.Expect) == 0 || !s.Met || !s.Judged():
	case s.Why == "":
		if told.sentences()+more.sentences() < ledeSentences {
			last = last.t(" This was expected.")
		}
	default:
		why = phrase.Sentence(phrase.Clip(s.Why, phrase.MostText))
		if len(told)+len(more) == 0 { // it is all that there is to tell
			return becauseOf(why)
		}
		if all := slices.Concat(told, more,
			Prose{}.t(" Why this was expected: "+why)); all.sentences() <= ledeSentences {
			return all, ""
		}
	}
	told = told.atMost(max(ledeSentences-more.sentences()-last.sentences(), 1))
	return slices.Concat(told, more, last), why
}

// becauseOf is a lede that tells nothing but why its outcome was expected, and
// the whole of that where the lede has no room for it.
func becauseOf(why string) (p Prose, rest string) {
	whole := Prose{}.t(why)
	if whole.sentences() >= ledeSentences {
		whole, rest = whole.atMost(ledeSentences-1), why
	}
	return whole.t(" This was expected."), rest
}
