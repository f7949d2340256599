package checker

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// A small world that knows the truth: clients that are paused and killed, a lock service with
// leases, sessions or a queue, a network that delays and loses packets, a library that tries
// again in secret, a fenced or an unfenced store. It records a history as a harness would,
// which sees none of the service's own instants; truth_test.go says what really happened.

// service is a lock under test, with the defects that can be seeded into it.
type service struct {
	session bool // a lease is renewed in the background for as long as the client runs
	queue   bool // waiters wait in the service, first come, first served
	// the library says for how long a grant is good, and looks at its clock when the reply comes
	library bool

	early       bool // leases run out at half the TTL, sessions much earlier
	overbooks   bool // now and then a grant is made beyond the permits
	blindDelete bool // a release deletes whatever is there
	resets      bool // the token counter starts again now and then
	sticky      bool // one release is answered ok, but frees nothing, ever
	immortal    bool // what a dead client held is held for ever
	lingers     bool // a waiter that was told no stays in the queue while its client lives
	silent      bool // the library never tells of a loss
	vouches     bool // renewals, releases and "held?" are answered ok, no matter who holds
	careless    bool // the library does not look at its clock when a reply comes
	jumps       bool // now and then the newest waiter is served first
	favours     bool // client 1 is not served while another one waits
	amnesic     bool // the library does not know its own value again when it asks once more
	wakesAll    bool // a release has every waiter ask again
	forgets     bool // now and then a release wakes nobody, and who waits then sleeps on
	lenient     bool // the service ends a session up to a second and a half too late: no defect
	alone       bool // the library claims to notice a loss by its own clock
	deaf        bool // it does not look at its clock
	denies      bool // now and then a renewal, or "held?", is answered "not held", no matter who holds
	keeps       bool // now and then a release is answered ok, and the lease runs on
	// of several keys that are asked for at once, it keeps those that it has got when it refuses
	partial bool
}

// defective reports whether the lock is broken, whatever its clients suffer.
func (s service) defective() bool {
	return s.early || s.overbooks || s.blindDelete || s.resets || s.sticky || s.immortal || s.lingers || s.silent ||
		s.vouches || s.careless || s.jumps ||
		s.amnesic || s.favours || s.wakesAll || s.forgets || s.deaf || s.denies || s.keeps || s.partial
}

type worldConfig struct {
	service
	clients, permits, keys int    // 0: four clients, one permit, one key
	workload               string // "": each reads, thinks, writes
	fenced, fenceReads     bool
	pauses, kills          bool
	lossy                  bool // packets are lost, and the library tries again by itself
	slowReplies            bool // some answers to an acquire stay long in the network
	slowWrites             bool // some writes stay long in the network
	twice                  bool // the store takes some writes twice
	// clients may think for longer than the lock may take to tell of a loss
	slowThinker    bool
	renews         bool  // clients renew, and ask whether they hold
	crossed        bool  // of two keys, clients take either first
	lasts, waits   int64 // the run, and the most that an acquire takes
	backOff, rests int64 // the most between two looks at the key, and between two rounds
	once           bool  // the library gives up at the first busy
	// several keys are taken one after the other, in one order, and kept while
	// the others are waited for
	inTurn bool
	cuts   bool // clients are cut off from the service, and think for long
}

// workloadTransfer has each client take two keys.
const workloadTransfer = "transfer"

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
	paused map[int32][][2]int64
	apart  map[int32][][2]int64 // when a client was cut off from the service
	worker map[int32]int32      // the incarnation that runs as a client
	gone   map[int32]bool       // incarnations that were killed or have ended
	locks  []*lockState
	store  storeState
	truths truths
	until  int64
}

const (
	worldTTL   = 500 * ms
	worldEnd   = 6000 * ms
	opTimeout  = 300 * ms // of a request to the store
	tryTimeout = 60 * ms  // of one attempt of the library, where packets are lost
	waitLimit  = 800 * ms // of an acquire
	worldGrace = 250 * ms
	worldSlack = 50 * ms // of a service that ends a session at its TTL
)

func (w *world) later(at int64, run func()) {
	w.nr++
	heap.Push(&w.queue, task{at, w.nr, run})
}

// between draws a time.
func (w *world) between(from, to int64) int64 { return from + w.rng.Int64N(to-from) }

// now and then: one time in n.
func (w *world) sometimes(n int) bool { return w.rng.IntN(n) == 0 }

// awake is when a client gets to run that would at t.
func (w *world) awake(client int32, t int64) int64 {
	for _, p := range w.paused[client] {
		if t >= p[0] && t < p[1] {
			t = p[1] + w.between(ms/10, ms)
		}
	}
	return t
}

// stoppedFor is for how long a client has been stopped at a stretch between two
// instants, at the most.
func (w *world) stoppedFor(client int32, from, to int64) (longest int64) {
	for _, p := range w.paused[client] {
		longest = max(longest, min(p[1], to)-max(p[0], from))
	}
	return longest
}

// stoppedNow is for how long a client that is stopped has been; 0: it runs.
func (w *world) stoppedNow(client int32) int64 {
	for _, p := range w.paused[client] {
		if p[0] <= w.now && w.now < p[1] {
			return w.now - p[0]
		}
	}
	return 0
}

// pausedIn reports whether a client was stopped at some time between two instants.
func (w *world) pausedIn(client int32, from, to int64) bool {
	return slices.ContainsFunc(w.paused[client], func(p [2]int64) bool { return p[0] <= to && p[1] >= from })
}

func (w *world) record(at int64, e history.Event) { w.lines = append(w.lines, recorded{at, e}) }

// runWorld runs a world and returns the history that a harness would have recorded.
func runWorld(c worldConfig, seed uint64) (*history.History, *world) {
	c.clients, c.permits, c.keys = cmp.Or(c.clients, 4), cmp.Or(c.permits, 1), cmp.Or(c.keys, 1)
	c.lasts, c.waits = cmp.Or(c.lasts, worldEnd), cmp.Or(c.waits, waitLimit)
	c.backOff, c.rests = cmp.Or(c.backOff, 10*ms), cmp.Or(c.rests, 30*ms)
	w := &world{worldConfig: c, rng: rand.New(rand.NewPCG(seed, 5)), paused: map[int32][][2]int64{},
		apart: map[int32][][2]int64{}, worker: map[int32]int32{}, gone: map[int32]bool{},
		until: c.lasts}
	for range c.keys {
		w.locks = append(w.locks, &lockState{held: map[int64]int64{}, ghosts: map[int64]int32{}})
	}
	w.store.init(c.keys)
	w.truths = newTruths()
	for n := int32(1); n <= int32(c.clients); n++ {
		w.worker[n] = n
		if c.pauses {
			w.pause(n)
		}
		if c.cuts {
			w.cut(n)
		}
		if c.kills && n%2 == 0 {
			w.kill(n)
		}
		w.later(w.between(1*ms, 50*ms), func() { w.round(n) })
	}
	if c.workload == workloadStampede {
		for _, at := range [2]int64{500 * ms, worldEnd} {
			w.later(at, func() { w.countRequests() })
		}
	}
	w.drain()
	w.probe(history.PhaseProbe, int32(c.clients)+1)
	for n := int32(1); n <= int32(c.clients)+1; n++ {
		w.now += ms
		w.gone[w.process(n)] = true
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

// fault records an injected fault into a client, from its beginning to its end.
func (w *world) fault(kind string, n int32, from, to int64) {
	w.faultOn(history.FaultInfo{Kind: kind, Clients: []int32{n}}, from, to)
}

func (w *world) faultOn(f history.FaultInfo, from, to int64) {
	w.op++
	f.ID, f.Phase, f.Injected = int(w.op), "begin", true
	end := f
	end.Phase, end.From, end.To, end.Bit = "end", from, to, true
	w.record(from, history.Event{Type: history.Fault, Fault: &f})
	w.record(to, history.Event{Type: history.Fault, Fault: &end})
}

// pause plans a client's pauses, shorter and longer than the TTL.
func (w *world) pause(n int32) {
	for t := w.between(200*ms, 2000*ms); t < w.until-1500*ms; t += w.between(500*ms, 2500*ms) {
		p := [2]int64{t, t + w.between(100*ms, 1400*ms)}
		w.paused[n] = append(w.paused[n], p)
		t = p[1]
		w.fault("pause", n, p[0], p[1])
	}
}

// process is the incarnation that runs as a client; a fresh client has its own number.
func (w *world) process(n int32) int32 { return cmp.Or(w.worker[n], n) }

// kill plans the deaths of a client. A fresh process goes on under its number,
// and knows nothing of what its predecessor held.
func (w *world) kill(n int32) {
	for t := w.between(300*ms, 2500*ms); t < w.until-2000*ms; t += w.between(1000*ms, 3000*ms) {
		w.later(t, func() {
			dead := w.process(n)
			gone := w.now + w.between(ms/10, ms)
			w.gone[dead] = true
			w.truths.died(n, w.now)
			w.fault("kill", n, w.now, gone)
			w.record(gone+1, history.Event{Type: history.Exit, Client: n, Process: dead, Time: gone + 1, Start: gone})
			w.worker[n] = dead + 100
			w.later(gone+w.between(10*ms, 100*ms), func() { w.round(n) })
		})
	}
}

func (w *world) history() *history.History {
	slices.SortStableFunc(w.lines, func(a, b recorded) int { return cmp.Compare(a.at, b.at) })
	h := &history.History{Keys: []string{"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"}[:w.keys],
		Header: history.Header{Clients: w.clients, TTL: worldTTL, Stall: worldTTL / 10,
			Workload: w.workload, Store: history.Store{Engine: "world", Fenced: w.fenced, FenceReads: w.fenceReads},
			Claims: history.Claims{MultiKey: w.mostKeys(), Validity: validityInvocation, Token: "fencing",
				Permits: w.permits, Confirms: []string{"release"}, Fair: w.service.queue,
				WakesOne: w.workload == workloadStampede}}}
	claims := &h.Header.Claims
	switch {
	case w.session:
		claims.Validity, claims.LostGrace = validitySession, worldGrace
		h.Header.Slack = worldSlack
		if w.alone {
			claims.Notices = noticesAlone
		}
	case w.library:
		claims.Validity = validityLibrary
	}
	if w.renews {
		claims.Confirms = []string{"renew", "release", "held"}
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

// mostKeys is how many keys one acquire may ask for.
func (w *world) mostKeys() int {
	if w.workload == workloadSets {
		return 3
	}
	return 0
}

// probe lets a fresh client acquire and release every key.
func (w *world) probe(phase string, client int32) {
	w.now += 10 * ms
	w.record(w.now, history.Event{Type: history.Mark, Text: phase, Time: w.now})
	for k := range w.keys {
		deadline := w.now + 4*worldTTL
		key := history.KeyID(k)
		var try func()
		try = func() {
			w.call(history.Event{Kind: history.Acquire, Client: client, Key: key}, func(got history.Event) {
				if got.Type == history.OK {
					w.call(history.Event{Kind: history.Release, Client: client, Key: key, Grant: got.Op}, func(history.Event) {})
					return
				}
				w.truths.turnedAway = w.truths.turnedAway || w.truths.falsely[got.Op]
				if w.now < deadline {
					try()
				} else if got.Busy {
					w.truths.stuck = true
				}
			})
		}
		try()
		w.drain()
	}
}
