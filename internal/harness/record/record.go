// Package record is what every run keeps, in real time or in virtual: its keys, the numbers of its
// ops, what its lock claims, the header of its history, the store's ledger, and how far it is.
package record

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Record is what every run keeps, whatever lets time pass in it.
type Record struct {
	plan scenarios.Plan
	// lock is the catalogue's entry for the plan's lock.
	lock     clients.Kind
	Recorder *history.Recorder
	IDs      wire.Numbers
	Ledger   *ledger
	Keys     []string
	KeyIDs   map[string]history.KeyID
	// Says is what the clients' lock said of itself, where it is an adapter.
	Says *clients.Declaration

	saysMu  sync.Mutex
	tell    func(Progress)
	began   int64
	phase   string
	phaseMu sync.Mutex
}

// New returns the record of a run that begins now. prefix begins the name
// of each lock; tell, if set, is called now and then.
func New(plan scenarios.Plan, lock clients.Kind, prefix string, tell func(Progress)) *Record {
	r := &Record{plan: plan, lock: lock, tell: tell, began: monotime.Now(), KeyIDs: map[string]history.KeyID{}}
	for i := range plan.Scenario.Keys {
		key := fmt.Sprintf("%sk%d", prefix, i)
		r.Keys = append(r.Keys, key)
		r.KeyIDs[key] = history.KeyID(i)
	}
	return r
}

// Elapsed is for how long the run has gone on.
func (r *Record) Elapsed() time.Duration { return monotime.Since(r.began) }

// Lost records that a worker has told of the loss of a grant.
func (r *Record) Lost(c *wire.Client, e wire.Reply) {
	if key, known := r.KeyIDs[e.Key]; known {
		r.Recorder.Record(history.Event{Type: history.Lost, Client: c.Number, Process: c.Process(), Key: key, Grant: e.Grant,
			Start: r.Recorder.Relative(e.From), Text: e.Error})
	}
}

// Progress says how far a run is.
type Progress struct {
	Phase   string        `json:"phase"`
	Elapsed time.Duration `json:"elapsed_ns"`
	Ops     int64         `json:"ops"`
	Grants  int64         `json:"grants"`
	Faults  int64         `json:"faults"`
}

// progressEvery is how often Progress is called inside a phase.
const progressEvery = 200 * time.Millisecond

// PhaseStart is the phase before the history begins.
const PhaseStart = "start"

// Enter announces a phase, in the history too.
func (r *Record) Enter(phase string) {
	r.phaseMu.Lock()
	r.phase = phase
	r.phaseMu.Unlock()
	if r.Recorder != nil && phase != PhaseStart {
		r.Recorder.Record(history.Event{Type: history.Mark, Text: phase})
	}
	r.Report()
}

// Report passes on how far the run is.
func (r *Record) Report() {
	r.phaseMu.Lock()
	phase := r.phase
	r.phaseMu.Unlock()
	Report(&r.IDs, r.tell, phase, r.began)
}

// Report passes on how far a run is; tell may be nil.
func Report(n *wire.Numbers, tell func(Progress), phase string, began int64) {
	if tell != nil {
		tell(Progress{Phase: phase, Elapsed: monotime.Since(began), Grants: n.Grants(), Faults: n.Faults(),
			Ops: n.Ops()})
	}
}

// Repeat reports progress until the returned function is called.
func Repeat(ctx context.Context, report func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for clock.Pause(ctx, nil, progressEvery) {
			report()
		}
	}()
	return func() { cancel(); <-done }
}

// StallBound is how late a heartbeat must be to count: a tenth of the TTL, in ns.
func (r *Record) StallBound() int64 { return int64(r.plan.Scenario.TTL) / 10 }

// Patience is for how long a key may be free and wanted in this run.
func (r *Record) Patience() time.Duration {
	return checker.Patience(r.plan.Scenario.TTL.Std(), r.slack())
}

// FirstAsk bounds the acquire by which a fresh client shows that a key is
// stuck, even if the service gives no answer meanwhile.
func (r *Record) FirstAsk() time.Duration { return max(r.Patience(), checker.Outage) + AskMargin }

// AskMargin is what a fresh client asks for on top of what the judge demands.
const AskMargin = time.Second

// slack is for how long beyond its TTL the service may keep a session that
// nobody renews; 0: it does not say.
func (r *Record) slack() time.Duration {
	service, _ := backends.Lookup(r.lock.Service)
	return service.SlackOf(time.Duration(r.plan.Scenario.TTL))
}

// AskEvery is the pause of a fresh client that was told busy.
const AskEvery = 50 * time.Millisecond

// ProbeClients are the fresh clients that try every key when the workload is
// over: one beside the idle losers, one after they have been closed.
const ProbeClients = 2

// ProlongEvery is how often a run looks whether it has shown enough.
const ProlongEvery = 20 * time.Millisecond
