package worker

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/store"
)

// Run is the whole life of a worker process: it carries out the commands that it
// reads, one at a time, and ends with its input. Kinds is the catalogue of locks.
func Run(ctx context.Context, in io.Reader, out io.Writer, kinds []clients.Kind) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := New(out, kinds, monotime.Now, func(ctx context.Context, addr string) (Store,
		error) {
		return store.Dial(ctx, addr)
	})
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
		r := w.Do(ctx, c)
		r.ID = c.ID
		if err := w.send(r); err != nil {
			return fmt.Errorf("worker: answer: %w", err)
		}
	}
	return lines.Err()
}

// closeLimit bounds what a worker that nobody listens to any more spends on
// giving its session back.
const closeLimit = 2 * time.Second

// obeyGivingUp has the worker give up an acquire when it is told so by a
// signal: commands wait until it is answered.
func (w *Worker) obeyGivingUp() (stop func()) {
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

// Do carries one command out, and returns its answer.
func (w *Worker) Do(ctx context.Context, c wire.Command) wire.Reply {
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
		return w.answerHeld(ctx, c)
	case "renew":
		return w.renew(ctx, c)
	case "release":
		return w.release(ctx, c)
	case "read", "write":
		return w.access(ctx, c)
	case "commit":
		return w.commit(ctx)
	case "close":
		return w.timed(func() error { return w.close(ctx) })
	}
	return wire.Reply{Result: wire.ResultFail, Error: fmt.Sprintf("unknown op %q", c.Op)}
}

// begin connects to the lock service and the store.
func (w *Worker) begin(ctx context.Context, c wire.Command) wire.Reply {
	if c.Open == nil || w.lock != nil {
		return wire.Reply{Result: wire.ResultFail, Error: "open comes once, first, and says who the worker is"}
	}
	w.open = *c.Open
	redact.Addresses(w.open.Nodes...)
	r := w.timed(func() error {
		kind, err := find(w.kinds, w.open.Lock)
		if err != nil {
			return err
		}
		w.writes = kind.Writes
		w.lock, err = kind.Open(ctx, clients.Config{Nodes: w.open.Nodes, Account: w.open.Account, TTL: w.open.TTL, Every: w.open.Every,
			Client: int(w.open.Client), Seed: w.open.Seed,
			Identity: clients.IdentityOf(int(w.open.Client), w.open.Twins),
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
			if err := w.isolate(); err != nil {
				return err
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

// opened passes on what the lock's service knows a session of ours by.
func (w *Worker) opened(s clients.Session) {
	// the next answer will fail as well
	_ = w.send(wire.Reply{Event: wire.EventSession, Session: s.ID, Password: hex.EncodeToString(s.Password)})
}

// beat notices when this process did not run: its ticks come late. Whether that
// was an injected pause or the machine's own doing, the harness knows.
func (w *Worker) beat(late time.Duration) {
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

func find(kinds []clients.Kind, name string) (clients.Kind, error) {
	for _, k := range kinds {
		if k.Name == name {
			return k, nil
		}
	}
	return clients.Kind{}, fmt.Errorf("this worker knows no lock named %q", name)
}
