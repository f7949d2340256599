package checker

import (
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// span is the effect of one fault on one client, or on the service.
//
// An injected fault may disturb from before it is injected until its healing is
// finished: those are the times of its two events. What was measured, From to
// To, lies within, and is the time in which it was certainly in effect.
type span struct {
	from, to int64
	// bit and healed are the measured effect; healed 0: not measured
	bit, healed int64
	id          int
	kind        string
	touch       *history.Touch
	injected    bool
	links       bool // processes and clocks are not touched
	store       bool // it lies between a client and the store
	kept        bool // servers died, and came back with all that they had answered for
	target      string
	hosts       []string // those that it struck
}

// length is for how long the fault was in effect, as measured where it was.
func (sp span) length() int64 { return stamp(sp.healed-sp.bit, sp.to-sp.from) }

// calmAt is when nothing that it held back comes any more: what was lost is
// sent again later and later, for as long again at the most.
func (sp span) calmAt() int64 {
	if sp.to == forever {
		return forever
	}
	return sp.to + (sp.to - sp.from)
}

// openFault is a fault that has begun.
type openFault struct {
	id int
	// the client that was struck, also where what the lock promised is not touched; 0: none
	victim   int32
	from     int64
	clients  []int32
	service  bool
	injected bool
}

// faultFilter chooses which faults count.
type faultFilter uint8

const (
	anyFault faultFilter = iota
	injectedOnly
	uninjectedOnly
	hindering // injected, into a process or a clock
)

func (f faultFilter) takes(sp span) bool {
	if f == hindering {
		return sp.injected && !sp.links
	}
	return f == anyFault || (f == injectedOnly) == sp.injected
}

// fault handles the beginning or the end of a fault.
func (s *Sweep) fault(e *history.Event) {
	f := e.Fault
	if f == nil {
		s.malformed++
		return
	}
	if f.Phase == "begin" {
		sp := spanOf(f, earlier(f.From, e.Time), forever)
		s.spread(sp, f.Clients, f.Service, e.Client)
		s.faults = append(s.faults, openFault{id: f.ID, victim: e.Client, from: sp.from, clients: f.Clients,
			service: f.Service, injected: f.Injected})
		s.faultKind(f).Begun++
		return
	}
	begun := s.endFault(f.ID)
	sp := spanOf(f, stamp(f.From, e.Time), stamp(f.To, e.Time))
	if f.Injected {
		sp.to = max(sp.to, e.Time)
	}
	victim := e.Client
	if begun == nil {
		s.faultKind(f).Begun++
	} else {
		s.withdrawSpan(begun)
		sp.from = earlier(begun.from, sp.from)
		if victim == 0 {
			victim = begun.victim
		}
		if len(f.Clients) == 0 && !f.Service {
			f = &history.FaultInfo{ID: f.ID, Plan: f.Plan, Kind: f.Kind, Touch: f.Touch, When: f.When,
				Clients: begun.clients, Service: begun.service, Kept: f.Kept,
				Holding: f.Holding, Waiting: f.Waiting,
				From: f.From, To: f.To, Injected: f.Injected, Bit: f.Bit, Evidence: f.Evidence}
		}
	}
	if f.To != 0 {
		sp.bit = stamp(f.From, sp.from)
		sp.healed = max(sp.bit, f.To)
	}
	s.spread(sp, f.Clients, f.Service, victim)
	if f.Injected {
		s.healedAt = max(s.healedAt, sp.to)
	}
	s.countFault(f)
}

// spanOf is the effect of a fault between two instants.
func spanOf(f *history.FaultInfo, from, to int64) span {
	return span{from: from, to: to, id: f.ID, kind: f.Kind, touch: f.Touches(), injected: f.Injected, links: f.Links,
		store: f.Store && len(f.Clients) == 0, target: f.Target,
		hosts: f.Hosts, kept: f.Kept}
}

// countFault adds a fault that has ended to the statistics.
func (s *Sweep) countFault(f *history.FaultInfo) {
	st := s.faultKind(f)
	if !f.Bit {
		if f.Injected && len(s.toothless) < 8 {
			s.toothless = append(s.toothless, faultName(f))
		}
		return
	}
	st.Bit++
	if st.Evidence == "" {
		st.Evidence = f.Evidence
	}
	if f.Holding != 0 {
		st.MetHolder++
	}
	if f.Bites() {
		s.biteCount++
	}
	if d := time.Duration(f.To - f.From); f.From != 0 && d >= 0 {
		if st.Shortest == 0 || d < st.Shortest {
			st.Shortest = d
		}
		st.Longest = max(st.Longest, d)
	}
}

func faultName(f *history.FaultInfo) string {
	if f.Target != "" {
		return f.Kind + " of " + f.Target
	}
	return f.Kind
}

// faultKind returns the statistics of a planned fault, or of a kind of fault that nobody planned.
func (s *Sweep) faultKind(f *history.FaultInfo) *FaultStats {
	for i := range s.faultStats {
		st := &s.faultStats[i]
		if st.Plan == f.Plan && st.Kind == f.Kind && st.When == f.When && st.Injected == f.Injected {
			return st
		}
	}
	s.faultStats = append(s.faultStats, FaultStats{Plan: f.Plan, Kind: f.Kind, When: f.When, Injected: f.Injected})
	return &s.faultStats[len(s.faultStats)-1]
}

// plannedFaults are the statistics of a plan of which nothing has happened yet:
// what was planned and never came is told too.
func plannedFaults(plan []history.PlannedFault) (all []FaultStats) {
	for i, p := range plan {
		all = append(all, FaultStats{Plan: i + 1, Planned: p.Text, Kind: p.Kind, Target: p.Target, When: p.When,
			Injected: true})
	}
	return all
}

// endFault takes a fault out of those that are open.
func (s *Sweep) endFault(id int) *openFault {
	for i := range s.faults {
		if s.faults[i].id == id {
			f := s.faults[i]
			s.faults = append(s.faults[:i], s.faults[i+1:]...)
			return &f
		}
	}
	return nil
}

// withdrawSpan removes the open-ended spans of a fault that has ended.
func (s *Sweep) withdrawSpan(f *openFault) {
	drop := func(spans []span) []span {
		for i := len(spans) - 1; i >= 0; i-- {
			if spans[i].id == f.id && spans[i].to == forever {
				return append(spans[:i], spans[i+1:]...)
			}
		}
		return spans
	}
	for _, n := range f.clients {
		if c := s.client(n); c != nil {
			c.spans = drop(c.spans)
		}
	}
	if f.service {
		s.service, s.nodes = drop(s.service), drop(s.nodes)
	}
	if c := s.client(f.victim); c != nil {
		c.aside = drop(c.aside)
	}
}

// spread notes a fault at everyone whom it touches. One that touches nobody's
// promise is noted aside, at the client that it struck.
func (s *Sweep) spread(sp span, clients []int32, service bool, victim int32) {
	if c := s.client(victim); victim > 0 && c != nil && len(clients) == 0 && !service {
		c.aside = append(c.aside, sp)
	}
	for _, n := range clients {
		if c := s.client(n); c != nil {
			c.spans = append(c.spans, sp)
		}
	}
	if isClock(sp) {
		s.skew(max(sp.from, 1), clients, service, victim)
	}
	if service {
		s.onService(sp)
	}
	s.disturbTrim++
	if s.disturbTrim >= 4096 {
		s.disturbTrim = 0
		s.trimSpans()
	}
}

// skew notes whose clocks a fault makes wrong from t on.
func (s *Sweep) skew(t int64, clients []int32, service bool, victim int32) {
	s.skewedSince = earlier(s.skewedSince, t)
	if service {
		s.serviceSkewed = earlier(s.serviceSkewed, t)
	}
	for _, n := range append(clients[:len(clients):len(clients)], victim) {
		if c := s.client(n); c != nil {
			c.skewedSince = earlier(c.skewedSince, t)
		}
	}
}

// trimSpans forgets the faults that ended a TTL before anything that is still open
// began: nobody will ask for them again. But of a key that nobody can hold it may be
// asked whether it is stuck, and for how long the machine stood still since it was free.
func (s *Sweep) trimSpans() {
	oldest, free := s.now, s.now
	for _, k := range s.keys {
		free = min(free, s.freeSince(k))
		if k.waitHead != nil {
			oldest = min(oldest, k.waitHead.inv)
		}
		for g := range k.open.all {
			oldest = min(oldest, g.inv)
		}
		oldest = s.demandedSince(k, oldest)
		for g := range k.past.all() {
			oldest = min(oldest, g.inv)
		}
	}
	for _, p := range s.pending[s.decided:] {
		oldest = min(oldest, p.oldest)
	}
	oldest -= s.rules.lifetime()
	trim := func(spans []span) []span {
		kept := spans[:0]
		for _, sp := range spans {
			if sp.to >= oldest || !sp.injected && sp.to >= free {
				kept = append(kept, sp)
			}
		}
		return kept
	}
	s.service, s.nodes = trim(s.service), trim(s.nodes)
	for i := range s.clients {
		s.clients[i].spans, s.clients[i].aside = trim(s.clients[i].spans), trim(s.clients[i].aside)
	}
}

// disturbed reports whether a fault touched the client, its links or the service
// at some time in [from, to].
func (s *Sweep) disturbed(client int32, from, to int64, which faultFilter) bool {
	return touched(s.clientSpans(client), from, to, which) || touched(s.service, from, to, which)
}

func (s *Sweep) clientSpans(client int32) []span { return s.clients[client].spans }

func touched(spans []span, from, to int64, which faultFilter) bool {
	for _, sp := range spans {
		if sp.from <= to && sp.to >= from && which.takes(sp) {
			return true
		}
	}
	return false
}

// timeIn is for how long faults lasted between two instants, all added up, each
// taken for longer by slack.
func timeIn(spans []span, from, to int64, which faultFilter, slack int64) int64 {
	sum := int64(0)
	for _, sp := range spans {
		if sp.from <= to && sp.to >= from && which.takes(sp) {
			sum += min(sp.to, to) - max(sp.from, from) + slack
		}
	}
	return sum
}

// lastDisturbance is the end of the last fault that touched the client or the
// service before t; one that still lasts at t ends at t.
func (s *Sweep) lastDisturbance(client int32, t int64) int64 {
	last := int64(0)
	for _, spans := range [2][]span{s.clientSpans(client), s.service} {
		for _, sp := range spans {
			if sp.from <= t {
				last = max(last, min(sp.to, t))
			}
		}
	}
	return last
}

// killedAt is when a kill was sent that explains why the client was gone by t:
// it was alive until then. 0: no kill is known.
func (s *Sweep) killedAt(c *clientState, t int64) int64 {
	at := int64(0)
	for _, sp := range c.spans {
		if sp.touch.Ends == history.EndsProcess && sp.from <= t {
			at = max(at, sp.from)
		}
	}
	return at
}

// earlier is the earlier of two stamps, of which either may be unknown.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
