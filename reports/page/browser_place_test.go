package page

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// TestPageSentAlone: a page that lies where nothing is beside it has no links
// to other files; one in the folder of its run has them.
func TestPageSentAlone(t *testing.T) {
	v := visit(t)
	s := reporttest.CorruptedCase()
	if err := os.Mkdir(filepath.Join(v.dir, s.Dir), 0o755); err != nil {
		t.Fatal(err)
	}
	for place, alone := range map[string]bool{"report.html": true, s.Dir + "/report.html": false} {
		v.open(v.save(place, reportOf(t, s)))
		const links = `document.querySelectorAll('a[href^="./"], a[href^="../"]').length`
		if n := ask[int](v, links); (n == 0) != alone {
			t.Errorf("%s has %d links to other files", place, n)
		}
		if n := ask[int](v, `document.querySelectorAll("a[download]").length`); n == 0 {
			t.Errorf("%s hands out nothing of what it carries", place)
		}
	}
}
