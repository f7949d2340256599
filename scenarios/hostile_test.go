package scenarios

import (
	"strings"
	"testing"
	"time"
)

// TestHostileSuite: a suite that names hundreds of thousands of scenarios, or
// mistakes, is refused in little time, with the place.
func TestHostileSuite(t *testing.T) {
	list := func(n int) string { return strings.Repeat("x, ", n) }
	for name, c := range map[string][2]string{
		"locks": {"suite: s\nmatrix:\n- locks: [" + list(50_000) + "]\n  cases: [{name: a}]\n",
			"x.yaml:3:8: more than 20000 scenarios"},
		"cases": {"suite: s\nmatrix:\n- locks: [" + list(500) + "]\n  cases: [" +
			strings.Repeat("{name: a}, ", 500) + "]\n", "more than 20000 scenarios"},
		"scenarios": {"suite: s\nscenarios:\n" + strings.Repeat("- {name: a}\n", 30_000), "more than 20000 scenarios"},
		"mistakes":  {"suite: s\nmatrix:\n- locks: [" + list(10_000) + "]\n  cases: [{name: a}]\n", "x.yaml:3:"},
	} {
		begin := time.Now()
		_, err := Parse([]byte(c[0]), "x.yaml", Catalogue{})
		if err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %.300v", name, err)
		}
		t.Logf("%s: %v", name, time.Since(begin))
		if n := strings.Count(err.Error(), "\n"); n > 200 {
			t.Errorf("%s: %d lines of mistakes", name, n)
		}
	}
}
