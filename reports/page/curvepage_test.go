package page

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/reports/reporttest"
	"github.com/lockchaos/lockchaos/reports/studies"
)

// A point without a struck hold has no rate, and is not drawn as never violated.
func TestCurveIsDrawnAndWritten(t *testing.T) {
	c := reporttest.Knee(0, 0, 10, 9)
	c.Points[1].Struck, c.Points[1].Harmed = 0, 0
	var page, table bytes.Buffer
	if err := WriteCurve(&page, c); err != nil {
		t.Fatal(err)
	}
	html := page.String()
	if strings.Contains(html, "<script") {
		t.Error("a name is not escaped")
	}
	if got := strings.Count(html, `class="curvedot"`); got != 2*3+1 {
		t.Errorf("%d dots: two drawings of three points, and the legend", got)
	}
	for _, want := range []string{"0.5 × TTL (250 ms): 0 % of 10, 95 % interval 0 % to 28 %", "nothing judged", "the TTL</text>"} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if err := studies.WriteCurveCSV(&table, c); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&table).ReadAll()
	if err != nil || len(lines) != 5 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	if got := strings.Join(lines[3][4:13], " "); got != "1.5 750000000 2 0 0 10 10 1.0000 0.7225" {
		t.Error(got)
	}
	if got := lines[2][11]; got != "" {
		t.Errorf("a rate of nothing is %q", got)
	}
}
