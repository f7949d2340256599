package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/director"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/harness/workload"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/scenarios"
)

// answerSlack is how much longer than an op's own time limit the harness waits
// for the answer of a worker that nothing stops; planned pauses come on top.
const answerSlack = 10 * time.Second

// spawn starts a worker on the host. Its standard error goes to a log file of its own.
func (r *run) spawn(number int32, host *hosts.Host) (*workerProcess, error) {
	fail := func(err error) (*workerProcess, error) {
		return nil, fmt.Errorf("start client %d on host %s: %w", number, host.Name, err)
	}
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	defer inRead.Close()
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return fail(errors.Join(err, inWrite.Close()))
	}
	defer outWrite.Close()
	log, err := os.OpenFile(filepath.Join(r.cfg.Logs, host.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fail(errors.Join(err, inWrite.Close(), outRead.Close()))
	}
	// a library's complaint may hold the address that it was given, with its password
	safe := redact.NewWriter(log)
	command := r.cfg.Worker
	if command == nil {
		command = []string{"/proc/self/exe", "worker"}
	}
	cmd := exec.Command(command[0], command[1:]...)
	// Files, not pipes of exec's making: those are closed when the process
	// ends, with lines still unread in them.
	cmd.Stdin, cmd.Stdout = inRead, outWrite
	// Its last words are waited for, unless somebody lives on who could say more.
	cmd.Stderr, cmd.WaitDelay = safe, lastWordsLimit
	proc, err := host.Start(cmd)
	if err != nil {
		return fail(errors.Join(err, inWrite.Close(), outRead.Close(), log.Close()))
	}
	go func() {
		<-proc.Done()
		_ = errors.Join(safe.Flush(), log.Close()) // of the history nothing is in there
	}()
	c := wire.NewClient(number, host.Name, inWrite, &r.IDs, r.KeyIDs)
	c.Extra, c.Ended = answerSlack+director.LongestFault(r.cfg.Plan), r.sessions.endedBy
	c.Event = func(e wire.Reply) { r.workerEvent(c, e) }
	go func() {
		defer outRead.Close()
		c.Listen(outRead, func() error {
			<-proc.Done()
			return proc.Err()
		})
	}()
	return &workerProcess{Client: c, proc: proc, stdin: inWrite}, nil
}

// open tells the worker who it is and waits until it is connected.
func (r *run) open(ctx context.Context, w *workerProcess) error {
	s := r.cfg.Plan.Scenario
	limit := max(s.Workload.OpTimeout, record.HelloLimit)
	a, err := w.Ask(ctx, wire.Command{ID: w.IDs.NextOp(), Op: "open", Timeout: int64(limit), Open: &wire.Opening{
		Lock: r.cfg.Lock.Name, Adapter: r.adapter(), Nodes: r.service.Addrs(),
		Account: (*clients.Account)(r.service.Account()), Store: r.store.Addr, TTL: s.TTL.Std(),
		Every: s.Workload.Every.Std(), Client: w.Number,
		Seed: r.cfg.Plan.StreamSeed(w.Stream()), Decline: s.Workload.Guard != workload.GuardNone, Stall: r.StallBound(),
		Isolation: s.Workload.Isolation, Twins: s.Twins, Lent: r.cfg.Keys != ""}})
	if err != nil {
		return err
	}
	if err := r.Opened(w.Client, a); err != nil {
		return err
	}
	if s.External() {
		if t := r.taps.on(w.proc.Host(), r.service); t != nil {
			w.Tap = t
		}
	}
	return nil
}

// end closes the lock client and the process, and records that nothing more will come from it.
func (r *run) end(ctx context.Context, w *workerProcess) error {
	if _, _, err := w.Do(ctx, wire.Op{Kind: history.Close,
		Timeout: r.cfg.Plan.Scenario.Workload.OpTimeout.Std()}); err != nil {
		return err
	}
	if err := w.stdin.Close(); err != nil {
		return fmt.Errorf("close the input of client %d: %w", w.Number, err)
	}
	ctx, cancel := context.WithTimeout(ctx, exitLimit)
	defer cancel()
	if err := w.proc.Wait(ctx); err != nil {
		return err
	}
	return r.exited(ctx, w)
}

// workerEvent takes what a worker tells by itself. What comes before the
// history begins is of no interest: nothing is held yet.
func (r *run) workerEvent(c *wire.Client, e wire.Reply) {
	if e.Event == wire.EventSession {
		r.sessions.opened(c.Number, e)
		return
	}
	if !r.recording.Load() {
		return
	}
	switch e.Event {
	case wire.EventLost:
		r.Lost(c, e)
	case wire.EventHoldBegins, wire.EventHoldEnds:
		c.TellStall(e)
	case wire.EventStall:
		r.director.NoteStall(c.Number, r.Recorder.Relative(e.From), r.Recorder.Relative(e.To), time.Duration(r.StallBound()),
			func(length time.Duration) string {
				return fmt.Sprintf("the worker's heartbeat was %v late, and no pause was injected",
					length.Round(time.Millisecond))
			})
	}
}

// succeed starts a fresh process in the place of one that has ended.
func (r *run) succeed(old *workerProcess) (*workerProcess, error) {
	r.sessions.forget(old.Number)
	fresh, err := r.spawn(old.Number, old.proc.Host())
	if err != nil {
		return nil, err
	}
	fresh.Recorder, fresh.Claims, fresh.Life = r.Recorder, old.Claims, old.Life+1
	return fresh, nil
}

// exited waits for a process's end and its last lines, for nothing may come
// after its exit, and records that nothing more will come from it.
func (r *run) exited(ctx context.Context, w *workerProcess) error {
	ctx, cancel := context.WithTimeout(ctx, exitLimit)
	defer cancel()
	select {
	case <-w.Gone():
	case <-ctx.Done():
		return w.stillThere(ctx)
	}
	r.Recorder.Record(history.Event{Type: history.Exit, Client: w.Number, Process: w.Process(),
		Start: r.Recorder.Relative(w.proc.Gone())})
	return nil
}

// adapter is what a worker needs to start the program that is the lock; nil: it is none.
func (r *run) adapter() *clients.Adapter {
	s := r.cfg.Plan.Scenario
	if !s.External() {
		return nil
	}
	return &clients.Adapter{Command: s.Adapter.Command, Dir: s.Adapter.Dir, Service: s.Adapter.Service, Memory: s.Adapter.Memory,
		Shared: r.shared, Leader: s.Adapter.Kind == scenarios.Leader, ClockFaults: possible.ClocksOfClients(s.Faults)}
}
