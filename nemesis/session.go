package nemesis

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/monotime"
)

// KindExpireSession is the end of a client's session.
const KindExpireSession = "expire-session"

var expireSession = Kind{Name: KindExpireSession, Needs: NeedsNothing, alone: true, single: true, traits: []Trait{Sessions}, About: "ends a client's session at the lock service by the service's " +
	"own means: a lease of etcd is revoked, a session of ZooKeeper closed, PostgreSQL's backends of the client terminated"}

// sessionLimit is how long a client may be without any session before that is an error, and how long its service may take to end one.
const sessionLimit = 5 * time.Second

// sessionStep is the pause between two looks whether the client has a session.
const sessionStep = 10 * time.Millisecond

// Expired is the end of a client's sessions. It is over when it has begun: nothing heals it but a new session, which the client opens itself.
type Expired struct{ effect Effect }

// ExpireSession ends all sessions that a client has at the lock service. End asks the service to do so and returns what the service answered, a text
// for each; none: the client had no session just then (it opens the first with its first acquire, say), and is looked at again. From is before the
// service was asked, To after it answered: the sessions ended in between.
func ExpireSession(ctx context.Context, client string, end func(context.Context) ([]string, error)) (*Expired, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, sessionLimit, fmt.Errorf("it took longer than %v", sessionLimit))
	defer cancel()
	for {
		from := monotime.Now()
		answers, err := end(ctx)
		if err != nil {
			return nil, fmt.Errorf("expire-session of %s: %w", client, err)
		}
		if len(answers) > 0 {
			return &Expired{Effect{From: from, To: monotime.Now(), Bit: true, Proof: client + ": " + strings.Join(answers, "; ")}}, nil
		}
		select {
		case <-time.After(sessionStep):
		case <-ctx.Done():
			return nil, fmt.Errorf("expire-session of %s: the lock service knows of no session of it, or its lock does not tell of any: %w", client, context.Cause(ctx))
		}
	}
}

// From is when the service was asked.
func (e *Expired) From() int64 { return e.effect.From }

// Heal tells what was done; there is nothing to undo.
func (e *Expired) Heal() (Effect, error) { return e.effect, nil }
