// Package app runs one plan on an application of the user's own: it strikes the containers that run
// it, and makes the history of what they log, or of what their hooks answer.
package app

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/harness/director"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Config is what a run needs whose clients are an application of the user's own (scenarios.App).
type Config struct {
	Plan scenarios.Plan
	// Attached are the containers, by the names of AppPlaces.
	Attached []agent.Attached
	// Logs is the folder in which NAME.log grows with what a container prints.
	Logs string
	// History is the file to write; the application's audit log, as far as it
	// was understood, goes into AuditFile beside it.
	History  string
	Versions []history.Part
	Progress func(record.Progress)
	// Execute runs the commands of hooks; of no use where there are none.
	Execute Execute
	// Restarts: a client that ends is started again, by what runs it, in the
	// network that it had, and its log goes on. So its end is none of the run's.
	Restarts bool
	// Cluster runs the clients, if it is a cluster that does, and Changes tells
	// what becomes of them; nil: there is none, and nothing changes.
	Cluster nemesis.Cluster
	Changes <-chan agent.Change
	// Elsewhere is who strikes a client or a node that is on another machine,
	// and its address; nil: it is here. A nil function: all are.
	Elsewhere func(name string) (nemesis.RemoteAgent, netip.Addr)
	// Ahead tells of the clocks by which clients stamp their logs; nil: all are this machine's.
	Ahead Ahead
}

// appSlack is how long lines are waited for that tell of ops which were under
// way at the end, and what is waited on top of a TTL before.
const appSlack = time.Second

// ClockStep is how far the wall clock may have moved against the monotonic one
// during a run: more is no drift, but somebody who set it.
const ClockStep = 5 * time.Millisecond

// run is the state of one run.
type run struct {
	cfg      Config
	app      *scenarios.App
	began    int64
	ids      wire.Numbers
	rec      *history.Recorder
	director *director.Director
	phase    atomic.Value // string
	offset   int64        // wall clock − monotonic clock, ns
	from     int64        // the run's beginning, wall-clock ns since 1970
	until    int64        // its end
	// clockError is by how much a stamp may be wrong.
	clockError time.Duration
	watching   atomic.Bool // grants are told to the director
	mu         sync.Mutex
	clients    []*client // guarded by mu while the run goes on: there may come more
}

// client is one container of the application.
type client struct {
	audit.ProcessLog       // guarded by mu while the run goes on
	number, member   int32 // member is the number of the first one whose place it has, or its own
	leaving          atomic.Bool
	host             *hosts.Host
	proc             *hosts.Process
	mu               sync.Mutex
	other            int // lines that are none of the audit log
	held             map[[2]string]int64
}

// WallOffset is what the wall clock shows more than the monotonic one: the
// tightest of some readings.
func WallOffset() (offset int64) {
	best := int64(-1)
	for range 16 {
		before := monotime.Now()
		wall := time.Now().UnixNano()
		after := monotime.Now()
		if width := after - before; best < 0 || width < best {
			best, offset = width, wall-(before+width/2)
		}
	}
	return offset
}

// wall is what the wall clock shows now, on the monotonic one.
func (a *run) wall() int64 { return monotime.Now() + a.offset }

// place is where somebody is, here or on another machine.
func (a *run) place(n agent.Attached) nemesis.Place {
	p := nemesis.Place{Name: n.Name, Host: n.Host}
	if n.Host == nil && a.cfg.Elsewhere != nil {
		p.Far, p.Addr = a.cfg.Elsewhere(n.Name)
	}
	return p
}

// over reports whether a client has ended, or is to end, so that another takes its place.
func (a *run) over(c *client) bool {
	return a.director.Dead(c.number) || c.leaving.Load()
}

// note takes a line.
func (c *client) note(l audit.Line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Lines = append(c.Lines, l)
}

// granted tells the director of a grant, and lets a fault strike that is aimed at it.
func (a *run) granted(ctx context.Context, c *client, l *audit.Line, over bool) (grant int64, err error) {
	grant = a.ids.NextOp()
	a.ids.Granted(c.number, l.Key)
	if err := a.director.Holds(ctx, c.number, l.Key, grant); err != nil {
		return grant, unlessKilled(err)
	}
	if over { // the log has its end already
		a.director.Releases(grant)
		return grant, nil
	}
	return grant, unlessKilled(a.director.Reached(ctx,
		nemesis.Step{Moment: nemesis.AfterGrant, Client: c.number, Grant: grant, Key: l.Key}))
}

// unlessKilled drops the error that a fault has ended a client: what that still
// logs is of interest all the same.
func unlessKilled(err error) error {
	if errors.Is(err, wire.ErrKilled) {
		return nil
	}
	return err
}

// Ahead is how far the wall clock by which a client's log is stamped was ahead
// of this machine's (ns), and by how much more or less that may have been.
type Ahead func(client string) (ahead, bound int64, err error)

// Execute runs a command in the container of a client and returns how it ended. When the
// command runs, and before it gets its input, ready is called with its process number,
// on the caller's goroutine; an error of ready is returned, and the command gets no
// input. A command that ends before that may be one that ready is not called for.
type Execute func(ctx context.Context, client string, command []string, input []byte,
	ready func(pid int) error) (hosts.Executed, error)
