package checker

import "github.com/lockchaos/lockchaos/history"

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

	stats    []FaultStats
	bites    int        // how many took effect on what they were aimed at
	unproven []unproven // injected ones of which nothing proves that they took effect
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

// faultEvent handles the beginning or the end of a fault.
func (s *Sweep) faultEvent(e *history.Event) {
	if e.Fault == nil {
		s.book.malformed++
		return
	}
	// executions are judged at the end, by all faults
	if s.faults.fault(e); s.faults.untrimmed >= trimEvery && !s.jobs.kept {
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

// trim forgets the faults that had no more effect a TTL before oldest, but for stalls since free.
func (fs *faults) trim(oldest, free int64) {
	fs.untrimmed = 0
	oldest -= fs.rules.lifetime()
	trim := func(spans []span) []span {
		kept := spans[:0]
		for _, sp := range spans {
			if sp.calmAt() >= oldest || !sp.injected && sp.to >= free {
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

// metBy is what faults did to a client.
func (fs *faults) metBy(client int32) *clientFaults {
	if int(client) < len(fs.byClient) {
		return &fs.byClient[client]
	}
	return &unmet
}

// unmet is what faults did to a client that none has named: nothing.
var unmet clientFaults

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

// starved reports whether the machine stalled some client, or the service, in the TTL
// before a's loss came to light. Servers are not watched everywhere: where another client
// stalls, the one that renews a's lease, or answers it, may have stood still as well.
func (fs *faults) starved(a *grant, loss int64) bool {
	from := max(a.earliest, loss-fs.rules.TTL) - fs.rules.Stall
	for i := range fs.byClient {
		if touched(fs.byClient[i].spans, from, loss+fs.rules.Stall, uninjectedOnly) {
			return true
		}
	}
	return touched(fs.service, from, loss+fs.rules.Stall, uninjectedOnly)
}
