package checker

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// A small world that knows the truth: clients with pauses, a lock service with leases or sessions, a network with delays, a
// fenced or an unfenced store. It records a history as a harness would, which sees none of the service's own instants.

// service is a lock under test, with the defects that can be seeded into it.
type service struct {
	session     bool
	early       bool // leases run out at half the TTL, sessions much earlier
	blindDelete bool // a release deletes whatever is there
	resets      bool // the token counter starts again now and then
	sticky      bool // one release is answered ok, but frees nothing, ever
	silent      bool // the library never tells of a loss
}

type worldConfig struct {
	service
	fenced, fenceReads bool
	pauses             bool
	slowWrites         bool // some writes stay long in the network
	slowThinker        bool // clients may think for longer than the lock may take to tell of a loss
	clients            int
}

type task struct {
	at, nr int64
	run    func()
}

type tasks []task

func (q tasks) Len() int { return len(q) }
func (q tasks) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].nr < q[j].nr
}
func (q tasks) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *tasks) Push(t any)   { *q = append(*q, t.(task)) }
func (q *tasks) Pop() any {
	old := *q
	t := old[len(old)-1]
	*q = old[:len(old)-1]
	return t
}

// truth is what the service and the clients know of a grant, and no history tells.
type truth struct {
	granted, lastAct int64
	client           int32
	token            int64
	released, told   bool
}

type recorded struct {
	at int64
	e  history.Event
}

type world struct {
	worldConfig
	rng    *rand.Rand
	queue  tasks
	now    int64
	nr     int64
	op     int64
	lines  []recorded
	grants map[int64]*truth
	paused map[int32][][2]int64
	// the service's state of its one key
	owner, expires, token int64
	stuck                 bool
	// the store's
	seq, version, fence int64
	until               int64
}

const (
	worldTTL   = 500 * ms
	worldEnd   = 6000 * ms
	opTimeout  = 300 * ms
	worldGrace = 250 * ms
)

func (w *world) later(at int64, run func()) {
	w.nr++
	heap.Push(&w.queue, task{at, w.nr, run})
}

// between draws a time.
func (w *world) between(from, to int64) int64 { return from + w.rng.Int64N(to-from) }

// awake is when a client gets to run that would at t.
func (w *world) awake(client int32, t int64) int64 {
	for _, p := range w.paused[client] {
		if t >= p[0] && t < p[1] {
			t = p[1] + w.between(ms/10, ms)
		}
	}
	return t
}

func (w *world) record(at int64, e history.Event) { w.lines = append(w.lines, recorded{at, e}) }

// runWorld runs a world and returns the history that a harness would have recorded.
func runWorld(c worldConfig, seed uint64) (*history.History, *world) {
	w := &world{worldConfig: c, rng: rand.New(rand.NewPCG(seed, 5)), grants: map[int64]*truth{}, paused: map[int32][][2]int64{}, until: worldEnd}
	for n := int32(1); n <= int32(c.clients); n++ {
		if c.pauses {
			w.pause(n)
		}
		w.later(w.between(1*ms, 50*ms), func() { w.round(n) })
	}
	w.drain()
	w.probe(history.PhaseProbe, int32(c.clients)+1)
	for n := int32(1); n <= int32(c.clients)+1; n++ {
		w.now += ms
		w.record(w.now, history.Event{Type: history.Exit, Client: n, Time: w.now, Start: w.now})
	}
	w.probe(history.PhaseFinal, int32(c.clients)+2)
	return w.history(), w
}

func (w *world) drain() {
	for len(w.queue) > 0 {
		t := heap.Pop(&w.queue).(task)
		w.now = max(w.now, t.at)
		t.run()
	}
}

// pause plans a client's pauses, shorter and longer than the TTL.
func (w *world) pause(n int32) {
	for t := w.between(200*ms, 2000*ms); t < worldEnd-1500*ms; t += w.between(500*ms, 2500*ms) {
		p := [2]int64{t, t + w.between(100*ms, 1400*ms)}
		w.paused[n] = append(w.paused[n], p)
		t = p[1]
		w.op++
		f := history.FaultInfo{ID: int(w.op), Kind: "pause", Phase: "begin", Clients: []int32{n}, Injected: true}
		end := f
		end.Phase, end.From, end.To, end.Bit = "end", p[0], p[1], true
		w.record(p[0], history.Event{Type: history.Fault, Fault: &f})
		w.record(p[1], history.Event{Type: history.Fault, Fault: &end})
	}
}

// call is one op: serve runs when the request arrives and answers into the event; next when the completion is recorded.
func (w *world) call(e history.Event, serve func(*history.Event), next func(history.Event)) {
	w.op++
	e.Op, e.Process, e.Type = w.op, e.Client, history.Invoke
	if e.Kind == history.Acquire {
		e.Grant = e.Op
	}
	w.record(w.now, e)
	start := w.awake(e.Client, w.now+w.between(1000, ms))
	w.attempt(e, start, start, serve, next)
}

func (w *world) attempt(e history.Event, start, at int64, serve func(*history.Event), next func(history.Event)) {
	delay := w.between(ms/10, 3*ms)
	if e.Kind == history.Write && w.slowWrites && w.rng.IntN(8) == 0 {
		delay = w.between(ms, 2*worldTTL)
	}
	if g := w.grants[e.Grant]; g != nil && e.Kind != history.Release {
		w.later(at, func() { g.lastAct = at })
	}
	w.later(at+delay, func() {
		e.Attempt, e.First, e.Busy = at, at, false
		serve(&e)
		reply := w.awake(e.Client, w.now+w.between(ms/10, 3*ms))
		if e.Busy && reply-start < 800*ms {
			w.attempt(e, start, w.awake(e.Client, reply+w.between(ms, 10*ms)), serve, next)
			return
		}
		if e.Kind == history.Write && w.now-start > opTimeout {
			return // timed out below
		}
		w.complete(e, start, reply, next)
	})
	if e.Kind == history.Write && delay > opTimeout {
		late := e
		late.Type = history.Info
		w.complete(late, start, w.awake(e.Client, start+opTimeout), next)
	}
}

func (w *world) complete(e history.Event, start, end int64, next func(history.Event)) {
	e.Start, e.End = start, end
	if e.Kind != history.Acquire {
		e.Attempt, e.First = 0, 0
	}
	w.later(end+w.between(1000, 2*ms), func() {
		e.Time = w.now
		w.record(w.now, e)
		next(e)
	})
}

// round is what a client does over and over: acquire, read, think, write, release.
func (w *world) round(client int32) {
	if w.now > w.until {
		return
	}
	w.call(history.Event{Kind: history.Acquire, Client: client}, w.serveAcquire, func(got history.Event) {
		if got.Type != history.OK {
			w.later(w.now+w.between(ms, 20*ms), func() { w.round(client) })
			return
		}
		use := history.Event{Client: client, Grant: got.Op, Token: got.Token}
		use.Kind = history.Read
		think := w.between(ms, 40*ms)
		if w.slowThinker {
			think = w.between(ms, 2*worldGrace)
		}
		w.call(use, w.serveStore, func(history.Event) {
			wakes := w.awake(client, w.now+think)
			if w.slowThinker && wakes > w.now+think {
				wakes = w.awake(client, wakes+think) // it thinks on after the pause
			}
			w.later(wakes, func() {
				use.Kind = history.Write
				w.call(use, w.serveStore, func(history.Event) {
					use.Kind = history.Release
					w.call(use, w.serveRelease, func(history.Event) {
						w.later(w.now+w.between(ms, 30*ms), func() { w.round(client) })
					})
				})
			})
		})
	})
}

func (w *world) serveAcquire(e *history.Event) {
	if w.owner != 0 && w.now < w.expires || w.stuck {
		e.Type, e.Busy = history.Fail, true
		return
	}
	w.token++
	if w.resets && w.rng.IntN(20) == 0 {
		w.token = 1
	}
	w.owner, w.expires = e.Op, w.now+worldTTL
	if w.early {
		w.expires = w.now + worldTTL/2
		if w.session {
			w.expires = w.now + worldTTL/25
		}
	}
	w.grants[e.Op] = &truth{granted: w.now, client: e.Client, token: w.token}
	e.Type, e.Token = history.OK, w.token
	if w.session {
		w.keepAlive(e.Op, w.now)
	}
}

// keepAlive renews a session's lease every third of the TTL, as long as its client runs, and tells it of a loss.
func (w *world) keepAlive(grant, t int64) {
	g := w.grants[grant]
	at := w.awake(g.client, t+worldTTL/3)
	w.later(at, func() {
		if w.owner == grant && (w.now < w.expires) {
			w.expires = w.now + worldTTL
			w.keepAlive(grant, w.now)
			return
		}
		if !g.released && !w.silent && !g.told {
			g.told = true
			w.record(w.now, history.Event{Type: history.Lost, Grant: grant, Client: g.client, Time: w.now, Start: w.now})
		}
	})
}

func (w *world) serveRelease(e *history.Event) {
	mine := w.owner == e.Grant && w.now < w.expires
	if !mine && !w.blindDelete {
		e.Type, e.NotHeld = history.Fail, true
		return
	}
	e.Type = history.OK
	w.owner = 0
	w.grants[e.Grant].released = true
	if w.sticky && w.now > worldEnd/2 {
		w.stuck = true
	}
}

func (w *world) serveStore(e *history.Event) {
	write := e.Kind == history.Write
	checked := w.fenced && (write || w.fenceReads)
	refused := write && w.fenced && e.Token < w.fence
	if checked {
		w.fence = max(w.fence, e.Token)
	}
	e.Type, e.Version = history.OK, w.version
	switch {
	case refused:
		e.Type, e.Refused, e.Version = history.Fail, true, 0
	case write:
		e.Replaced = w.version
		w.version++
		e.Version = w.version
	}
	w.seq++
	entry := *e
	entry.Type, entry.Time, entry.Seq = history.Ledger, w.now, w.seq
	w.record(w.now+100*ms, entry)
	w.record(w.now+100*ms, history.Event{Type: history.Watermark, Time: w.now + 100*ms, Start: w.now})
}

// probe lets a fresh client acquire and release the key.
func (w *world) probe(phase string, client int32) {
	w.now += 10 * ms
	w.record(w.now, history.Event{Type: history.Mark, Text: phase, Time: w.now})
	deadline := w.now + 4*worldTTL
	var try func()
	try = func() {
		w.call(history.Event{Kind: history.Acquire, Client: client}, w.serveAcquire, func(got history.Event) {
			if got.Type == history.OK {
				w.call(history.Event{Kind: history.Release, Client: client, Grant: got.Op}, w.serveRelease, func(history.Event) {})
			} else if w.now < deadline {
				try()
			}
		})
	}
	try()
	w.drain()
}

func (w *world) history() *history.History {
	slices.SortStableFunc(w.lines, func(a, b recorded) int { return cmp.Compare(a.at, b.at) })
	h := &history.History{Keys: []string{"k0"}, Header: history.Header{Clients: w.clients, TTL: worldTTL, Stall: worldTTL / 10,
		Claims: history.Claims{Validity: "from_invocation", Token: "fencing", Permits: 1, Confirms: []string{"release"}},
		Store:  history.Store{Engine: "world", Fenced: w.fenced, FenceReads: w.fenceReads}}}
	if w.session {
		h.Header.Claims.Validity, h.Header.Claims.LostGrace = "session", worldGrace
	}
	for _, l := range w.lines {
		if l.e.Time == 0 {
			l.e.Time = l.at
		}
		h.Events = append(h.Events, l.e)
	}
	h.Events = append(h.Events, history.Event{Type: history.Watermark, Time: w.now + 1000*ms, Start: w.now + 1000*ms},
		history.Event{Type: history.End, Time: w.now + 1000*ms})
	return h
}
