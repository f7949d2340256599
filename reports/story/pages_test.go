package story_test

import (
	"io"
	"testing"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/page"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// reportOf is the page of a scenario, which says what this package words.
func reportOf(t *testing.T, s reports.Scenario) string {
	return reporttest.Text(t, func(w io.Writer) error { return page.WriteScenario(w, s) })
}

// indexOf is the page of a run.
func indexOf(t *testing.T, s reports.Suite) string {
	return reporttest.Text(t, func(w io.Writer) error { return page.WriteIndex(w, s) })
}
