package story

import (
	"testing"

	"github.com/lockchaos/lockchaos/checker"
)

// Every pattern is explained to newcomers.
func TestEveryPatternIsExplained(t *testing.T) {
	for _, p := range checker.Patterns() {
		if patternMeanings[p.Name] == "" {
			t.Errorf("%s is not explained", p.Name)
		}
	}
	if len(patternMeanings) != len(checker.Patterns()) {
		t.Error("what is explained is no pattern")
	}
}
