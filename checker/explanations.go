package checker

// explanations say why two grants conflict, and whether a lock broke a promise. They keep nothing:
// they read what is known by now.
type explanations struct {
	rules  *rules
	faults *faults
	book   *book
}

// explain returns the kind of a double-hold in which b was granted later than a, and a acted at
// act; first match. stallOnly tells that nothing but an uninjected stall explains a
// lease-overrun, or that one leaves it open whether news of a loss was ignored.
func (ex *explanations) explain(a, b *grant, act int64) (kind string, stallOnly bool) {
	if a.dead || b.dead {
		return KindGrantedDead, false
	}
	if ex.inPromise(b, a) {
		return ex.rules.grantedKind(a, b), false
	}
	if ex.noticedLate(a, b) {
		return KindLateNotice, false
	}
	if ignored, open := ex.lossIgnored(a, b, act); ignored {
		return KindLossIgnored, open
	}
	disturbed := touched(ex.faults.clientSpans(a.client), a.earliest, act, anyFault)
	if !disturbed && (ex.rules.Claims.Validity == "" || ex.promisedAt(a, act)) {
		return KindUnexplained, false
	}
	return KindLeaseOverrun, ex.onlyStalled(a, act)
}

// onlyStalled reports whether nothing but uninjected stalls explains that a's promise
// was over when it acted at act: no news of the loss that would have stopped it had
// come, without the time that it stalled it would have acted inside its promise, and
// no injected fault is enough by itself. One that touched it without costing it the
// whole of its promise is not: with that fault alone it would have been in time.
func (ex *explanations) onlyStalled(a *grant, act int64) bool {
	told, since := a.withdrawn < act, ex.rules.restsSince(a)
	if ex.faults.disturbed(a.client, since, act, injectedOnly) {
		if told || a.promise == forever || timeIn(ex.faults.clientSpans(a.client), a.earliest, act, hindering,
			0) >= a.promise-a.earliest {
			return false
		}
	}
	if told && !(ex.rules.deaf() && ex.faults.starved(a, a.withdrawn)) {
		return false
	}
	if !told && !ex.faults.disturbed(a.client, since, act, uninjectedOnly) {
		return false
	}
	stalled := ex.rules.stalledFor(ex.faults.clientSpans(a.client), since, act) +
		ex.rules.stalledFor(ex.faults.service, since, act)
	return a.promise == 0 || act-stalled < a.promise
}

// stallExplains reports whether the harm that a did to b has no other explanation
// than an uninjected stall, as the double-hold that it belongs to then has none.
func (ex *explanations) stallExplains(a, b *grant, at int64) bool {
	_, stallOnly := ex.explain(a, b, max(at, a.last))
	return stallOnly
}
