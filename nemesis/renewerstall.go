package nemesis

import (
	"context"
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// KindRenewerStall is the fault that holds up a lock's own renewals.
const KindRenewerStall = "renewer-stall"

var renewerStall = Kind{Name: KindRenewerStall, Needs: NeedsNothing, alone: true, single: true, Ours: true,
	check: checkRenewerStall, Touch: history.Touch{Stops: history.StopsRenewals,
		Words: history.FaultWords{Did: "not renewing", Bar: "starved",
			Client: "goes on working while its lock's renewal stands still", Over: "renews again",
			Plight: "could not renew its lease", Doc: "renewer-stall"}},
	About: "holds up the renewals that a client's lock makes by itself, while the application goes on; for locks that renew so",
	draws: []Draw{{Weight: 1, of: func(d Dice) Part { return aimed(Holder, AfterGrant, d.share(0.5, 2.5, 1)) }}},
	inject: func(ctx context.Context, s *Site) (InEffect, error) {
		return StallIn(ctx, s.Part, ActivityRenewals, s.Clients[0].App)
	}}

// checkRenewerStall reports whether there are renewals to hold up.
func checkRenewerStall(s Spec, at Setting) error {
	if err := checkStall(s, at); err != nil {
		return err
	}
	if !at.has(Renews) {
		return fmt.Errorf("a %s needs a lock that renews by itself, and whose renewals lockchaos can hold up; %s is none", s.Kind, at.Lock)
	}
	return nil
}
