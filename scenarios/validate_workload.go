package scenarios

import (
	"slices"
	"strings"
)

// The workloads that ask for more than a client and a key.
const (
	counter  = "counter"
	queue    = "queue"
	payment  = "payment"
	transfer = "transfer"
	stampede = "stampede"
	relay    = "relay"
	sets     = "sets"

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

// readers checks the share of readers. Whether an adapter's lock knows readers,
// it says itself when it starts.
func (v *validator) readers(at string, s *Scenario) {
	w := s.Workload
	switch {
	case w.Readers < 0 || w.Readers > 1 || w.Readers != w.Readers:
		v.fail(at+".workload.readers", "readers is %v: it is the share of rounds in which a client only reads, from 0 to 1", w.Readers)
	case w.Readers != 0 && w.Kind != counter && w.Kind != queue:
		v.fail(at+".workload.readers", "readers is for workload counter or queue, not for %s", w.Kind)
	case w.Readers != 0 && !s.External() && slices.Contains(v.catalogue.Locks, s.Lock) &&
		!v.catalogue.ReadWrite[s.Lock]:
		v.fail(at+".workload.readers", "%s knows no readers: its grants all exclude each other. A reader-writer lock has them (lockchaos list locks)", s.Lock)
	}
}
