package nemesis

import (
	"context"
	"fmt"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// KindShutdown is the fault that stops a client in order, in the middle of its work.
const KindShutdown = "shutdown"

var shutdown = Kind{Name: KindShutdown, Needs: NeedsNothing, alone: true, single: true, Ours: true, check: checkShutdown,
	Touch: history.Touch{Ends: history.EndsClosed, Words: history.FaultWords{Did: "shut down",
		Client: "is shut down in order, as by a rolling update", Doc: "shutdown"}},
	About: "stops a client in order, as a rolling update does: its application leaves its work, the lock is closed without a release, and the process ends; a fresh process takes its place",
	inject: func(_ context.Context, s *Site) (InEffect, error) {
		now := monotime.Now()
		return &Instantaneous{Effect{From: now, To: now, Bit: true,
			Proof: fmt.Sprintf("the application on %s leaves its work; its close, and the end of its process, follow", s.Clients[0].name())}}, nil
	}}

// checkShutdown reports whether the client is at its work then. One that waits is in a call of its
// lock, and gives nothing up that others wait for.
func checkShutdown(s Spec, at Setting) error {
	if err := checkStall(s, at); err != nil {
		return err
	}
	if s.When == Random || s.When == WhileRenewing {
		return fmt.Errorf("a %s strikes at a step of the holder's work, such as %s, not at %s: its application is between two calls there",
			s.Kind, BetweenReadAndWrite, s.When)
	}
	return nil
}
