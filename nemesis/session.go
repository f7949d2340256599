package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// KindExpireSession is the end of a client's session.
const KindExpireSession = "expire-session"

var expireSession = Kind{Name: KindExpireSession, Needs: NeedsNothing, endsSessions: true, alone: true, single: true,
	mayMiss: true, Ours: true, check: checkExpireSession,
	Touch: history.Touch{Ends: history.EndsSession, Sudden: true,
		Words: history.FaultWords{Did: "deprived of its session", Bar: "expired",
			Client: "loses its session, which the lock service is made to end", Plight: "lost its session",
			Doc: "expire-session"}},
	About: "ends a client's session at the lock service by the service's own means: a lease of etcd is revoked, a session of ZooKeeper closed, PostgreSQL's backends of the client terminated",
	draws: []Draw{{Weight: 2, Beside: true,
		of: func(d Dice) Part { return aimed(Holder, pick(d, AfterGrant, BeforeWrite), 0) }}},
	inject: func(ctx context.Context, s *Site) (InEffect, error) {
		c := s.Clients[0]
		return ExpireSession(ctx, s.Names()[0], func(ctx context.Context) ([]string,
			error) {
			return s.Expire(ctx, c.Number, c.Proc.Host().Addr)
		})
	}}

// checkExpireSession reports whether there are sessions that can be ended.
func checkExpireSession(s Spec, at Setting) error {
	if !at.has(Sessions) {
		return fmt.Errorf("%s needs a lock service that has %s", s.Kind, Sessions)
	}
	if at.has(Untold) {
		return fmt.Errorf("an %s at %s needs the number of the session, which this lock does not tell", s.Kind,
			at.Service)
	}
	return nil
}

// sessionLimit is how long a client may go without telling of any session
// before that is an error, and how long its service may take to end one.
const sessionLimit = 5 * time.Second

// sessionPatience is how long a client that has lost its session may be without
// a new one, before the strike is given up as missed.
const sessionPatience = 50 * time.Millisecond

// sessionStep is the pause between two looks whether the client has a session.
const sessionStep = 10 * time.Millisecond

// ErrUntold says that a client has not told of any session so far.
var ErrUntold = errors.New("its lock has told of no session")

// ExpireSession ends all sessions that a client has at the lock service. End asks the
// service to do so and returns what the service answered, a text for each; none: the
// client has no session just now (it has not noticed yet that it lost the one before,
// say), and is looked at again for a moment; then the strike has missed it (ErrMissed), as
// one has whose client does not tell of a session for long. ErrUntold of end: it has not
// had any so far. From is before the service was asked, To after it answered: the sessions
// ended in between. Nothing heals it but a new session, which the client opens itself.
func ExpireSession(ctx context.Context, client string, end func(context.Context) ([]string, error)) (*Instantaneous, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, sessionLimit, fmt.Errorf("it took longer than %v", sessionLimit))
	defer cancel()
	for without := int64(0); ; {
		from := monotime.Now()
		answers, err := end(ctx)
		switch {
		case len(answers) > 0:
			return &Instantaneous{Effect{From: from, To: monotime.Now(), Bit: true,
				Proof: client + ": " + strings.Join(answers, "; ")}}, nil
		case err != nil && !errors.Is(err, ErrUntold):
			return nil, fmt.Errorf("expire-session of %s: %w", client, err)
		case err == nil && without == 0:
			without = from
		case err == nil && monotime.Since(without) > sessionPatience:
			return nil, fmt.Errorf("expire-session of %s, which has no session: %w", client, ErrMissed)
		}
		select {
		case <-time.After(sessionStep):
		case <-ctx.Done():
			if errors.Is(err, ErrUntold) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				// it may be one that opens its session within its first
				// acquire, and tells of it at the end
				err = errors.Join(ErrMissed, err)
			}
			return nil, fmt.Errorf("expire-session of %s: %w", client, errors.Join(err, context.Cause(ctx)))
		}
	}
}
