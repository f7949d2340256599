package checker

// The kinds of a double-hold.
const (
	// KindGrantedWhileValid: the later grant was made inside the promise of the
	// earlier one. A defect of the lock, under the faults shown.
	KindGrantedWhileValid = "granted-while-valid"
	// KindLateNotice: the lock should have told its client of the loss by then,
	// and had not. A defect of the lock.
	KindLateNotice = "late-notice"
	// KindGrantedDead: one of the two grants was certainly dead when it was
	// made (dead-grant). A defect of the lock.
	KindGrantedDead = "granted-dead"
	// KindLeaseOverrun: the client outlived its lease, because it was stopped,
	// cut off or skewed, or too slow. Inherent to leases.
	KindLeaseOverrun = "lease-overrun"
	// KindUnexplained: none of the others is certain.
	KindUnexplained = "unexplained"
)

// The kinds of an unfenced write. The kind is empty where the write's worker
// never reported when it began.
const (
	// KindStale: the write began after the later grant had ended: the client was wrong to write.
	KindStale = "stale"
	// KindInFlight: the write was sent before; only a fence can help.
	KindInFlight = "in-flight"
)

// The kinds of a stuck lock. The kind is empty where a probe found it and none of them is certain.
const (
	// KindGhost: a live client without a grant occupied the key; its end freed it.
	KindGhost = "ghost"
	// KindAsleep: the key was free, another client got it at once, and a waiter slept on.
	KindAsleep = "asleep"
	// KindWedged: nobody held the key and nobody got it; more is not certain.
	KindWedged = "wedged"
	// KindNeverExpired: its last holder gave nothing back, and the key stayed
	// taken after every client was closed.
	KindNeverExpired = "never-expired"
)

// explain returns the kind of a double-hold in which b was granted later than a, and a acted at
// act; first match. stallOnly tells that nothing but an uninjected stall explains a lease-overrun.
func (s *Sweep) explain(a, b *grant, act int64) (kind string, stallOnly bool) {
	if a.dead || b.dead {
		return KindGrantedDead, false
	}
	if s.inPromise(b, a) {
		return KindGrantedWhileValid, false
	}
	if s.noticedLate(a, b) {
		return KindLateNotice, false
	}
	disturbed := touched(s.faults.clientSpans(a.client), a.earliest, act, anyFault)
	if !disturbed && (s.rules.header.Claims.Validity == "" || s.promisedAt(a, act)) {
		return KindUnexplained, false
	}
	return KindLeaseOverrun, s.onlyStalled(a, act)
}

// onlyStalled reports whether nothing but uninjected stalls explains that a's promise
// was over when it acted at act: no news of the loss that would have stopped it had
// come, without the time that it stalled it would have acted inside its promise, and
// no injected fault is enough by itself. One that touched it without costing it the
// whole of its promise is not: with that fault alone it would have been in time.
func (s *Sweep) onlyStalled(a *grant, act int64) bool {
	told, since := a.withdrawn < act, s.rules.restsSince(a)
	if s.faults.disturbed(a.client, since, act, injectedOnly) {
		if told || a.promise == forever || timeIn(s.faults.clientSpans(a.client), a.earliest, act, hindering,
			0) >= a.promise-a.earliest {
			return false
		}
	}
	if told && !(s.rules.deaf() && s.faults.starved(a, a.withdrawn)) {
		return false
	}
	if !told && !s.faults.disturbed(a.client, since, act, uninjectedOnly) {
		return false
	}
	stalled := s.rules.stalledFor(s.faults.clientSpans(a.client), since, act) + s.rules.stalledFor(s.faults.service, since, act)
	return a.promise == 0 || act-stalled < a.promise
}

// stalledFor is for how long uninjected stalls may have lasted between two
// instants, all added up. A stall is measured from heartbeat to heartbeat, or
// from look to look, so either end may lie up to one threshold off.
func (r *rules) stalledFor(spans []span, from, to int64) int64 {
	return timeIn(spans, from, to, uninjectedOnly, 2*r.header.Stall)
}

// deaf tells that the application trusts its acquire and hears no news of a loss. That it went
// on after such news is then the workload's doing; what took its lock away is what counts.
func (r *rules) deaf() bool { return r.header.Guard == guardNone }

// guardNone is the guard of an application that trusts its acquire.
const guardNone = "none"

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
