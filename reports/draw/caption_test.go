package draw

import (
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// Two holders are named on the timeline where there were two, and nowhere else.
func TestTwoHoldersAreCaptionedByTheDoubleHold(t *testing.T) {
	r := reports.NewRecord(reporttest.CorruptedCase().History, reporttest.CorruptedCase().Verdict)
	held := checker.Violation{Property: checker.MutualExclusion, Key: "k0", From: 100 * reporttest.Ms,
		To: 200 * reporttest.Ms, At: 200 * reporttest.Ms,
		A: &checker.GrantRef{LastAct: 200 * reporttest.Ms}, B: &checker.GrantRef{LastAct: 300 * reporttest.Ms}}
	given, dead := held, held
	given.A = &checker.GrantRef{}
	dead.Property = checker.DeadGrant
	for want, v := range map[string]checker.Violation{"mutual-exclusion: two holders of k0, 100 ms": held,
		"mutual-exclusion: k0 given to two, 100 ms": given, "dead-grant: 100 ms": dead} {
		if got := placeOf(r, &v).Label; got != want {
			t.Errorf("%s: caption %q, want %q", v.Property, got, want)
		}
	}
}
