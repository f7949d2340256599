package page

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// So does the index page, and each scenario there leads to its page and can be filtered for.
func TestOneCauseIsToldOnceOnThePage(t *testing.T) {
	var out bytes.Buffer
	if err := WriteIndex(&out, reporttest.OfOneCause()); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(out.String(), "<h2>Look at these</h2>")
	text, _, _ = strings.Cut(text, "<h2>")
	reporttest.WantInOrder(t, text, "10 scenarios", "permission denied.", "lockchaos doctor",
		`<li><span data-lock="redis-setnx"`, `href="./0/report.html"`, `href="./9/report.html"`, "2 scenarios", "modprobe it.")
	if n := strings.Count(text, "<tr"); n != 4 { // with the head's
		t.Errorf("%d rows:\n%s", n, text)
	}
}
