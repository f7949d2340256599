package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// outcomes makes a run whose scenarios came to these outcomes.
func outcomes(all map[string]checker.Outcome, redis string) (s Suite) {
	s.Versions = []history.Part{{Name: "redis", Version: redis}, {Name: "kernel", Version: "6"}}
	for _, name := range []string{"a", "b", "c", "d", "e", "only-first", "only-second"} {
		if o, there := all[name]; there {
			x := trial(name, o)
			x.Dir = name
			s.Scenarios = append(s.Scenarios, x)
		}
	}
	return s
}

func comparison() Comparison {
	const pass, violated, unclear = checker.Pass, checker.Violated, checker.Inconclusive
	return Compare(
		outcomes(map[string]checker.Outcome{"a": pass, "b": violated, "c": violated, "d": pass, "e": unclear, "only-first": pass}, "7.0"),
		outcomes(map[string]checker.Outcome{"a": pass, "b": pass, "c": unclear, "d": violated, "e": pass, "only-second": violated}, "7.2<script>"))
}

// What is worse comes first; a verdict that is lost is no improvement, and no change of a property is left out.
func TestWhatChangesBetweenRuns(t *testing.T) {
	c := comparison()
	var got []string
	for _, x := range c.Scenarios {
		got = append(got, x.Name+": "+x.Change.String())
	}
	want := "d: worse, c: no longer decided, b: better, e: decided now, only-first: only in A, only-second: only in B, a: same"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, ", "), want)
	}
	if p := c.Scenarios[0].Properties; len(p) != 1 || p[0].Name != checker.StuckLock || p[0].A != checker.Pass || p[0].B != checker.Violated {
		t.Errorf("%+v", p)
	}
	if len(c.Versions) != 1 || c.Versions[0].A != "7.0" {
		t.Errorf("%+v", c.Versions)
	}
}

// Every pair of results has its change, and the way back is its opposite.
func TestChangesAreConsistent(t *testing.T) {
	opposite := map[Change]Change{Worse: Better, Better: Worse, Undecided: Decided, Decided: Undecided, Same: Same}
	for a := Inconclusive; a <= Failed; a++ {
		for b := Inconclusive; b <= Failed; b++ {
			there, back := change(a, b), change(b, a)
			if opposite[there] != back || (a == b) && there != Same {
				t.Errorf("%v to %v is %v, and back %v", a, b, there, back)
			}
		}
	}
}

func TestComparisonIsTold(t *testing.T) {
	c := comparison()
	var text, page bytes.Buffer
	if err := ComparisonText(&text, c, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"redis: 7.0 → 7.2", "stuck-lock: pass → violated", "Of 7 scenarios: 1 worse, 1 no longer decided, 1 better, 1 decided now, 1 only in A, 1 only in B, 1 the same."} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, text.String())
		}
	}
	if err := WriteComparison(&page, c, "../first?", "."); err != nil {
		t.Fatal(err)
	}
	html := page.String()
	for _, want := range []string{`href="./../first%3F/d/report.html"`, `href="./d/report.html"`, `href="./../first%3F/index.html"`} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(html, "<script") {
		t.Error("a version is not escaped")
	}
}
