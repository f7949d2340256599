package studies_test

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// What is worse comes first; a verdict that is lost is no improvement, and no
// change of a property is left out.
func TestWhatChangesBetweenRuns(t *testing.T) {
	c := reporttest.Comparison()
	var got []string
	for _, x := range c.Scenarios {
		got = append(got, x.Name+": "+x.Change.String())
	}
	want := "d: worse, c: no longer decided, b: better, e: decided now, only-first: only in A, only-second: only in B, a: same"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, ", "), want)
	}
	if p := c.Scenarios[0].Properties; len(p) != 1 || p[0].Name != checker.StuckLock || p[0].A != checker.Pass ||
		p[0].B != checker.Violated {
		t.Errorf("%+v", p)
	}
	if len(c.Versions) != 1 || c.Versions[0].A != "7.0" {
		t.Errorf("%+v", c.Versions)
	}
}
