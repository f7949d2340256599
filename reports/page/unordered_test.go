package page

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
	"golang.org/x/net/html"
)

// TestPageInNoOrder: no part of a page calls one of two grants the earlier
// where their order is not known; where it is known, the page says it.
func TestPageInNoOrder(t *testing.T) {
	for asks, unordered := range map[float64]bool{5: true, 15: false} {
		s := reporttest.Crossed(asks)
		v := checker.Judge(&s.History, checker.Options{Keep: reports.KeptViolations})
		if p := v.Property(checker.MutualExclusion); p.Outcome != checker.Violated || p.Violations[0].Unordered != unordered {
			t.Fatalf("asked at %v ms: %s, %+v", asks, p.Outcome, p.Violations)
		}
		page := body(html.UnescapeString(reportOf(t, reporttest.Scenario("a-lock/pause-holder/unfenced", &s.History, v))))
		for _, words := range []string{"earlier grant", "earlier holder", "later holder", "no longer its own",
			"was promised it for another", "(stale)", "still promised it"} {
			if strings.Contains(page, words) == unordered {
				t.Errorf("asked at %v ms, %q: it is said although the order is unknown, or not said although it is known", asks, words)
			}
		}
		if froze := strings.Contains(page, "client 2 is frozen"); froze != unordered {
			t.Errorf("asked at %v ms: the freeze of client 2 is told: %v", asks, froze)
		}
	}
}
