package page

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// The record can be read back, and the page escapes what a program printed.
func TestPageOfRepetitions(t *testing.T) {
	r := reporttest.Repetition()
	r.Scenarios[0].Trials[0].Detail = "<script>alert(1)</script>"
	var text, page bytes.Buffer
	if err := reports.WriteRepetitionJSON(&text, r); err != nil {
		t.Fatal(err)
	}
	var back reports.Repetition
	if err := json.Unmarshal(text.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if err := WriteRepetition(&page, back); err != nil {
		t.Fatal(err)
	}
	html := page.String()
	if strings.Contains(html, "<script") || !strings.Contains(html, "&lt;script&gt;") {
		t.Error("a program's text is not escaped")
	}
	for _, want := range []string{`href="./seed-7/folder/report.html"`, `href="./seed-10/index.html"`, "50 % of 2"} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is missing", want)
		}
	}
}
