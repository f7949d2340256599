package reports

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// reported is what a failure says beyond its first line; the headline tells that one, if it has room for it.
func reported(failed string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(failed), "\n")
	if utf8.RuneCountInString(first) > headlineText {
		rest = failed
	}
	return clip(rest, clipLog)
}

// ledeSentences is the most that a lede has: what a reader takes in before deciding whether to read on.
const ledeSentences = 4

// lede is the paragraph under the headline, and why the outcome was expected, if the lede has no room for that.
func lede(s Scenario, r *record, t *story) (p prose, why string) {
	switch s.Result() {
	case Failed:
		return failedLede(s, r, t).atMost(ledeSentences), ""
	case Skipped:
		return prose{}.t("A skip is never a pass: nothing is known about this scenario here."), ""
	case Inconclusive:
		if len(s.Verdict.Reasons) == 0 {
			return expected(prose{}.t("Nothing was judged."), nil, s)
		}
		return expected(prose{}.t(sentence(clip(s.Verdict.Reasons[0], clipText))), nil, s)
	case Pass:
		// What the scenario is about and why it should pass often say the same; one of them is enough.
		if len(s.Expect) > 0 && s.Met && s.Why != "" {
			return expected(nil, nil, s)
		}
		p := prose{}
		if s.About != "" {
			p = p.t(sentence(clip(s.About, clipText)))
		}
		return expected(p, nil, s)
	}
	if r == nil {
		return expected(nil, nil, s)
	}
	return r.lede(s, t)
}

// failedLede says what is known though the scenario failed: nothing, or the violations that were certain by then.
func failedLede(s Scenario, r *record, t *story) prose {
	if !s.violatedThough() {
		return prose{}.t("Nothing was judged. A scenario that failed says nothing about its lock.")
	}
	p := prose{}.t("The run failed; what was recorded until then certainly shows ").b(list(s.violatedNames()) + " violated").t(". ")
	if r != nil && t != nil {
		p = append(p, r.tellPair(t)...)
	}
	return p
}

// expected joins a lede: what is told, cut to the room that the rest leaves, what else there is to say, and what theory says of it. Why theory says so
// comes back where there is no room for it.
func expected(told, more prose, s Scenario) (p prose, why string) {
	var last prose
	switch {
	case s.tooLittle():
		last = last.t(" The rest is inconclusive: ").b(sentence(clip(s.Verdict.Reasons[0], clipText)))
	case s.unexpected():
		last = last.t(" ").b("This was not expected.")
	case len(s.Expect) == 0 || !s.Met || !s.judged():
	case s.Why == "":
		if told.sentences()+more.sentences() < ledeSentences {
			last = last.t(" This was expected.")
		}
	default:
		why = sentence(clip(s.Why, clipText))
		if len(told)+len(more) == 0 { // it is all that there is to tell
			return becauseOf(why)
		}
		if all := slices.Concat(told, more, prose{}.t(" Why this was expected: "+why)); all.sentences() <= ledeSentences {
			return all, ""
		}
	}
	told = told.atMost(max(ledeSentences-more.sentences()-last.sentences(), 1))
	return slices.Concat(told, more, last), why
}

// becauseOf is a lede that tells nothing but why its outcome was expected, and the whole of that where the lede has no room for it.
func becauseOf(why string) (p prose, rest string) {
	whole := prose{}.t(why)
	if whole.sentences() >= ledeSentences {
		whole, rest = whole.atMost(ledeSentences-1), why
	}
	return whole.t(" This was expected."), rest
}
