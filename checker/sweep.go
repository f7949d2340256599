// # Why one pass decides it
//
// Model a lock so: a failed acquire may fail spuriously, an op of unknown fate may or may not have
// happened, and a hold may end by itself after its last act. Then a key's history is linearizable
// iff no instant lies in conflicting holds, because each hold can shrink to exactly its own span
// and no further. With fencing tokens: iff, moreover, tokens rise with the grants and no act under
// a smaller token starts after an acquire with a greater one ended.
//
// The proof for a mutex is that for every kind. If no instant lies in conflicting holds, let each
// hold begin at the end of its acquire and end at its last act, ends before begins where stamps are
// equal. Then in the order of time no hold begins while one is held that it conflicts with, so it
// is a run of the lock.
//
// If an instant lies in conflicting holds, then in every order all of them have begun by then and
// none has ended. The begin of the last of them comes while the others are held, which the lock
// refuses.
//
// Only which holds conflict differs: any two; any N+1; any two of different owners; any two of
// which one is a writer's. With tokens, the begins are in the order of tokens besides, so a hold
// begins no later than the end of any acquire with a greater one. The levels of a reentrant owner
// need no count in it: a count is the number of its holds that are open, and no other owner is let
// in while it is above zero.
//
// Three judges hold each other to it. Package oracle asks Porcupine the same question with a model
// for each kind (mutex, semaphore, reentrant, reader-writer, both, fenced). A test enumerates
// orders without any cleverness. All three agree on 200,000 random histories of each kind (make
// soak).
//
// # Memory
//
// Which pairs can conflict? Spans only grow until a grant settles: closed by its client, none of
// its ops open, the ledger's account of them in. A grant that settles is compared with the settled
// ones whose bound (last act, end, promise) is not before its begin. A settled grant is forgotten
// when no open acquire was invoked before its bound and no open hold began before it: no later
// event can meet it. So memory is proportional to what is open at one time.
//
// A semaphore's grants are compared only where more were beside each other than it has
// permits. Where thousands are beside each other, time grows with their square
// (TestPermitsOfEqualStamps). Of sessions that a fault may have ended, a search for those
// that exclude each other gives up after 2^17 comparisons, and then convicts nobody.
//
// Two things make memory grow: a client that waits, or lies frozen while it holds,
// for a large part of the run; and a ledger that comes only at the end, since each
// write is then open until the end. The store's order needs four writers a key:
// the last, the one before, the latest by time, the highest by token.
package checker

import (
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// Sweep judges one history in one pass: New, Add for every event in the order
// of the history, Finish. It is pure: it reads no clock, draws nothing at
// random, and gives the same verdict for the same events, byte for byte.
//
// It is not safe for concurrent use, and must not be copied: its parts point to each other.
type Sweep struct {
	rules        rules        // what the header fixes
	faults       faults       // what excuses a lock
	records      records      // of ops and grants
	book         book         // the keys and the clients, and who has what
	explanations explanations // why two grants conflict
	findings     findings     // what violates a property, or may
	figures      figures      // what is counted and measured
	demands      demands      // what was asked for in vain
	ledger       ledgerAccount
	cycles       cycles       // of clients that wait for each other
	transactions transactions // what was read while others could still commit
	jobs         jobs         // executions of a job
}

// New begins to judge a history. keys are the lock keys' names by number.
func New(header history.Header, keys []string, o Options) *Sweep {
	if o.Keep == 0 {
		o.Keep = 100
	}
	s := &Sweep{rules: newRules(header, keys), records: newRecords()}
	s.faults = faults{rules: &s.rules, stats: plannedFaults(header.Faults)}
	s.book = book{rules: &s.rules, records: &s.records}
	s.findings = findings{rules: &s.rules, book: &s.book, opts: o, nextDue: forever,
		found: make([][]keptViolation, len(properties))}
	s.explanations = explanations{rules: &s.rules, faults: &s.faults, book: &s.book}
	s.cycles = cycles{rules: &s.rules, faults: &s.faults, book: &s.book, findings: &s.findings}
	s.transactions.seen = map[*grant][]sawVersion{}
	s.jobs = jobs{rules: &s.rules, faults: &s.faults, on: header.Claims.Job != "",
		kept: header.Claims.Job != "" || header.Claims.StopHandover > 0, byGrant: map[int64]*execution{}, lives: map[int32]life{}}
	s.ledger.expected = header.Store.Engine != ""
	return s
}

// Add judges the next event. The event is not kept.
func (s *Sweep) Add(e *history.Event) {
	s.figures.stats.Events++
	if e.Time > s.book.now {
		s.book.now = e.Time
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
		s.demands.mark(e)
		s.jobs.mark(e)
	case history.Count:
		s.counted(e)
	}
	if s.book.now >= s.findings.nextDue {
		s.findings.decide(s.book.now)
	}
}

// lost handles a lost-event: it withdraws the promise and ends nothing by itself.
func (s *Sweep) lost(e *history.Event) {
	t := stamp(e.Start, e.Time)
	if c := s.book.client(e.Client); c != nil {
		c.alive = max(c.alive, t)
	}
	if g := s.records.numbers.page(pageOf(e.Grant)).grant(e.Grant); g != nil {
		s.judgeLoss(0, t, g.releasing != 0, g)
		g.lose(t)
		g.heardOfLoss(e.Time)
		s.jobs.lost(g, t)
		if s.rules.reentrant {
			s.book.siblings(g, func(x *grant) { x.lose(t) })
		}
	} else if o := s.records.numbers.page(pageOf(e.Grant)).op(e.Grant); o != nil && o.kind == history.Acquire {
		o.told = earlier(o.told, t) // told before the acquire's own completion came through
	}
}

// exit handles the end of a client's process. The process may have been gone before
// anybody noticed, so its promises are withdrawn as of its last sign of life.
func (s *Sweep) exit(e *history.Event) {
	c := s.book.client(e.Client)
	if c == nil {
		s.book.malformed++
		return
	}
	gone := stamp(e.Start, e.Time)
	c.gone = max(c.gone, e.Process)
	if e.Process == 0 {
		c.gone = c.latest
	}
	alive := min(max(c.alive, s.faults.killedAt(e.Client, gone)), gone)
	s.cycles.unfinished(e.Client, e.Process, gone)
	s.vanishTransaction(e.Client)
	s.jobs.died(e.Client, e.Process, gone)
	for _, k := range c.keysOf() {
		k.orphaned(e.Client, e.Process, gone)
		s.closeGrants(k, e.Client, e.Process, alive)
		s.book.absolve(k, e.Client, gone)
	}
	for _, o := range slices.Clone(c.asking) {
		if e.Process == 0 || o.process <= e.Process {
			k := s.book.keys[o.key]
			// nobody is left who could report it, but it may have been granted until then
			s.book.dequeue(k, o)
			k.freeAt, k.vanishedAt = max(k.freeAt, gone), max(k.vanishedAt, gone)
		}
	}
	s.book.pruneAll()
}

// stamp prefers the worker's stamp to the recorder's.
func stamp(worker, recorder int64) int64 {
	if worker != 0 {
		return worker
	}
	return recorder
}
