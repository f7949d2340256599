package checker

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCorpusHasEachOutcome: among the hand-written histories each property has
// one that passes, one that violates it, and one that leaves it open for a
// reason of its own; each kind of violation has one that shows it.
func TestCorpusHasEachOutcome(t *testing.T) {
	text, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := string(text)
	// What leaves every property open says nothing of one.
	general := []string{"The history is truncated", "The run made", "Contended hand-overs", "The injected faults met",
		"The store's ledger is missing"}
	for _, p := range properties {
		for _, outcome := range []string{"pass", "violated"} {
			if !regexp.MustCompile(`(?m)^([a-z, -]+, )?` + p.Name + `(, [a-z, -]+)?: ` + outcome).MatchString(verdicts) {
				t.Errorf("no history has %s %s", p.Name, outcome)
			}
		}
		open := regexp.MustCompile(`(?m)^(?:[a-z, -]+, )?`+p.Name+
			`(?:, [a-z, -]+)?: inconclusive \((.*)$`).FindAllStringSubmatch(verdicts, -1)
		if !slices.ContainsFunc(open, func(m []string) bool {
			return !slices.ContainsFunc(general, func(reason string) bool { return strings.HasPrefix(m[1], reason) })
		}) {
			t.Errorf("no history leaves %s open for a reason of its own; %d do for another", p.Name, len(open))
		}
		for _, kind := range p.KindNames() {
			if !regexp.MustCompile(`(?m)^` + p.Name + `: violated ×.*\n(  .*\n)*?  .*\[` + kind + ` `).MatchString(verdicts) {
				t.Errorf("no history has %s violated as %s", p.Name, kind)
			}
		}
	}
}
