package harness

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/harness/wire"
	"github.com/lockchaos/lockchaos/monotime"
	"github.com/lockchaos/lockchaos/redact"
	"github.com/lockchaos/lockchaos/store"
)

// closeLimit bounds what a worker that nobody listens to any more spends on giving its session back.
const closeLimit = 2 * time.Second

// Work is the whole life of a worker process: it carries out the commands that it reads, one at a time, and ends with its input.
// Kinds is the catalogue of locks.
func Work(ctx context.Context, in io.Reader, out io.Writer, kinds []clients.Kind) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := newWorker(out, kinds)
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer cancel()
		_ = w.close(last) // nobody is left to tell
	}()
	defer w.obeyGivingUp()()
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 4096), wire.MaxMessage)
	for lines.Scan() {
		var c wire.Command
		if err := c.Parse(lines.Bytes()); err != nil {
			return fmt.Errorf("worker: command not understood: %w", err)
		}
		if c.Op == wire.OpHoldApplication || c.Op == wire.OpHoldRenewals {
			if err := w.holdUp(ctx, c); err != nil {
				return fmt.Errorf("worker: %s: %w", c.Op, err)
			}
			continue
		}
		r := w.carryOut(ctx, c)
		r.ID = c.ID
		if err := w.send(r); err != nil {
			return fmt.Errorf("worker: answer: %w", err)
		}
	}
	return lines.Err()
}

func newWorker(out io.Writer, kinds []clients.Kind) *worker {
	return &worker{out: out, kinds: kinds, now: monotime.Now, dial: func(ctx context.Context, addr string) (storeClient, error) { return store.Dial(ctx, addr) },
		grants: map[string]held{}, early: map[string]earlyLoss{}}
}

// storeClient is what a worker needs of the store.
type storeClient interface {
	Read(ctx context.Context, r store.Request) (store.Entry, error)
	Write(ctx context.Context, r store.Request) (store.Entry, error)
	Close() error
}

// obeyGivingUp has the worker give up an acquire when it is told so by a signal: commands wait until it is answered.
func (w *worker) obeyGivingUp() (stop func()) {
	told, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(told, wire.GiveUp)
	go func() {
		for {
			select {
			case <-told:
				if cancel := w.giveUp.Load(); cancel != nil {
					(*cancel)()
				}
			case <-over:
				return
			}
		}
	}()
	return func() { signal.Stop(told); close(over) }
}

// worker is the application: a lock, a store, and what it believes to hold.
type worker struct {
	kinds []clients.Kind
	open  wire.Opening
	lock  clients.Lock
	// writes is how the lock wants the store to be written to (clients.Kind.Writes).
	writes string
	store  storeClient
	// now is the clock of stamps, and dial connects to the store.
	now  func() int64
	dial func(ctx context.Context, addr string) (storeClient, error)
	// renewals is where the lock's own renewals pass; beats counts the heartbeats.
	renewals clients.Gate
	beats    atomic.Int64
	// giveUp ends the acquire that is under way; nil: none is.
	giveUp atomic.Pointer[context.CancelFunc]

	mu     sync.Mutex // guards what follows: lost-events come at any time
	grants map[string]held
	early  map[string]earlyLoss

	sending sync.Mutex
	out     io.Writer
	line    []byte // of the last reply; its memory is used again
}

// held is a grant that the application believes in.
type held struct {
	grant clients.Grant
	op    int64
	lost  bool
	// record is what the application last read or wrote under this grant, if it did.
	record record
}

func (w *worker) send(r wire.Reply) error {
	r.Error = redact.Text(r.Error) // what a library says of its connection may hold a password, and all of it is recorded
	w.sending.Lock()
	defer w.sending.Unlock()
	w.line = r.AppendLine(w.line[:0])
	_, err := w.out.Write(w.line)
	return err
}

func (w *worker) carryOut(ctx context.Context, c wire.Command) wire.Reply {
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.Timeout))
		defer cancel()
	}
	switch c.Op {
	case "open":
		return w.begin(ctx, c)
	case "acquire":
		ctx, cancel := context.WithCancel(ctx)
		w.giveUp.Store(&cancel)
		r := w.acquire(ctx, c)
		w.giveUp.Store(nil)
		cancel()
		if err := w.otherLease(); err != nil {
			r = wire.Reply{Result: wire.ResultInfo, Error: err.Error(), Broken: true}
		}
		return r
	case "held":
		return w.held(ctx, c)
	case "renew":
		return w.renew(ctx, c)
	case "release":
		return w.release(ctx, c)
	case "read", "write":
		return w.access(ctx, c)
	case "close":
		return w.timed(func() error { return w.close(ctx) })
	}
	return wire.Reply{Result: wire.ResultFail, Error: fmt.Sprintf("unknown op %q", c.Op)}
}

// timed stamps a library call and turns its error into a result.
func (w *worker) timed(call func() error) wire.Reply {
	r := wire.Reply{Start: w.now()}
	err := call()
	r.End = w.now()
	switch {
	case err == nil:
		r.Result = wire.ResultOK
		return r
	case clients.Definite(err), store.Definite(err):
		r.Result = wire.ResultFail
		r.Busy = errors.Is(err, clients.ErrBusy)
		r.NotHeld = errors.Is(err, clients.ErrNotHeld)
	default:
		r.Result = wire.ResultInfo
	}
	r.Error, r.Broken = err.Error(), errors.Is(err, adapter.ErrBroken)
	return r
}

// begin connects to the lock service and the store.
func (w *worker) begin(ctx context.Context, c wire.Command) wire.Reply {
	if c.Open == nil || w.lock != nil {
		return wire.Reply{Result: wire.ResultFail, Error: "open comes once, first, and says who the worker is"}
	}
	w.open = *c.Open
	r := w.timed(func() error {
		kind, err := find(w.kinds, w.open.Lock)
		if err != nil {
			return err
		}
		w.writes = kind.Writes
		w.lock, err = kind.Open(ctx, clients.Config{Nodes: w.open.Nodes, Account: w.open.Account, TTL: w.open.TTL, Client: int(w.open.Client), Seed: w.open.Seed,
			Renewals: &w.renewals, Opened: w.opened, Adapter: w.open.Adapter})
		if err != nil {
			return fmt.Errorf("open %s: %w", kind.Name, err)
		}
		if err := w.otherLease(); err != nil {
			return err
		}
		if w.open.Store != "" {
			if w.store, err = w.dial(ctx, w.open.Store); err != nil {
				return fmt.Errorf("open the store: %w", err)
			}
		}
		if watcher, ok := w.lock.(clients.Watcher); ok && watcher.Lost() != nil {
			go w.watch(watcher.Lost())
		}
		if w.open.Stall > 0 {
			go w.beat(time.Duration(w.open.Stall))
		}
		return nil
	})
	_, r.CanAsk = w.lock.(clients.Holder)
	_, r.CanRenew = w.lock.(clients.Renewer)
	if d, ok := w.lock.(clients.Declarer); ok {
		said := d.Declares()
		said.Name = redact.Text(said.Name)
		r.Declares = &said
	}
	return r
}

// otherLease says that the service grants much longer leases than the run is about: a client that is frozen for longer than its TTL would still hold the lock, and
// whatever came of it would say nothing.
func (w *worker) otherLease() error {
	leaser, ok := w.lock.(clients.Leaser)
	if !ok || !w.open.Lent {
		return nil
	}
	granted, ttl := time.Duration(leaser.GrantedTTL()), time.Duration(w.open.TTL)
	if granted <= ttl+ttl/4 {
		return nil
	}
	return fmt.Errorf("the service grants sessions of %v where the TTL is %v, so nothing would be shown: give --scale real, or lower its least session timeout "+
		"(ZooKeeper: minSessionTimeout, twice the tickTime if it is not set; etcd: its election timeout and a half)", granted, ttl)
}

func find(kinds []clients.Kind, name string) (clients.Kind, error) {
	for _, k := range kinds {
		if k.Name == name {
			return k, nil
		}
	}
	return clients.Kind{}, fmt.Errorf("this worker knows no lock named %q", name)
}

// watch passes lost-events on.
func (w *worker) watch(lost <-chan clients.Loss) {
	for loss := range lost {
		w.loses(loss)
	}
}

// loses passes a lost-event on, and lets the application know. An event for a grant that the library has made and the application has
// not been given yet waits for it (claim); one for a grant that is given back already is of no interest.
func (w *worker) loses(loss clients.Loss) {
	at := w.now()
	w.mu.Lock()
	h, holds := w.grants[loss.Key]
	holds = holds && (loss.Token == 0 || loss.Token == h.grant.Token)
	if holds {
		h.lost = true
		w.grants[loss.Key] = h
	} else {
		w.early[loss.Key] = earlyLoss{loss, at}
	}
	w.mu.Unlock()
	if holds {
		w.tell(loss, h.op, at)
	}
}

// earlyLoss is a lost-event that came when no such grant was known, and when.
type earlyLoss struct {
	clients.Loss
	at int64
}

// of tells whether it is the loss of a grant whose acquire began at since. Without a token it can't be if it came before; one that came during the acquire is taken for the new
// grant's, since a lock withdraws an older grant's event when that is given back.
func (e earlyLoss) of(g clients.Grant, since int64) bool {
	if e.Token == 0 {
		return e.at >= since
	}
	return e.Token == g.Token
}

func (w *worker) tell(loss clients.Loss, grant, at int64) {
	_ = w.send(wire.Reply{Event: wire.EventLost, Key: loss.Key, Grant: grant, Error: loss.Why, From: at}) // the next answer will fail as well
}

// opened passes on what the lock's service knows a session of ours by.
func (w *worker) opened(s clients.Session) {
	_ = w.send(wire.Reply{Event: wire.EventSession, Session: s.ID, Password: hex.EncodeToString(s.Password)}) // the next answer will fail as well
}

// claim takes a new grant of a key, whose acquire began at since, into the application's belief. If it has been lost meanwhile, that is told now.
func (w *worker) claim(g clients.Grant, key string, op, since int64) {
	w.mu.Lock()
	early, known := w.early[key]
	delete(w.early, key)
	lost := known && early.of(g, since)
	w.grants[key] = held{grant: g, op: op, lost: lost}
	w.mu.Unlock()
	if lost {
		w.tell(early.Loss, op, early.at)
	}
}

// beat notices when this process did not run: its ticks come late. Whether that was an injected pause or the machine's own doing,
// the harness knows.
func (w *worker) beat(late time.Duration) {
	period := max(late/4, time.Millisecond)
	tick := time.NewTicker(period)
	defer tick.Stop()
	last := w.now()
	for range tick.C {
		w.beats.Add(1)
		now := w.now()
		if gap := time.Duration(now - last); gap > period+late {
			if w.send(wire.Reply{Event: wire.EventStall, From: last, To: now}) != nil {
				return
			}
		}
		last = now
	}
}

func (w *worker) acquire(ctx context.Context, c wire.Command) wire.Reply {
	var g clients.Grant
	ask := w.lock.Acquire
	if c.Read {
		reader, ok := w.lock.(clients.ReadLocker)
		if !ok {
			return wire.Reply{Result: wire.ResultFail, Error: clients.ErrUnsupported.Error()}
		}
		ask = reader.AcquireRead
	}
	if c.Permits > 1 {
		l, ok := w.lock.(clients.PermitLocker)
		if !ok {
			return wire.Reply{Result: wire.ResultFail, Error: clients.ErrUnsupported.Error()}
		}
		ask = func(ctx context.Context, key string) (clients.Grant, error) {
			return l.AcquirePermits(ctx, key, c.Permits)
		}
	}
	if len(c.Keys) > 0 {
		l, ok := w.lock.(clients.SetLocker)
		if !ok {
			return wire.Reply{Result: wire.ResultFail, Error: clients.ErrUnsupported.Error()}
		}
		ask = func(ctx context.Context, _ string) (clients.Grant, error) { return l.AcquireSet(ctx, c.Keys) }
	}
	r := w.timed(func() (err error) {
		g, err = ask(ctx, c.Key)
		return err
	})
	r.First = g.First // of use after an indefinite end, too
	if r.Result != wire.ResultOK {
		return r
	}
	r.Token, r.Attempt, r.Enqueued, r.Session = g.Token, g.Attempt, g.Enqueued, g.Session
	if g.HasValidFor {
		r.ValidFor = &g.ValidFor
	}
	for i, key := range c.AllKeys() {
		w.claim(g, key, c.Grant+int64(i), r.Start)
	}
	return r
}

// believed is the grant that the application thinks it has. An op under another grant than the newest is a
// mistake of the harness.
func (w *worker) believed(c wire.Command) (held, *wire.Reply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h, ok := w.grants[c.Key]
	if !ok || h.op != c.Grant {
		return held{}, &wire.Reply{Result: wire.ResultFail, Declined: true, Error: fmt.Sprintf("no grant %d of %s here", c.Grant, c.Key)}
	}
	return h, nil
}

func (w *worker) held(ctx context.Context, c wire.Command) wire.Reply {
	h, mistake := w.believed(c)
	if mistake != nil {
		return *mistake
	}
	asked, ok := w.lock.(clients.Holder)
	if !ok {
		return wire.Reply{Result: wire.ResultFail, Error: clients.ErrUnsupported.Error()}
	}
	return w.timed(func() error { return asked.Held(ctx, h.grant) })
}

// renew asks the lock for more time. What it grants takes the place of what the application had.
func (w *worker) renew(ctx context.Context, c wire.Command) wire.Reply {
	h, mistake := w.believed(c)
	if mistake != nil {
		return *mistake
	}
	renewer, ok := w.lock.(clients.Renewer)
	if !ok {
		return wire.Reply{Result: wire.ResultFail, Error: clients.ErrUnsupported.Error()}
	}
	var g clients.Grant
	r := w.timed(func() (err error) {
		g, err = renewer.Renew(ctx, h.grant)
		return err
	})
	if r.Result != wire.ResultOK {
		return r
	}
	r.Attempt = g.Attempt
	if g.HasValidFor {
		r.ValidFor = &g.ValidFor
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, key := range c.AllKeys() {
		if now, ok := w.grants[key]; ok && now.op == h.op+int64(i) {
			now.grant = g
			w.grants[key] = now
		}
	}
	return r
}

func (w *worker) release(ctx context.Context, c wire.Command) wire.Reply {
	h, mistake := w.believed(c)
	if mistake != nil {
		return *mistake
	}
	w.mu.Lock()
	for _, key := range c.AllKeys() {
		delete(w.grants, key)
	}
	w.mu.Unlock()
	return w.timed(func() error { return w.lock.Release(ctx, h.grant) })
}

// access reads or writes the store under a grant. With guard "check" the application declines when it has been told that the
// hold is lost; with guard "none" it trusts its acquire.
func (w *worker) access(ctx context.Context, c wire.Command) wire.Reply {
	h, mistake := w.believed(c)
	if mistake != nil {
		return *mistake
	}
	if h.lost && w.open.Decline {
		now := w.now()
		return wire.Reply{Result: wire.ResultFail, Declined: true, Error: "the lock has told that it is lost", Start: now, End: now}
	}
	request := w.request(c, h)
	var e store.Entry
	r := w.timed(func() (err error) {
		if c.Op == "read" {
			e, err = w.store.Read(ctx, request)
		} else {
			e, err = w.store.Write(ctx, request)
		}
		return err
	})
	r.Version, r.Replaced, r.Value, r.Seq = e.Version, e.Replaced, e.Value, e.Seq
	r.Refused, r.Conflict = e.Refused, e.Conflict
	r.Atomic = request.Mode == store.WriteAdd && r.Result != wire.ResultFail
	if r.Result == wire.ResultOK {
		w.seen(c, e)
	}
	if why := whyNot(&e); why != "" {
		r.Error = why
	}
	return r
}

func (w *worker) close(ctx context.Context) error {
	var err error
	if w.lock != nil {
		err = w.lock.Close(ctx)
		w.lock = nil
	}
	if w.store != nil {
		err = errors.Join(err, w.store.Close())
		w.store = nil
	}
	return err
}
