package harness

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harness/director"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/store"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Config is what a run needs.
type Config struct {
	Plan scenarios.Plan
	// Lock is the catalogue's entry for the plan's lock.
	Lock clients.Kind
	// History is the file to write; Logs the folder for the logs of nodes and workers.
	History, Logs string
	// Worker is the command that runs this program as a worker (worker.Run); nil:
	// this program with the argument "worker". Its first word is the program.
	Worker []string
	// Network is where to add hosts; nil: the run makes a network of its own.
	// The run closes either.
	Network *hosts.Network
	// Attached are the nodes that run already on that network: those of the
	// lock's service and of the store's engine, then none is launched.
	Attached []agent.Attached
	// FailOver has the service fail over, which is the user's own; nil: nobody can.
	FailOver func(context.Context) (nemesis.TriggeredFailover, error)
	// Keys begins the name of each lock, and of what the store's engine keeps,
	// where the servers have seen other runs.
	Keys string
	// Versions names the parts that the caller knows (lockchaos, kernel); the
	// run adds what it starts.
	Versions []history.Part
	// Progress, if set, is called now and then, and at every change of phase.
	Progress func(record.Progress)
}

// startLimit bounds the start of services and workers. A service has two minutes of its own.
const startLimit = 3 * time.Minute

// run is the state of one run.
type run struct {
	*record.Record
	cfg        Config
	network    *hosts.Network
	service    *backends.Service
	store      *backends.Store
	workers    []*workerProcess // the workload's clients
	probes     []*workerProcess // fresh clients: one for the probe, one for the final probe
	director   *director.Director
	stuckWatch *stuckWatch
	recording  atomic.Bool // rec and director are there: set once, before the first op
	taps       taps
	sessions   sessions
	shared     string // a folder that all clients share, for locks on files
}

func newRun(cfg Config) *run {
	r := &run{cfg: cfg, Record: record.New(cfg.Plan, cfg.Lock, cfg.Keys, cfg.Progress)}
	ttl := cfg.Plan.Scenario.TTL.Std()
	r.stuckWatch = newStuckWatch(r.Patience()+stuckMargin, checker.Lifetime(ttl, 0), r.Keys)
	return r
}

// dialStore connects the harness itself to the store, for its ledger.
func (r *run) dialStore(ctx context.Context) error {
	c, err := store.Dial(ctx, r.store.Addr)
	if err != nil {
		return err
	}
	r.Ledger = record.NewLedger(c, r.Recorder, r.KeyIDs)
	return nil
}
