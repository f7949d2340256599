package page

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/reports/reporttest"
	"github.com/lockchaos/lockchaos/reports/terminal"
)

func TestComparisonIsTold(t *testing.T) {
	c := reporttest.Comparison()
	var text, page bytes.Buffer
	if err := terminal.ComparisonText(&text, c, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"redis: 7.0 → 7.2", "stuck-lock: pass → violated",
		"Of 7 scenarios: 1 worse, 1 no longer decided, 1 better, 1 decided now, 1 only in A, 1 only in B, 1 the same."} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, text.String())
		}
	}
	if err := WriteComparison(&page, c, "../first?", "."); err != nil {
		t.Fatal(err)
	}
	html := page.String()
	for _, want := range []string{`href="./../first%3F/d/report.html"`, `href="./d/report.html"`, `href="./../first%3F/index.html"`} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(html, "<script") {
		t.Error("a version is not escaped")
	}
}
