package nemesis

import (
	"context"
	"fmt"

	"github.com/lockchaos/lockchaos/internal/monotime"
)

// TriggeredFailover is what came of a failover that a user triggers at a service of their own. The
// service itself says who its masters are.
type TriggeredFailover struct {
	// Before and After are who the masters were, and are, in words; Changed says that these are
	// others.
	Before, After string
	Changed       bool
	// Kept: the servers' own figures show that the new masters know all that the old ones had
	// answered for. False: they do not, or nobody knows.
	Kept bool
	// Said is what the command printed, and how it ended.
	Said string
}

// failoverUnderWay is a failover by the user's command.
type failoverUnderWay struct {
	from  int64
	grant int64 // that was made just before
	done  chan struct{}
	came  TriggeredFailover
	err   error
}

// trigger waits until a lock is granted, and has the service fail over then.
func (s *Site) trigger(ctx context.Context) (InEffect, error) {
	gap, over := context.WithTimeout(ctx, gapLimit)
	defer over()
	t := &failoverUnderWay{grant: s.NextGrant(gap), done: make(chan struct{})}
	if t.grant == 0 {
		return nil, fmt.Errorf("%s: %w", KindFailover, ErrMissed)
	}
	t.from = monotime.Now()
	go func() {
		defer close(t.done)
		t.came, t.err = s.FailOver(ctx)
	}()
	return t, nil
}

// From is an instant before the command was started.
func (t *failoverUnderWay) From() int64 { return t.from }

// Holding is the grant that was made just before.
func (t *failoverUnderWay) Holding() int64 { return t.grant }

// Heal waits until the service has others as masters, or is given up. It bites only if the service
// says so.
func (t *failoverUnderWay) Heal() (Effect, error) {
	<-t.done
	e := Effect{From: t.from, To: monotime.Now()}
	if t.err != nil {
		return e, fmt.Errorf("%s: %w", KindFailover, t.err)
	}
	e.Bit, e.Kept = t.came.Changed, t.came.Changed && t.came.Kept
	e.Proof = fmt.Sprintf("before: %s; --failover-cmd, while grant %d was held: %s; after: %s", t.came.Before, t.grant, t.came.Said, t.came.After)
	switch {
	case !e.Bit:
		e.Proof += ": the masters are the same"
	case e.Kept:
		e.Proof += "; nothing was lost: the old masters follow the new ones, which had to send them no data that they had"
	}
	return e, nil
}
