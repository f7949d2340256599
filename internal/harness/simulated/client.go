package simulated

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/harness/worker"
	"github.com/lockchaos/lockchaos/internal/harness/workload"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/store"
	"github.com/lockchaos/lockchaos/scenarios"
)

// pipeTime is how long a command, or its answer, is on its way between application and client.
const pipeTime = 20 * time.Microsecond

// simClient is a client in virtual time: an instance of the adapter, and the worker that speaks
// with it. What the worker does with answers is the code of real runs.
type simClient struct {
	*wire.Client
	s       *simulation
	machine *sim.Host
	task    *sim.Task // that drives it
	adapter *conversation
	worker  *worker.Worker
	store   *simStore
	limit   time.Duration // of the call that is under way
	dead    bool
}

// spawn starts a client's program.
func (s *simulation) spawn(number int32, life int) *simClient {
	c := &simClient{s: s, machine: s.hosts[fmt.Sprintf("client-%d", number)]}
	raw := wire.NewClient(number, c.machine.Name, nil, &s.IDs, s.KeyIDs)
	raw.Simulated, raw.Life = c.carryOut, life
	raw.Event = func(e wire.Reply) {
		if e.Event == wire.EventLost && s.Recorder != nil { // before the history begins nothing is held
			s.Lost(raw, e)
		}
	}
	c.Client = raw
	c.adapter = &conversation{c: c, log: external.NewTail(prefixed{c.machine.Name + ": ",
		cmp.Or[io.Writer](s.cfg.Log, io.Discard)})}
	name := fmt.Sprintf("the adapter of client %d", number)
	if life > 0 {
		name += fmt.Sprintf(", process %d", life+1)
	}
	start := s.cfg.Start
	if start.Args == nil {
		start.Args = []string{"adapter"}
	}
	start.Name, start.Line, start.Exited, start.Stderr = name, c.adapter.take, c.adapter.exited, c.adapter.log
	c.adapter.in = c.machine.Start(s.cfg.Program, start)
	c.store = &simStore{c: c}
	c.worker = worker.New(eventLines{raw}, []clients.Kind{c.kind()}, s.w.Now,
		func(context.Context, string) (worker.Store, error) { return c.store, nil })
	return c
}

// kind is the plan's lock, whose adapter is the instance.
func (c *simClient) kind() clients.Kind {
	k := c.s.cfg.Lock
	k.Open = func(ctx context.Context, config clients.Config) (clients.Lock, error) {
		times := external.Times{Now: c.s.w.Now, Left: func(context.Context) time.Duration { return c.limit }}
		return external.Simulated(ctx, c.adapter, times, config,
			func(tell func(adapter.Event)) { c.adapter.tell = tell }, c.worker.Loses)
	}
	return k
}

// open says hello.
func (s *simulation) open(ctx context.Context, t *sim.Task, c *simClient) error {
	c.task = t
	sc := s.cfg.Plan.Scenario
	var addrs []string
	for _, n := range s.nodes {
		addrs = append(addrs, n.Addr())
	}
	a, err := c.Ask(ctx, wire.Command{ID: s.IDs.NextOp(), Op: "open", Timeout: int64(record.HelloLimit),
		Open: &wire.Opening{Lock: s.cfg.Lock.Name,
			Adapter: &clients.Adapter{Service: s.cfg.Lock.Service, ClockFaults: possible.ClocksOfClients(sc.Faults)},
			Nodes:   addrs,
			Store:   StoreHost, TTL: sc.TTL.Std(), Client: c.Number, Twins: sc.Twins,
			Seed: streams(s.cfg.Plan).StreamSeed(c.Stream()), Decline: sc.Workload.Guard != workload.GuardNone}})
	if err != nil {
		return err
	}
	return s.Opened(c.Client, a)
}

// Introduced starts a program once in virtual time, to learn what it declares.
func Introduced(ctx context.Context, p *sim.Program, lock clients.Kind, ttl time.Duration) (says adapter.Declaration,
	err error) {
	s, err := newSimulation(Config{Lock: lock, Program: p,
		Plan: scenarios.Plan{Scenario: scenarios.Scenario{Clients: 1, Keys: 1, TTL: scenarios.Duration(ttl)}}})
	if err != nil {
		return says, err
	}
	defer s.w.Close()
	over, failed := false, error(nil)
	s.w.Go(func(t *sim.Task) {
		c := s.spawn(1, 0)
		failed = s.open(ctx, t, c)
		says, over = c.adapter.says, true
	})
	if err := s.w.Run(func() bool { return over }); err != nil {
		return says, err
	}
	return says, failed
}

// carryOut has the worker carry a command out, on the task that drives the client.
func (c *simClient) carryOut(ctx context.Context, cmd wire.Command) (wire.Reply, error) {
	t := c.task
	t.Sleep(pipeTime)
	t.On(c.machine)
	if c.dead {
		t.On(nil)
		return wire.Reply{}, fmt.Errorf("client %d has ended", c.Number)
	}
	c.machine.Note(sim.Asked)
	c.limit, cmd.Timeout = time.Duration(cmd.Timeout), 0
	r := c.worker.Do(ctx, cmd)
	r.ID = cmd.ID
	if c.dead {
		return wire.Reply{}, fmt.Errorf("client %d ended during %s", c.Number, cmd.Op)
	}
	t.On(nil)
	t.Sleep(pipeTime)
	if r.Broken {
		return wire.Reply{}, &BrokenProgramError{fmt.Sprintf("client %d on host %s: %s", c.Number, c.Host, r.Error)}
	}
	return r, nil
}

// BrokenProgramError is the error of a run whose lock's program ended, or did not answer.
type BrokenProgramError struct{ text string }

// Error says which client's it was, and what it did.
func (e *BrokenProgramError) Error() string { return e.text }

// resetStore resets the connection to the store, and reports whether there was one.
func (c *simClient) resetStore() bool {
	if !c.store.open() {
		return false
	}
	c.store.ch.Close()
	c.task.Wake()
	return true
}

// kill ends the client's process at once.
func (c *simClient) kill() {
	c.dead = true
	c.task.On(nil)
	c.Client.End()
	c.adapter.in.Kill()
	c.store.close()
	c.machine.Thaw()
	c.task.Wake()
}

// end closes the lock client and its program.
func (s *simulation) end(ctx context.Context, t *sim.Task, c *simClient) error {
	c.task = t
	if _, _, err := c.Do(ctx, wire.Op{Kind: history.Close,
		Timeout: s.cfg.Plan.Scenario.Workload.OpTimeout.Std()}); err != nil {
		return err
	}
	c.adapter.waiter = t
	c.adapter.in.CloseInput()
	if !t.Await(adapter.Grace, c.adapter.in.Ended) {
		return c.adapter.Break("has not ended %v after its standard input has", adapter.Grace)
	}
	c.dead = true
	s.exitOf(c)
	return nil
}

func (s *simulation) exitOf(c *simClient) {
	s.Recorder.Record(history.Event{Type: history.Exit, Client: c.Number, Process: c.Process(), Start: s.Recorder.Now()})
}

// conversation is what lockchaos and a simulated adapter say to each other.
type conversation struct {
	c      *simClient
	in     *sim.Instance
	x      adapter.Exchange
	reply  *adapter.Reply
	says   adapter.Declaration
	broken error
	closed bool // its end is no surprise
	tell   func(adapter.Event)
	log    *external.Tail
	waiter *sim.Task
}

// take reads a line of the adapter.
func (v *conversation) take(text []byte) {
	reply, event, err := v.x.Take(text)
	switch {
	case v.broken != nil:
		return
	case err != nil:
		_ = v.Break("printed %.80q, which %v", text, err) // the next caller is told
	case event != nil:
		if v.tell != nil {
			v.tell(*event)
		}
	default:
		v.reply = reply
		if reply.Declaration != nil {
			v.says = *reply.Declaration
		}
	}
	v.wake()
}

func (v *conversation) wake() {
	if v.waiter != nil {
		v.waiter.Wake()
	}
}

func (v *conversation) exited(status uint32) {
	if !v.closed {
		// the next caller is told
		_ = v.Break("ended (exit status %d): it must answer until its standard input ends", status)
	}
	v.wake()
}

// Ask sends a request and waits for its answer.
func (v *conversation) Ask(r adapter.Request) (adapter.Reply, error) {
	return v.AskUntil(context.Background(), r)
}

// AskUntil is Ask: nobody gives a simulated acquire up.
func (v *conversation) AskUntil(_ context.Context, r adapter.Request) (adapter.Reply, error) {
	if v.broken != nil {
		return adapter.Reply{ID: r.ID}, v.broken
	}
	text, err := v.x.Begin(&r)
	if err != nil {
		return adapter.Reply{ID: r.ID}, err
	}
	t, h := v.c.task, v.c.machine
	v.reply, v.waiter = nil, t
	v.in.Send(append(text, '\n'))
	limit := time.Duration(r.TimeoutMS)*time.Millisecond + adapter.Grace
	began, stood, read := v.c.s.w.Now(), h.Stood(), h.Mono()
	ready := func() bool { return v.reply != nil || v.broken != nil || v.c.dead }
	for !ready() {
		// Time in which the client stands still is not the adapter's; and it cannot be blamed for a
		// clock that runs slow.
		passed := min(v.c.s.w.Now()-began, h.Mono()-read)
		left := limit - time.Duration(passed) + h.Stood() - stood
		if left <= 0 {
			return adapter.Reply{ID: r.ID}, v.Break("has not answered %s (request %d) for %v of virtual time", r.Op,
				r.ID, limit)
		}
		t.Await(left, ready)
	}
	switch {
	case v.reply != nil:
		return *v.reply, nil
	case v.c.dead:
		return adapter.Reply{ID: r.ID}, errors.New("the client was killed")
	}
	return adapter.Reply{ID: r.ID}, v.broken
}

// NextID is the ID of the next request.
func (v *conversation) NextID() int64 { return v.x.NextID() }

// Break marks the adapter as one that broke the protocol.
func (v *conversation) Break(format string, args ...any) error {
	if v.broken == nil {
		v.broken = &adapter.BrokenError{Command: cmp.Or(v.c.s.cfg.Plan.Scenario.Adapter.Go, v.c.s.cfg.Lock.Name),
			What: fmt.Sprintf(format, args...), Log: v.log.String()}
	}
	return v.broken
}

// Broken returns how the adapter broke the protocol, or nil.
func (v *conversation) Broken() error { return v.broken }

// Expect tells that the end of the adapter is no surprise from now on.
func (v *conversation) Expect() { v.closed = true }

// simStore is a client's connection to the protected store.
type simStore struct {
	c  *simClient
	ch *sim.Channel
}

// open reports whether there is a connection.
func (x *simStore) open() bool { return x.ch != nil && !x.ch.Closed() }

// storeTime is how long the store takes to decide.
const storeTime = 30 * time.Microsecond

// Read reads the key's value and version.
func (x *simStore) Read(_ context.Context, r store.Request) (store.Entry, error) {
	return x.do(r, false)
}

// Write writes the value.
func (x *simStore) Write(_ context.Context, r store.Request) (store.Entry, error) {
	return x.do(r, true)
}

func (x *simStore) do(r store.Request, write bool) (entry store.Entry, err error) {
	s := x.c.s
	if !x.open() {
		x.ch = s.w.Channel(x.c.machine, s.store)
	}
	ch, done := x.ch, false
	ch.Ask(r.Key, func() {
		s.w.After(storeTime, func() {
			e, failed := s.ledgers.Do(r, write)
			ch.Answer(r.Key, func() {
				entry, err, done = e, failed, true
				x.c.task.Wake()
			})
		})
	})
	answered := x.c.task.Await(x.c.limit, func() bool { return done || x.c.dead || ch.Closed() })
	switch {
	case done:
		return entry, err
	case ch.Closed():
		return store.Entry{}, errors.New("the connection to the store was reset")
	case answered:
		return store.Entry{}, errors.New("the client was killed")
	}
	ch.Close() // a late answer is not to be taken for the next call's
	return store.Entry{}, fmt.Errorf("the store has not answered within %v", x.c.limit)
}

func (x *simStore) close() {
	if x.ch != nil {
		x.ch.Close()
	}
}

// Close gives the connection up.
func (x *simStore) Close() error {
	x.close()
	return nil
}

// eventLines takes what a worker tells by itself.
type eventLines struct{ c *wire.Client }

func (l eventLines) Write(line []byte) (int, error) {
	var r wire.Reply
	if err := r.Parse(bytes.TrimRight(line, "\n")); err != nil {
		return 0, err
	}
	l.c.Event(r)
	return len(line), nil
}

// prefixed begins each piece that a program prints with whose it is.
type prefixed struct {
	prefix string
	log    io.Writer
}

func (p prefixed) Write(text []byte) (int, error) {
	_, err := fmt.Fprintf(p.log, "%s%s", p.prefix, text)
	return len(text), err
}
