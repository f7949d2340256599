package terminal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

func TestTableOfRepetitions(t *testing.T) {
	r := reporttest.Repetition()
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
		r.Add(7, "seed-7", []reports.Scenario{reporttest.Trial(name, checker.Pass)})
		r.Add(8, "seed-8", []reports.Scenario{reporttest.Trial(name, []checker.Outcome{checker.Pass, checker.Violated}[i])})
	}
	b.Reset()
	if err := RepetitionText(&b, r, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"d came to different results:", "✓ pass: seed 7", "✗ violated: seed 8",
		"2 of 3 scenarios came to different results"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "c came to different") {
		t.Error("c came to the same each time")
	}
}
