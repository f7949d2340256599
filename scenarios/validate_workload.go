package scenarios

import (
	"slices"
	"strings"
	"time"
)

// The workloads that ask for more than a client and a key.
const (
	counter  = "counter"
	queue    = "queue"
	leading  = "leader"
	payment  = "payment"
	transfer = "transfer"
	stampede = "stampede"
	relay    = "relay"
	sets     = "sets"
	job      = "job"

	transaction = "transaction"
)

// The guards of an application.
const (
	guardNone  = "none"
	guardCheck = "check"
	guardTold  = "told"
)

// orderTry is the order of a transfer that has a time for trying.
const orderTry = "try"

// workload checks what a kind of workload asks for, and that nothing is set
// that it would not look at.
func (v *validator) workload(at string, s *Scenario) {
	w := s.Workload
	switch {
	case (w.Kind == payment || w.Kind == stampede) && s.Clients < 2:
		v.fail(at+".clients", "workload %s needs at least 2 clients", w.Kind)
	case w.Kind == transfer && s.Keys < 2:
		v.fail(at+".keys", "workload transfer takes two keys at a time: there must be at least 2")
	}
	if orders, ok := orders[w.Kind]; ok {
		v.oneOf(at+".workload.order", "order", w.Order, orders)
	} else if w.Order != "" {
		v.fail(at+".workload.order", "order is for workload transfer or transaction, not for %s", w.Kind)
	}
	v.transaction(at, s)
	if w.Kind != relay && w.NextAfter != (Range{}) {
		v.fail(at+".workload.next_after", "next_after is for workload relay, not for %s", w.Kind)
	}
	v.readers(at, s)
	v.job(at, s)
	switch {
	case w.Order == orderTry && (w.TryFor <= 0 || w.TryFor > longest):
		v.fail(at+".workload.try_for", "order try needs try_for, longer than 0 and at most %v", longest)
	case w.Order != orderTry && w.TryFor != 0:
		v.fail(at+".workload.try_for", "try_for is for workload transfer with order try")
	}
}

// orders are those of the workloads that have one.
var orders = map[string][]string{transfer: {"ordered", "unordered", orderTry},
	transaction: {"commit-first", "release-first"}}

// transaction checks what only a transaction has: an isolation level, and a store that knows it.
func (v *validator) transaction(at string, s *Scenario) {
	switch w := s.Workload; {
	case w.Kind != transaction && w.Isolation != "":
		v.fail(at+".workload.isolation", "isolation is for workload transaction, not for %s", w.Kind)
	case w.Kind == transaction:
		v.oneOf(at+".workload.isolation", "isolation level", w.Isolation, v.catalogue.Isolations)
		if engine := s.Store.EngineName(); !slices.Contains(v.catalogue.Transactions, engine) {
			v.fail(at+".store.engine", "workload transaction needs a store with transactions: engine %s, not %s",
				strings.Join(v.catalogue.Transactions, " or "), engine)
		}
	}
}

// job checks what a job needs. Whether an adapter is a scheduler, it says itself when it starts.
func (v *validator) job(at string, s *Scenario) {
	w, ours := s.Workload, !s.External() && slices.Contains(v.catalogue.Locks, s.Lock)
	switch {
	case w.Kind != job && w.Every != 0:
		v.fail(at+".workload.every", "every is for workload job, not for %s", w.Kind)
	case w.Kind != job && ours && v.catalogue.Jobs[s.Lock]:
		v.fail(at+".workload.kind", "%s is a scheduler: its workload is job, not %s", s.Lock, w.Kind)
	case w.Kind != job:
	case ours && !v.catalogue.Jobs[s.Lock]:
		v.fail(at+".workload.kind", "workload job is for schedulers, and %s is a lock", s.Lock)
	case w.Every < ShortestPeriod || w.Every%Duration(time.Millisecond) != 0 || w.Every > longest:
		v.fail(at+".workload.every", "workload job needs every, its period: whole ms, from %v to %v", ShortestPeriod, longest)
	case s.Keys != 1:
		v.fail(at+".keys", "workload job has one key, the job")
	}
}

// ShortestPeriod is the shortest period of a job: a tick takes a few round trips.
const ShortestPeriod = Duration(50 * time.Millisecond)

// readers checks the share of readers. Whether an adapter's lock knows readers,
// it says itself when it starts.
func (v *validator) readers(at string, s *Scenario) {
	w := s.Workload
	switch {
	case w.Readers < 0 || w.Readers > 1 || w.Readers != w.Readers:
		v.fail(at+".workload.readers", "readers is %v: it is the share of rounds in which a client only reads, from 0 to 1", w.Readers)
	case w.Readers != 0 && !slices.Contains([]string{counter, queue, StepsWorkload}, w.Kind):
		v.fail(at+".workload.readers", "readers is for workload counter, queue or steps, not for %s", w.Kind)
	case w.Readers != 0 && !s.External() && slices.Contains(v.catalogue.Locks, s.Lock) &&
		!v.catalogue.ReadWrite[s.Lock]:
		v.fail(at+".workload.readers", "%s knows no readers: its grants all exclude each other. A reader-writer lock has them (lockchaos list locks)", s.Lock)
	}
}
