package reports

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"time"
)

// knee is a curve of a lock that is safe up to its TTL.
func knee(violated ...int) Curve {
	c := Curve{Lock: "mine<script>", Fault: "pause-holder", TTL: 500 * time.Millisecond, Property: "mutual-exclusion", Over: "duration", Runs: 2}
	for i, n := range violated {
		ratio := 0.5 + 0.5*float64(i)
		c.Points = append(c.Points, CurvePoint{Ratio: ratio, Value: int64(ratio * 5e8), Struck: 10, Violated: n, Harmed: n / 2, Runs: 2, Shortest: int64(ratio * 5e8), Longest: int64(ratio * 6e8)})
	}
	return c
}

func TestCurveSaysWhereTheKneeIs(t *testing.T) {
	for _, c := range []struct {
		curve Curve
		want  string
	}{
		{knee(0, 0, 10, 9), "never violated up to 1 × TTL, and in most struck holds from 1.5 × TTL on"},
		{knee(0, 3, 10, 9), "never violated up to 0.5 × TTL, and in most struck holds from 1.5 × TTL on"},
		{knee(0, 0, 0), "was never violated, up to 1.5 × TTL"},
		{knee(8, 9, 10), "in most struck holds, from 0.5 × TTL on"},
		{knee(1, 9, 10), "in most struck holds from 1 × TTL on, and now and then below"},
		{knee(1, 9, 2), "violated now and then"},
		{Curve{Points: []CurvePoint{{Ratio: 1}}}, "no hold was struck, so nothing is known"},
	} {
		if got := c.curve.headline(); !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A point without a struck hold has no rate, and is not drawn as never violated.
func TestCurveIsDrawnAndWritten(t *testing.T) {
	c := knee(0, 0, 10, 9)
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
	if err := WriteCurveCSV(&table, c); err != nil {
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

func TestTicks(t *testing.T) {
	for v, want := range map[float64]float64{0.05: 0.1, 0.11: 0.25, 0.26: 0.5, 0.6: 1, 1.2: 2.5, 40: 50} {
		if got := tickStep(v); got < want*0.999 || got > want*1.001 {
			t.Errorf("%v: %v, want %v", v, got, want)
		}
	}
}
