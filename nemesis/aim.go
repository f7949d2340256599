package nemesis

import "github.com/lockchaos/lockchaos/history"

// Moment is a step of a client's way through its ops, at which a fault can strike.
type Moment string

// The moments, in the order in which a client passes them.
const (
	// Acquiring: an acquire was sent and has not been answered. The time
	// between is drawn at random (see Delay).
	Acquiring Moment = "acquiring"
	// AfterGrant: the acquire's answer has arrived, nothing has been done under the grant.
	AfterGrant Moment = "after-grant"
	// BetweenReadAndWrite: the read's answer has arrived; the client works on it.
	BetweenReadAndWrite Moment = "between-read-and-write"
	// WhileRenewing: a renewal was sent and has not been answered. Only where
	// the application renews; what a lock does in the background passes no
	// step. The time between is drawn at random, as of Acquiring.
	WhileRenewing Moment = "while-renewing"
	// BeforeWrite: the work is done, the guard (if any) has been passed; the
	// write is the next step.
	BeforeWrite Moment = "before-write"
	// BeforeCommit: the write was answered within a transaction; the commit is the next step. The
	// client may have given the lock back (workload transaction, order release-first).
	BeforeCommit Moment = history.MomentBeforeCommit
	// BeforeRelease: all is done; the release is the next step.
	BeforeRelease Moment = "before-release"
	// Random is no step: the fault strikes whenever its time has come.
	Random Moment = "random"
)

// Moments lists every moment that a fault can be aimed at.
func Moments() []Moment {
	return []Moment{Acquiring, AfterGrant, BetweenReadAndWrite, WhileRenewing, BeforeWrite, BeforeCommit, BeforeRelease,
		Random}
}

// Step is where a client is when it asks whether a fault strikes.
type Step struct {
	Moment Moment
	Client int32
	// Grant is the grant under which the client acts; 0 while it acquires.
	Grant int64
	// Key is the lock key that the client holds or acquires.
	Key string
}

// Aim says whom a fault strikes and when.
type Aim struct {
	Target Target
	When   Moment
}

// Strikes reports whether a fault that is armed strikes at this step, for any
// target: the step of one client may be the moment for another one, or for
// nodes. An aim at a random moment never strikes at a step: its own timer does.
// A holder is struck while it acquires before it knows that it is one.
func (a Aim) Strikes(s Step) bool {
	if a.When == Random || a.When != s.Moment {
		return false
	}
	return (s.Grant != 0) == (s.Moment != Acquiring)
}
