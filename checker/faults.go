package checker

import (
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// faults are those of a history: on clients, on the lock service, and on the machine. They say
// whom a fault touched, when, and for how long. So they are what excuses a lock.
type faults struct {
	rules    *rules
	byClient []clientFaults
	service  []span // faults that touched the lock service, as far as they excuse anything
	nodes    []span // all of them, where a fault on a minority excuses nothing; else none
	struck   bool   // an injected one
	// skewedSince is the first instant at which a fault made any clock wrong,
	// serviceSkewed the first at which it was one of the service's; 0: none was.
	skewedSince, serviceSkewed int64
	restart                    span        // the last by which servers lost what they knew, or may have
	open                       []openFault // those that have begun and not ended
	healedAt                   int64       // the end of the last one that was injected
	untrimmed                  int         // how many were noted since old ones were forgotten

	stats     []FaultStats
	bites     int      // how many took effect on what they were aimed at
	toothless []string // injected ones of which nothing proves that they took effect
}

// clientFaults are the faults on one client.
type clientFaults struct {
	spans []span // those that touched it
	// those that held up its application, or its way to the store, and touched
	// nothing that the lock had promised
	aside []span
	// skewedSince is the first instant at which a fault made its clock wrong; 0: it never was.
	skewedSince int64
}

// trimEvery is after how many faults those that nobody asks for any more are forgotten.
const trimEvery = 4096

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

// faultEvent handles the beginning or the end of a fault.
func (s *Sweep) faultEvent(e *history.Event) {
	if e.Fault == nil {
		s.book.malformed++
		return
	}
	if s.faults.fault(e); s.faults.untrimmed >= trimEvery {
		s.faults.trim(s.oldestWanted())
	}
}

// fault notes the beginning or the end of a fault.
func (fs *faults) fault(e *history.Event) {
	f := e.Fault
	if f.Phase == "begin" {
		sp := spanOf(f, earlier(f.From, e.Time), forever)
		fs.spread(sp, f.Clients, f.Service, e.Client)
		fs.open = append(fs.open, openFault{id: f.ID, victim: e.Client, from: sp.from, clients: f.Clients,
			service: f.Service, injected: f.Injected})
		fs.faultKind(f).Begun++
		return
	}
	begun := fs.endFault(f.ID)
	sp := spanOf(f, stamp(f.From, e.Time), stamp(f.To, e.Time))
	if f.Injected {
		sp.to = max(sp.to, e.Time)
	}
	victim := e.Client
	if begun == nil {
		fs.faultKind(f).Begun++
	} else {
		fs.withdrawSpan(begun)
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
	fs.spread(sp, f.Clients, f.Service, victim)
	if f.Injected {
		fs.healedAt = max(fs.healedAt, sp.to)
	}
	fs.countFault(f)
}

// spanOf is the effect of a fault between two instants.
func spanOf(f *history.FaultInfo, from, to int64) span {
	return span{from: from, to: to, id: f.ID, kind: f.Kind, touch: f.Touches(), injected: f.Injected, links: f.Links,
		store: f.Store && len(f.Clients) == 0, target: f.Target,
		hosts: f.Hosts, kept: f.Kept}
}

// countFault adds a fault that has ended to the statistics.
func (fs *faults) countFault(f *history.FaultInfo) {
	st := fs.faultKind(f)
	if !f.Bit {
		if f.Injected && len(fs.toothless) < 8 {
			fs.toothless = append(fs.toothless, faultName(f))
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
		fs.bites++
	}
	if lasted := time.Duration(f.To - f.From); f.From != 0 && lasted >= 0 {
		if st.Shortest == 0 || lasted < st.Shortest {
			st.Shortest = lasted
		}
		st.Longest = max(st.Longest, lasted)
	}
}

func faultName(f *history.FaultInfo) string {
	if f.Target != "" {
		return f.Kind + " of " + f.Target
	}
	return f.Kind
}

// faultKind returns the statistics of a planned fault, or of a kind of fault that nobody planned.
func (fs *faults) faultKind(f *history.FaultInfo) *FaultStats {
	for i := range fs.stats {
		st := &fs.stats[i]
		if st.Plan == f.Plan && st.Kind == f.Kind && st.When == f.When && st.Injected == f.Injected {
			return st
		}
	}
	fs.stats = append(fs.stats, FaultStats{Plan: f.Plan, Kind: f.Kind, When: f.When, Injected: f.Injected})
	return &fs.stats[len(fs.stats)-1]
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
func (fs *faults) endFault(id int) *openFault {
	for i := range fs.open {
		if fs.open[i].id == id {
			f := fs.open[i]
			fs.open = append(fs.open[:i], fs.open[i+1:]...)
			return &f
		}
	}
	return nil
}

// withdrawSpan removes the open-ended spans of a fault that has ended.
func (fs *faults) withdrawSpan(f *openFault) {
	drop := func(spans []span) []span {
		for i := len(spans) - 1; i >= 0; i-- {
			if spans[i].id == f.id && spans[i].to == forever {
				return append(spans[:i], spans[i+1:]...)
			}
		}
		return spans
	}
	for _, n := range f.clients {
		if c := fs.faultsOn(n); c != nil {
			c.spans = drop(c.spans)
		}
	}
	if f.service {
		fs.service, fs.nodes = drop(fs.service), drop(fs.nodes)
	}
	if c := fs.faultsOn(f.victim); c != nil {
		c.aside = drop(c.aside)
	}
}

// spread notes a fault at everyone whom it touches. One that touches nobody's
// promise is noted aside, at the client that it struck.
func (fs *faults) spread(sp span, clients []int32, service bool, victim int32) {
	if c := fs.faultsOn(victim); victim > 0 && c != nil && len(clients) == 0 && !service {
		c.aside = append(c.aside, sp)
	}
	for _, n := range clients {
		if c := fs.faultsOn(n); c != nil {
			c.spans = append(c.spans, sp)
		}
	}
	if isClock(sp) {
		fs.skew(max(sp.from, 1), clients, service, victim)
	}
	if service {
		fs.onService(sp)
	}
	fs.untrimmed++
}

// skew notes whose clocks a fault makes wrong from t on.
func (fs *faults) skew(t int64, clients []int32, service bool, victim int32) {
	fs.skewedSince = earlier(fs.skewedSince, t)
	if service {
		fs.serviceSkewed = earlier(fs.serviceSkewed, t)
	}
	for _, n := range append(clients[:len(clients):len(clients)], victim) {
		if c := fs.faultsOn(n); c != nil {
			c.skewedSince = earlier(c.skewedSince, t)
		}
	}
}

// oldestWanted is the earliest instant that something open can still ask the faults of, and
// the earliest since which a key is free: whether that key is stuck may be asked, and for how
// long the machine stood still since.
func (s *Sweep) oldestWanted() (oldest, free int64) {
	oldest, free = s.book.now, s.book.now
	for _, k := range s.book.keys {
		free = min(free, s.faults.freeSince(k))
		if k.waitHead != nil {
			oldest = min(oldest, k.waitHead.inv)
		}
		for g := range k.open.all {
			oldest = min(oldest, g.inv)
		}
		oldest = s.book.demandedSince(k, oldest)
		for g := range k.settled.all() {
			oldest = min(oldest, g.inv)
		}
	}
	for _, p := range s.findings.pending[s.findings.decided:] {
		oldest = min(oldest, p.oldest)
	}
	return oldest, free
}

// trim forgets the faults that ended a TTL before oldest, but for stalls since free.
func (fs *faults) trim(oldest, free int64) {
	fs.untrimmed = 0
	oldest -= fs.rules.lifetime()
	trim := func(spans []span) []span {
		kept := spans[:0]
		for _, sp := range spans {
			if sp.to >= oldest || !sp.injected && sp.to >= free {
				kept = append(kept, sp)
			}
		}
		return kept
	}
	fs.service, fs.nodes = trim(fs.service), trim(fs.nodes)
	for i := range fs.byClient {
		c := &fs.byClient[i]
		c.spans, c.aside = trim(c.spans), trim(c.aside)
	}
}

// disturbed reports whether a fault touched the client, its links or the service
// at some time in [from, to].
func (fs *faults) disturbed(client int32, from, to int64, which faultFilter) bool {
	return touched(fs.clientSpans(client), from, to, which) || touched(fs.service, from, to, which)
}

// faultsOn returns the faults on a client, to note one more; nil when its number makes no sense.
func (fs *faults) faultsOn(client int32) *clientFaults {
	if client < 0 || client >= maxClients {
		return nil
	}
	for int(client) >= len(fs.byClient) {
		fs.byClient = append(fs.byClient, clientFaults{})
	}
	return &fs.byClient[client]
}

// clientSpans are the faults that touched a client.
func (fs *faults) clientSpans(client int32) []span { return fs.metBy(client).spans }

// metBy is what faults did to a client. Those of a client that none has named are none.
func (fs *faults) metBy(client int32) clientFaults {
	if int(client) < len(fs.byClient) {
		return fs.byClient[client]
	}
	return clientFaults{}
}

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
func (fs *faults) lastDisturbance(client int32, t int64) int64 {
	last := int64(0)
	for _, spans := range [2][]span{fs.clientSpans(client), fs.service} {
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
func (fs *faults) killedAt(client int32, t int64) int64 {
	at := int64(0)
	for _, sp := range fs.clientSpans(client) {
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

// starved reports whether the machine stalled some client, or the service, in the TTL
// before a's loss came to light. Servers are not watched everywhere: where another client
// stalls, the one that renews a's lease, or answers it, may have stood still as well.
func (fs *faults) starved(a *grant, loss int64) bool {
	from := max(a.earliest, loss-fs.rules.header.TTL) - fs.rules.header.Stall
	for i := range fs.byClient {
		if touched(fs.byClient[i].spans, from, loss+fs.rules.header.Stall, uninjectedOnly) {
			return true
		}
	}
	return touched(fs.service, from, loss+fs.rules.header.Stall, uninjectedOnly)
}
