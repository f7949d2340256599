package checker

import (
	"math"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// Sweep judges one history in one pass: New, Add for every event in the order
// of the history, Finish. It is pure: it reads no clock, draws nothing at
// random, and gives the same verdict for the same events, byte for byte.
//
// It is not safe for concurrent use.
type Sweep struct {
	rules  rules
	faults faults
	opts   Options

	now     int64
	phase   string
	numbers directory
	live    int
	grants  int64 // of all keys
	keys    []*keyState
	settled []*keyState // those that may have settled grants which are not forgotten

	// openSets counts the open acquires of keys in sets; asking is memory for setOf.
	openSets int
	asking   []*op

	spareOps    *op // a list of them, by next
	spareGrants []*grant
	spareBlocks pastBlocks
	freshGrants []grant
	retire      func(*grant, *op) // for a test: takes the records that would be used again

	// footprints are those of holds on other protected keys than the first.
	footprints map[*grant][]*footprint

	clients []clientState

	pending []pending
	decided int // how many of them, from the front
	nextDue int64
	cut     bool // the history was truncated; known at its end only

	found [][]found // by the place of the property
	// defectsKept is how many places at the end of the full list of
	// double-holds have been looked through for room (keepDefect).
	defectsKept int
	foundNr     int64

	ledger ledgerAccount
	probe  probeAccount
	// stretches are those in which a key was perhaps stuck; silences are when
	// the service gave no answer, lastAnswer is its last one.
	stretches  []*stretch
	silences   []span
	lastAnswer int64
	times      [timingCount]histogram
	waits      []wait  // for a cycle
	counts     []tick  // what the service said of itself
	judged     tallied // what the newer properties were judged by
	stats      Stats
	// strays counts ops that name a grant which was over long before, malformed
	// the events that make no sense.
	strays, malformed int64
	// compared counts the comparisons of grants of semaphores.
	compared   int
	tokensSeen bool
}

// clientState is what is known of one client, on every key.
type clientState struct {
	alive int64 // the last sign of life
	// latest is its latest incarnation, gone the latest that has ended.
	latest, gone int32
	holding      int // grants that it has not given up, over all keys
	// keys are those that it has asked for, and was answered; jumbled: they are
	// not in the order of their numbers. asking are its open acquires.
	keys    []*keyState
	jumbled bool
	asking  []*op
	// closedAt is the latest end of a promise to it, of the grants that it has given up.
	closedAt int64
}

// New begins to judge a history. keys are the lock keys' names by number.
func New(header history.Header, keys []string, o Options) *Sweep {
	if o.Keep == 0 {
		o.Keep = 100
	}
	s := &Sweep{rules: newRules(header, keys), opts: o, nextDue: math.MaxInt64,
		numbers: newDirectory(), footprints: map[*grant][]*footprint{}, found: make([][]found, len(properties))}
	s.faults = faults{rules: &s.rules, stats: plannedFaults(header.Faults)}
	s.ledger.expected = header.Store.Engine != ""
	return s
}

// Add judges the next event. The event is not kept.
func (s *Sweep) Add(e *history.Event) {
	s.stats.Events++
	if e.Time > s.now {
		s.now = e.Time
	}
	switch e.Type {
	case history.Invoke:
		s.invoke(e)
	case history.OK, history.Fail, history.Info:
		s.complete(e)
	case history.Ledger:
		s.ledgerEntry(e)
	case history.Watermark:
		s.ledger.mark = max(s.ledger.mark, e.Start)
	case history.Lost:
		s.lost(e)
	case history.Fault:
		s.faultEvent(e)
	case history.Exit:
		s.exit(e)
	case history.Mark:
		s.mark(e)
	case history.Count:
		s.counted(e)
	}
	if s.now >= s.nextDue {
		s.decide(s.now)
	}
}

// limits on what a sane history numbers, so that a damaged one can't make the
// judge allocate without bound.
const (
	maxKeys    = 1 << 22
	maxClients = history.MaxClients
)

// key returns the state of a key, nil when its number makes no sense.
func (s *Sweep) key(id history.KeyID) *keyState {
	if int(id) < len(s.keys) && id >= 0 {
		return s.keys[id]
	}
	if id < 0 || id >= maxKeys {
		return nil
	}
	for n := len(s.keys); n <= int(id); n++ {
		s.keys = append(s.keys, &keyState{id: history.KeyID(n), open: openGrants{several: !s.rules.exclusive},
			past: past{spare: &s.spareBlocks, lends: n >= fewKeys}})
	}
	return s.keys[id]
}

// client returns the state of a client, nil when its number makes no sense.
func (s *Sweep) client(n int32) *clientState {
	if n < 0 || n >= maxClients {
		return nil
	}
	for int(n) >= len(s.clients) {
		s.clients = append(s.clients, clientState{})
	}
	return &s.clients[n]
}

// keyOf returns the state of a grant's key.
func (s *Sweep) keyOf(g *grant) *keyState { return s.keys[g.key] }

// lost handles a lost-event: it withdraws the promise and ends nothing by itself.
func (s *Sweep) lost(e *history.Event) {
	t := stamp(e.Start, e.Time)
	if c := s.client(e.Client); c != nil {
		c.alive = max(c.alive, t)
	}
	if g := s.numbers.page(pageOf(e.Grant)).grant(e.Grant); g != nil {
		s.judgeLoss(0, t, g.releasing != 0, g)
		g.lose(t)
		if s.rules.reentrant {
			s.siblings(g, func(x *grant) { x.lose(t) })
		}
	} else if o := s.numbers.page(pageOf(e.Grant)).op(e.Grant); o != nil && o.kind == history.Acquire {
		o.told = earlier(o.told, t) // told before the acquire's own completion came through
	}
}

// exit handles the end of a client's process. The process may have been gone before
// anybody noticed, so its promises are withdrawn as of its last sign of life.
func (s *Sweep) exit(e *history.Event) {
	c := s.client(e.Client)
	if c == nil {
		s.malformed++
		return
	}
	gone := stamp(e.Start, e.Time)
	c.gone = max(c.gone, e.Process)
	if e.Process == 0 {
		c.gone = c.latest
	}
	alive := min(max(c.alive, s.faults.killedAt(e.Client, gone)), gone)
	s.unfinished(e.Client, e.Process, gone)
	for _, k := range c.keysOf() {
		k.orphaned(e.Client, e.Process, gone)
		s.closeGrants(k, e.Client, e.Process, alive)
		s.absolve(k, e.Client, gone)
	}
	for _, o := range slices.Clone(c.asking) {
		if e.Process == 0 || o.process <= e.Process {
			k := s.keys[o.key]
			// nobody is left who could report it, but it may have been granted until then
			s.dequeue(k, o)
			k.freeAt, k.vanishedAt = max(k.freeAt, gone), max(k.vanishedAt, gone)
		}
	}
	s.pruneAll()
}

// mark handles a change of phase.
func (s *Sweep) mark(e *history.Event) {
	s.phase = e.Text
	if e.Text == history.PhaseProbe || e.Text == history.PhaseFinal {
		s.probe.begin(e.Text, e.Time)
	}
}

// stamp prefers the worker's stamp to the recorder's.
func stamp(worker, recorder int64) int64 {
	if worker != 0 {
		return worker
	}
	return recorder
}
