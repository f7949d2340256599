package story

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// The sorts of words that a verdict uses, in the order in which they are listed.
const (
	SortVerdict  = "verdict"
	SortProperty = "property"
	SortKind     = "kind"
	SortPattern  = "pattern"
	SortAttack   = "result of an attack"
)

// Term is a word that a verdict uses, with all that is said of it. What it
// means is what the pages say, too.
type Term struct {
	Word, Sort string
	// Means says what it means, Example shows it by the smallest history that
	// has it, Do says what to do about it.
	Means   string
	Example []Step
	Do      string
	brief   string
	// See is the place in docs/ that says more.
	See string
}

// Brief is what the term means, in a line.
func (t Term) Brief() string { return t.brief }

// Named is what sort of word the term is, with its article: "a property", "an attack".
func (t Term) Named() string {
	if strings.ContainsAny(t.Sort[:1], "aeiou") {
		return "an " + t.Sort
	}
	return "a " + t.Sort
}

// Step is one line of an example: when (ms), who, and what. The step that decides begins with "!".
type Step struct {
	At   int
	Who  string
	What string
}

// Glossary lists every verdict, property, kind, pattern and result of an attack.
func Glossary() (all []Term) {
	add := func(sort, word, brief, means, see string) {
		e := examples[sort+" "+word]
		switch sort {
		case SortPattern:
			e.steps = patternExamples[word]
		case SortAttack:
			e = attackExamples[word]
		}
		all = append(all, Term{brief: brief, Word: word, Sort: sort, Means: phrase.Sentence(means), Example: e.steps,
			Do: cmp.Or(remedyText(sort, word), e.do), See: see})
	}
	for _, w := range ResultWords {
		if w.Class != "" { // the others are figures
			add(SortVerdict, w.Word, firstSentence(w.Means), w.Means, "remedies.md")
		}
	}
	for _, w := range outcomesBeside {
		add(SortVerdict, w.Word, firstSentence(w.Means), w.Means, "remedies.md")
	}
	for _, p := range checker.Properties() {
		add(SortProperty, p.Name, p.About, "It holds when this is so: "+p.About, "checker.md")
	}
	for _, kind := range kinds {
		add(SortKind, kind, KindWords(kind), KindWords(kind), "remedies.md")
	}
	for _, p := range checker.Patterns() {
		add(SortPattern, p.Name, p.Says, patternMeanings[p.Name], "explanation.md#patterns")
	}
	for f := reports.FellDefect; f <= reports.Stood; f++ {
		if f != reports.NothingFollows { // a verdict, too
			add(SortAttack, f.String(), firstSentence(FateMeans(f)), FateMeans(f), "exam.md")
		}
	}
	return all
}

// remedyText is what the pages say to do about a word; empty where that depends
// on more than the word.
func remedyText(sort, word string) string {
	var r Remedy
	switch sort {
	case SortPattern:
		r = patternRemedies[word]
	case SortKind:
		r = kindRemedies[word]
	case SortProperty:
		words := checker.Named(word).Words
		r = do(words.Lead, words.Advice, "")
	}
	return strings.TrimSpace(r.Lead + " " + r.Text.String())
}

// kinds are those of double-holds, of unfenced writes, of transactions, of stuck locks, and of
// executions of a job.
var kinds = append([]string{checker.KindLeaseOverrun, checker.KindGrantedWhileValid, checker.KindSameIdentity,
	checker.KindConfiguredIdentity, checker.KindGrantedDead, checker.KindLateNotice, checker.KindLossIgnored, checker.KindUnexplained,
	checker.KindStale, checker.KindInFlight, checker.KindReleasedBeforeCommit, checker.KindGhost,
	checker.KindAsleep, checker.KindWedged, checker.KindNeverExpired, checker.KindShutOut}, kindsOfJobs...)

// outcomesBeside are the words of a verdict that are no result of a scenario:
// an outcome of a property, the severities, and an expectation.
var outcomesBeside = []Entry{
	{Word: checker.NotJudged.String(), Means: "The lock does not claim this property, or nothing happened that it could be held against. It is never a pass."},
	{Word: checker.Untested.String(), Means: "A severity: " + severityMeans(reports.Scenario{}, checker.Untested) +
		"."},
	{Word: checker.Corrupting.String(), Means: "A severity: " + severityMeans(reports.Scenario{}, checker.Corrupting) +
		"."},
	{Word: "either", Means: "An expectation: theory leaves to chance whether anything is violated, so the scenario accepts both."},
}

// Explain returns what there is to say of a word, in every sort that has it. A letter's case does
// not matter. What violations of a property are called ("stale writes") stands for the property,
// and "inherent" for "fell: inherent".
func Explain(word string) []Term {
	word = strings.ToLower(strings.Join(strings.Fields(word), " "))
	spaced := strings.ReplaceAll(strings.TrimSuffix(word, "s"), "-", " ")
	return slices.DeleteFunc(Glossary(), func(t Term) bool {
		if _, how, fell := strings.Cut(strings.ToLower(t.Word), "fell: "); fell && how == word {
			return false
		}
		noun := strings.ReplaceAll(checker.Named(t.Word).Words.Violation, "-", " ")
		return !strings.EqualFold(t.Word, word) && (t.Sort != SortProperty || noun == "" || noun != spaced)
	})
}

// WriteTerm writes a term for a terminal of so many columns.
func WriteTerm(w io.Writer, t Term, width int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n\n%s\n", t.Word, t.Named(), indented(t.Means, width))
	if len(t.Example) > 0 {
		b.WriteString("\nFor example:\n\n")
		who := 0
		for _, s := range t.Example {
			who = max(who, len([]rune(s.Who)))
		}
		for _, s := range t.Example {
			mark, what := " ", s.What
			if rest, decides := strings.CutPrefix(what, "!"); decides {
				mark, what = "!", rest
			}
			fmt.Fprintf(&b, "  %s %5d ms  %-*s  %s\n", mark, s.At, who, s.Who, what)
		}
	}
	fmt.Fprintf(&b, "\nWhat to do:\n\n%s\n\nMore: %s%s\n", indented(t.Do, width), OnTheWeb, t.See)
	_, err := io.WriteString(w, b.String())
	return err
}

// indented is a text of several lines, set in by two columns.
func indented(text string, width int) string {
	if width <= 0 || width > 100 {
		width = 100
	}
	return "  " + strings.ReplaceAll(phrase.Wrap(text, width-2), "\n", "\n  ")
}

// firstSentence is what a text begins with.
func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return phrase.Stop(first)
}
