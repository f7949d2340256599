package story

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
)

// Every word that a verdict can have is explained, with one example, in the
// order of time, in which one step decides, and with what to do.
func TestGlossary(t *testing.T) {
	var results []string
	for r := reports.Inconclusive; r <= reports.Failed; r++ {
		results = append(results, r.String())
	}
	want := map[string][]string{SortVerdict: append(append([]string{"either"}, results...), checker.NotJudged.String(),
		checker.Untested.String(), checker.Corrupting.String()),
		SortKind: kindsInTheSource(t)}
	for _, p := range checker.Properties() {
		want[SortProperty] = append(want[SortProperty], p.Name)
	}
	for _, p := range checker.Patterns() {
		want[SortPattern] = append(want[SortPattern], p.Name)
	}
	for f := reports.FellDefect; f <= reports.Stood; f++ {
		if f != reports.NothingFollows { // a verdict, too
			want[SortAttack] = append(want[SortAttack], f.String())
		}
	}
	got := map[string][]string{}
	for _, term := range Glossary() {
		got[term.Sort] = append(got[term.Sort], term.Word)
		checkTerm(t, term)
	}
	for sort, words := range want {
		slices.Sort(words)
		slices.Sort(got[sort])
		if !slices.Equal(words, got[sort]) {
			t.Errorf("%s: explained are %q, and there are %q", sort, got[sort], words)
		}
	}
	if n := len(examples) + len(patternExamples) + len(attackExamples); n != len(Glossary()) {
		t.Errorf("%d examples for %d terms: one belongs to no term", n, len(Glossary()))
	}
}

func checkTerm(t *testing.T, term Term) {
	t.Helper()
	name := term.Sort + " " + term.Word
	if term.Means == "" || term.Brief() == "" || term.Do == "" || len(term.Example) == 0 {
		t.Errorf("%s: something is missing: %+v", name, term)
	}
	if own := examples[name].do; own != "" && own != term.Do {
		t.Errorf("%s: the example says what to do, and so does a remedy: %q and %q", name, own, term.Do)
	}
	decisive := 0
	for i, s := range term.Example {
		if strings.HasPrefix(s.What, "!") {
			decisive++
		}
		if i > 0 && s.At < term.Example[i-1].At {
			t.Errorf("%s: %q comes before %q", name, s.What, term.Example[i-1].What)
		}
	}
	if decisive > 1 || decisive == 0 && term.Word != reports.Pass.String() {
		t.Errorf("%s: %d steps decide", name, decisive)
	}
	file, anchor, _ := strings.Cut(term.See, "#")
	text, err := os.ReadFile("../../docs/" + file)
	if err != nil || anchor != "" && !strings.Contains(strings.ToLower(string(text)), "\n## "+anchor) {
		t.Errorf("%s: docs/%s is not there: %v", name, term.See, err)
	}
}

// kindsInTheSource are those that package checker has constants for.
func kindsInTheSource(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile("../../checker/kinds.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:const )?Kind\w+\s+= "([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
		all = append(all, m[1])
	}
	if len(all) < 7 {
		t.Fatalf("only %q", all)
	}
	return all
}

// What explain says to do is what the pages say: one text each.
func TestExplainSaysWhatThePagesSay(t *testing.T) {
	said := map[string]string{}
	for _, term := range Glossary() {
		said[term.Sort+" "+term.Word] = term.Do
	}
	for word, r := range patternRemedies {
		if got := said[SortPattern+" "+word]; got != r.Lead+" "+r.Text.String() {
			t.Errorf("pattern %s: %q", word, got)
		}
	}
	for word, r := range kindRemedies {
		if got := said[SortKind+" "+word]; got != r.Lead+" "+r.Text.String() {
			t.Errorf("kind %s: %q", word, got)
		}
	}
	for _, p := range checker.Properties() {
		if got := said[SortProperty+" "+p.Name]; p.Words.Lead != "" && got != p.Words.Lead+" "+p.Words.Advice {
			t.Errorf("property %s: %q", p.Name, got)
		}
	}
}

func TestExplain(t *testing.T) {
	for word, sorts := range map[string]string{"unexplained": "kind pattern", "NOT  judged": "verdict", "Herd": "property", "herds": "",
		"inherent": "result of an attack", "fell: inherent": "result of an attack", "a defect": "result of an attack"} {
		var got []string
		for _, term := range Explain(word) {
			got = append(got, term.Sort)
		}
		if strings.Join(got, " ") != sorts {
			t.Errorf("%s: %q, want %q", word, got, sorts)
		}
	}
}

// What outputs call the violations of a property explains the property.
func TestExplainNouns(t *testing.T) {
	for word, want := range map[string]string{"double-hold": checker.MutualExclusion,
		"Double holds": checker.MutualExclusion, "stale writes": checker.UnfencedWrite} {
		if got := Explain(word); len(got) != 1 || got[0].Word != want {
			t.Errorf("%s: %+v, want %s", word, got, want)
		}
	}
	if got := Explain(""); len(got) != 0 {
		t.Errorf("nothing is explained as %+v", got)
	}
}
