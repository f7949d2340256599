package studies_test

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/reports/reporttest"
	"github.com/lockchaos/lockchaos/reports/studies"
)

func TestCurveSaysWhereTheKneeIs(t *testing.T) {
	for _, c := range []struct {
		curve studies.Curve
		want  string
	}{
		{reporttest.Knee(0, 0, 10, 9), "never violated up to 1 × TTL, and in most struck holds from 1.5 × TTL on"},
		{reporttest.Knee(0, 3, 10, 9), "never violated up to 0.5 × TTL, and in most struck holds from 1.5 × TTL on"},
		{reporttest.Knee(0, 0, 0), "was never violated, up to 1.5 × TTL"},
		{reporttest.Knee(8, 9, 10), "in most struck holds, from 0.5 × TTL on"},
		{reporttest.Knee(1, 9, 10), "in most struck holds from 1 × TTL on, and now and then below"},
		{reporttest.Knee(1, 9, 2), "violated now and then"},
		{studies.Curve{Points: []studies.CurvePoint{{Ratio: 1}}}, "no hold was struck, so nothing is known"},
	} {
		if got := c.curve.Headline(); !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
