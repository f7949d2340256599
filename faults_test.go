package lockchaos_test

import (
	"os"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/nemesis"
)

// TestFaultsAreDocumented: each fault points at the section of docs/faults.md that tells of it.
func TestFaultsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			sections[strings.NewReplacer(",", "", " ", "-").Replace(strings.ToLower(strings.TrimSpace(title)))] = true
		}
	}
	for _, k := range nemesis.Kinds() {
		if !sections[k.Touch.Words.Doc] {
			t.Errorf("%s points at %q, and docs/faults.md has %v", k.Name, k.Touch.Words.Doc, sections)
		}
	}
}

// TestOldFaultsDidWhatTheyDo: a history of format 1 is judged by what faults of these names do now.
func TestOldFaultsDidWhatTheyDo(t *testing.T) {
	for _, k := range nemesis.Kinds() {
		now := nemesis.Spec{Kind: k.Name}.Touch()
		old := *(&history.FaultInfo{Kind: k.Name, Injected: true}).Touches()
		if old.Words.Did == "" {
			continue // younger than format 2
		}
		old.Words, now.Words = history.FaultWords{}, history.FaultWords{}
		old.Clock, old.Strobes = "", false // which the plan says
		if old != now {
			t.Errorf("%s: %+v, and once %+v", k.Name, now, old)
		}
	}
}

// TestEveryFaultHasWords: a report tells of it as of whomever it can strike.
func TestEveryFaultHasWords(t *testing.T) {
	for _, k := range nemesis.Kinds() {
		w := k.Touch.Words
		links := nemesis.Spec{Kind: k.Name}.OnLinks()
		if w.Did == "" || len(w.Did) > 10 && w.Bar == "" && w.Did != "cut short" || len(w.Bar) > 10 {
			t.Errorf("%s: it was %q, in short %q", k.Name, w.Did, w.Bar)
		}
		if links != (w.Links != "") || !links && (!k.NodesOnly && w.Client == "" || k.Nodes && w.Nodes == "") {
			t.Errorf("%s is told as %+v", k.Name, w)
		}
	}
}
