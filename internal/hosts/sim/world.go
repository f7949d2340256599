package sim

import (
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/sim/halt"
)

// Epoch is the wall-clock time of every World at virtual time 0.
var Epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// start is the virtual time at which a World begins (ns): a stamp of 0 means "not known" elsewhere.
const start = int64(time.Second)

// Limits bound a run. A zero field is the usual limit.
type Limits struct {
	// HostCalls is how many host calls all programs of a World may make.
	HostCalls int64
	// Turns is how many turns of its loops a program may take within busyTime.
	// Every call of a function of Go is one.
	Turns uint64
	// Silent is how long, in real time, a program may compute without a host call: the last resort.
	Silent time.Duration
	// Memory is the linear memory of one program (bytes).
	Memory int64
}

const (
	usualHostCalls = 50_000_000
	usualTurns     = 10_000_000_000
	usualSilent    = 30 * time.Second
	usualMemory    = 256 << 20
	// A program that makes more than busyCalls in busyTime of virtual time is
	// in a loop. What servers do for it counts as calls, too.
	busyCalls = 2_000_000
	busyTime  = 10 * time.Second
)

func (l Limits) complete() Limits {
	if l.HostCalls == 0 {
		l.HostCalls = usualHostCalls
	}
	if l.Turns == 0 {
		l.Turns = usualTurns
	}
	if l.Silent == 0 {
		l.Silent = usualSilent
	}
	if l.Memory == 0 {
		l.Memory = usualMemory
	}
	return l
}

// World is one simulation. It is used by one goroutine.
type World struct {
	limits  Limits
	seed    uint64
	now     int64
	seq     uint64
	events  queue
	draws   *rand.Rand      // ties, costs of waking
	steady  map[string]bool // what is not drawn
	tied    bool            // TieDraws are not
	repeats bool            // nothing is drawn
	tasks   []*Task
	links   map[[2]*Host]*Link
	hosts   []*Host
	calls   int64 // host calls so far
	held    int64 // bytes of programs that are on their way, or unread
	err     error
	trace   func(at int64, who, what string)
	places  func(Place)
	instant instant
}

// New returns a World in which nothing has happened. Every draw follows the seed.
func New(seed uint64, l Limits) *World {
	w := &World{limits: l.complete(), seed: seed, now: start, links: map[[2]*Host]*Link{}}
	w.draws = w.Stream("scheduler")
	return w
}

// Trace has fn called from now on for every host call, every command of a node
// and whatever becomes of a segment on the wire.
func (w *World) Trace(fn func(at int64, who, what string)) { w.trace = fn }

// TieDraws names the draws that order events of one instant, HostDraws those of how long a host
// takes to run a program, and LinkDraws those of how long segments are on their way, either way.
const TieDraws = "ties"

// HostDraws is explained at TieDraws.
func HostDraws(host string) string { return host }

// LinkDraws is explained at TieDraws.
func LinkDraws(a, b string) string { return a + "-" + b }

// Steady has draws of the scheduler always give the middle: those with these names. It is called
// before hosts are added. All other draws are as they are without it.
func (w *World) Steady(names ...string) {
	w.steady = map[string]bool{}
	for _, name := range names {
		w.steady[name] = true
	}
	w.tied = w.steady[TieDraws]
}

// drawn draws a number below n; the middle one if it is to be steady.
func drawn(from *rand.Rand, n int64, steady bool) int64 {
	d := from.Int64N(n)
	if steady {
		return n / 2
	}
	return d
}

// Now is the virtual time (ns); it is also what true monotonic clocks of the World read.
func (w *World) Now() int64 { return w.now }

// HostCalls is how many host calls programs have made.
func (w *World) HostCalls() int64 { return w.calls }

// Stream returns random numbers of their own for one part of the World.
func (w *World) Stream(name string) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s", w.seed, name)
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

// After has fn called when d has passed.
func (w *World) After(d time.Duration, fn func()) { w.push(event{at: w.now + int64(d), fn: fn}) }

func (w *World) push(e event) {
	if e.tie = w.draws.Uint32(); w.tied {
		e.tie = 0
	}
	w.seq++
	e.seq = w.seq
	w.events.push(e)
	if len(w.events) > mostEvents {
		w.sweep()
	}
}

// sweep drops wakes that nobody waits for any more, and ends the run if that
// leaves too many events.
func (w *World) sweep() {
	w.events = w.events.without((*event).stale)
	if len(w.events) > mostEvents/2 {
		w.Fail(fmt.Errorf("more than %d events are under way at once: some program sends or dials in a loop",
			mostEvents/2))
	}
}

// Fail ends the run with an error; the first one stands.
func (w *World) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// idle is how long a World may go on while no program makes a host call: servers whose clocks tick
// keep it going.
const idle = 24 * time.Hour

// errIdle is the error of a World in which nothing can happen any more.
var errIdle = errors.New("the simulation stands still: nobody waits for anything that can come")

// Run lets time pass until over reports true, and returns what ended it before that.
func (w *World) Run(over func() bool) error {
	calls, since := w.calls, w.now
	for w.err == nil && !over() {
		if w.calls != calls {
			calls, since = w.calls, w.now
		}
		if len(w.events) == 0 || w.now-since > int64(idle) {
			return errIdle
		}
		if at := w.events[0].at; at > w.now {
			w.begin(at)
		}
		e := w.events.pop()
		w.now = max(w.now, e.at)
		w.instant.seq = e.seq
		switch {
		case e.task == nil:
			e.fn()
		case !e.stale():
			e.task.resume()
		}
	}
	return w.err
}

// Close ends every task and program.
func (w *World) Close() {
	for _, t := range w.tasks {
		t.stop()
	}
	w.tasks = nil
}

// Task is a coroutine in virtual time.
type Task struct {
	w       *World
	host    *Host // while that is frozen, the task does not run
	next    func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	gen     uint64
	done    bool
	owed    bool          // it was woken while its host was frozen
	silence *halt.Silence // ends a program that computes for too long; nil: the task is no program
}

// stopped is the panic that unwinds a task of a World that is closed, or of a program that is
// killed.
type stopped struct{}

// Go starts a task.
func (w *World) Go(fn func(*Task)) *Task {
	t := &Task{w: w}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			t.done = true
			if p := recover(); p != nil {
				if _, is := p.(stopped); !is {
					panic(p)
				}
			}
		}()
		t.yield = yield
		fn(t)
	})
	w.tasks = append(w.tasks, t)
	w.push(event{at: w.now, task: t})
	return t
}

func (t *Task) resume() {
	if t.host != nil && t.host.frozen {
		t.owed = true
		return
	}
	if t.silence != nil {
		t.silence.Turn(func() { t.next() })
		return
	}
	t.next()
}

// turn gives the turn away until a wake of the present generation. It is false when the task is to
// end.
func (t *Task) turn() bool {
	goes := t.yield(struct{}{})
	t.gen++
	return goes
}

func (t *Task) park() {
	if !t.turn() {
		panic(stopped{})
	}
}

// Wake has the task look again, if it waits.
func (t *Task) Wake() { t.wakeAt(t.w.now) }

func (t *Task) wakeAt(at int64) { t.w.push(event{at: at, task: t, gen: t.gen}) }

// Forever is longer than any run.
const Forever = 10_000 * time.Hour

// Sleep lets d pass.
func (t *Task) Sleep(d time.Duration) { t.Await(d, func() bool { return false }) }

// Await waits until ready reports true, at the longest for d, and reports whether it does. The
// code that makes it true wakes the task.
func (t *Task) Await(d time.Duration, ready func() bool) bool {
	until := t.w.now + int64(d)
	for !ready() {
		if t.w.now >= until {
			return false
		}
		if d < Forever {
			t.wakeAt(until)
		}
		t.park()
	}
	return true
}

// On has the task stand still whenever the host does; nil: it never does. It returns when it runs.
func (t *Task) On(h *Host) {
	t.host = h
	if h != nil && h.frozen {
		t.owed = true
		t.park()
	}
}
