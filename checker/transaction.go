package checker

import (
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// Transactions: in workload transaction a write that was answered stands only when its client has
// committed. Until then nobody knows whether the ledger will have it, and its grant stays open.
// Reads are no entries of the ledger.

// withinTransaction notes a completed read or write of a transaction.
func (s *Sweep) withinTransaction(o *op, e *history.Event) {
	o.reaches = e.Refused || e.Conflict
	if e.Type != history.OK { // the store rolls back, and no commit can be sent on that connection
		s.endTransaction(o.client, history.Fail)
		return
	}
	if o.kind == history.Write && !o.ledgered {
		o.tentative = true
		c := &s.book.clients[o.client]
		c.uncommitted = append(c.uncommitted, o)
	}
}

// endTransaction settles what became of a client's uncommitted writes: by OK they stand, by Fail
// they do not, and else only the ledger can tell.
func (s *Sweep) endTransaction(client int32, outcome history.Type) {
	c := &s.book.clients[client]
	ops := c.uncommitted
	c.uncommitted, c.committing = nil, false
	for _, o := range ops {
		o.tentative, o.reaches, o.definite = false, outcome != history.Fail, outcome == history.OK
		s.finishOp(o)
	}
}

// vanishTransaction settles the transaction of a client whose process has ended.
func (s *Sweep) vanishTransaction(client int32) {
	outcome := history.Fail // no commit was sent
	if s.book.clients[client].committing {
		outcome = history.Info
	}
	s.endTransaction(client, outcome)
}

// stands takes a write that the ledger has out of its client's uncommitted ones.
func (bk *book) stands(o *op) {
	c := &bk.clients[o.client]
	o.tentative = false
	c.uncommitted = slices.DeleteFunc(c.uncommitted, func(x *op) bool { return x == o })
}

// commitKind is the kind of what came of a hold's write that entered the ledger then.
func (r *rules) commitKind(w writer) string {
	if r.transactional && w.g.released && w.at > w.g.heldTo {
		return KindReleasedBeforeCommit
	}
	return ""
}
