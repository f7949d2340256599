package reports

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
)

// trial is a scenario with an outcome.
func trial(name string, o checker.Outcome) Scenario {
	return Scenario{Name: name, Dir: "folder", Verdict: checker.Verdict{Outcome: o, Properties: []checker.PropertyResult{{Name: checker.StuckLock, Outcome: o}}}, Met: true}
}

func repetition() Repetition {
	r := Repetition{Suite: "mine", Wanted: 4, Ended: "All 4 runs were done.", Started: time.Unix(0, 0).UTC()}
	// They end in any order.
	r.Add(9, "seed-9", []Scenario{trial("b", checker.Violated)})
	r.Add(7, "seed-7", []Scenario{trial("b", checker.Pass)})
	r.Add(8, "seed-8", []Scenario{trial("b", checker.Inconclusive)})
	failed := trial("b", checker.Inconclusive)
	failed.Failed = "no \x1b[31mredis"
	r.Add(10, "seed-10", []Scenario{failed})
	r.Sort()
	return r
}

// What was not decided is no part of a rate, and is told beside it.
func TestRateOfRepetitions(t *testing.T) {
	s := repetition().Scenarios[0]
	if got := s.Violated(); got != (Rate{1, 2}) {
		t.Errorf("violated in %v", got)
	}
	if !s.Flaky() || s.Count(Inconclusive) != 1 || s.Count(Failed) != 1 {
		t.Errorf("%+v", s)
	}
}

func TestTableOfRepetitions(t *testing.T) {
	r := repetition()
	var b bytes.Buffer
	if err := RepetitionText(&b, r, false); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	last := 0
	for _, seed := range []string{"\n7 ", "\n8 ", "\n9 ", "\n10 "} {
		at := strings.Index(text, seed)
		if at < last {
			t.Errorf("seed %q is missing, or out of order:\n%s", seed, text)
		}
		last = at
	}
	if !strings.Contains(text, "violated in 1 of 2 decided runs") {
		t.Error(text)
	}
	for i, name := range []string{"c", "d"} {
		r.Add(7, "seed-7", []Scenario{trial(name, checker.Pass)})
		r.Add(8, "seed-8", []Scenario{trial(name, []checker.Outcome{checker.Pass, checker.Violated}[i])})
	}
	b.Reset()
	if err := RepetitionText(&b, r, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"d came to different results:", "✓ pass: seed 7", "✗ violated: seed 8", "2 of 3 scenarios came to different results"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "c came to different") {
		t.Error("c came to the same each time")
	}
}

// The record can be read back, and the page escapes what a program printed.
func TestPageOfRepetitions(t *testing.T) {
	r := repetition()
	r.Scenarios[0].Trials[0].Detail = "<script>alert(1)</script>"
	var text, page bytes.Buffer
	if err := WriteRepetitionJSON(&text, r); err != nil {
		t.Fatal(err)
	}
	var back Repetition
	if err := json.Unmarshal(text.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if err := WriteRepetition(&page, back); err != nil {
		t.Fatal(err)
	}
	html := page.String()
	if strings.Contains(html, "<script") || !strings.Contains(html, "&lt;script&gt;") {
		t.Error("a program's text is not escaped")
	}
	for _, want := range []string{`href="./seed-7/folder/report.html"`, `href="./seed-10/index.html"`, "50 % of 2"} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is missing", want)
		}
	}
}
