// # starvation
//
// Judged if the lock declares to be fair, or the workload is queue. Violated if more than ten
// grants for each client of the run lay wholly inside one undisturbed client's wait, from its
// worker's start to its end. In a queue it would be fewer than one for each client. A lock that
// decides by chance, among n clients, passes one over for so long with a probability below
// (1-1/n)^(10n): less than one in 20,000 waits. A wait in which a stall touched the client or the
// service, and no injected fault, is inconclusive.
package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// Starvation names the property starvation: no client waits while the others have many turns.
const Starvation = "starvation"

// starvation reads, beside rules and findings: cycles, faults.
var starvation = Property{
	Name:  Starvation,
	About: "No client waits while the key is granted more than ten times for each client of the run.",
	blame: Unclear, // chance can bring it about
	exempt: func(h *history.Header) string {
		if !h.Claims.Fair && h.Workload != workloadQueue {
			return fmt.Sprintf("This lock does not declare to be fair, and the workload is not %s.", workloadQueue)
		}
		return noLock(h)
	},
	stalled: func(n int) string {
		return fmt.Sprintf("%s passed over again and again, which a stall of this machine alone explains, not an injected fault.",
			count(n, "waiter was", "waiters were"))
	},
	Words: Words{
		Demands: "Nobody waits while everybody else gets the key again and again.",
		Once:    "A waiter was passed over again and again",
		More:    "Waiters were passed over again and again",
		Lead:    "Let waiters queue.",
		Advice: "Where chance or the speed of a client decides who is next, somebody may wait without end. A " +
			"lock with a queue bounds the wait by the number of waiters.",
	},
}

// workloadQueue is the workload that asks for fairness of every lock.
const workloadQueue = "queue"

// patience is K for each client.
const patience = 10

// judgeWait judges an acquire that has completed, by how long it waited, and by
// what its client had meanwhile: before its own grant, if it got one, is counted.
func (s *Sweep) judgeWait(k *keyState, o *op, e *history.Event) {
	end := stamp(e.End, e.Time)
	if s.rules.asks(&deadlock) {
		s.cycles.judgeCycle(k, o, end)
	}
	if o.start != 0 && o.set == 0 && k.granted-o.before > s.rules.patience {
		s.judgePatience(k, o, end)
	}
}

// judgePatience counts the grants that lay wholly inside a wait. Each is still
// remembered, since the wait was open all the time.
func (s *Sweep) judgePatience(k *keyState, o *op, end int64) {
	var first, last *grant
	passed := int64(0)
	see := func(x *grant) {
		if x.client == o.client || x.nested || x.start <= o.start || x.end >= end {
			return
		}
		passed++
		if first == nil || x.end < first.end {
			first = x
		}
		if last == nil || x.end > last.end {
			last = x
		}
	}
	for x := range k.settled.newest(func(entry *settledEntry) bool { return entry.latest > o.start }) {
		see(x)
	}
	for x := range k.open.all {
		see(x)
	}
	if passed <= s.rules.patience {
		return
	}
	id, client, start := o.id, o.client, o.start
	pin(first, last)
	s.findings.putOff(start, func() {
		if s.faults.disturbed(client, start, end, injectedOnly) {
			return
		}
		j := judgement{violated: true, stallOnly: s.faults.disturbed(client, start, end, uninjectedOnly)}
		s.findings.record(&starvation, k, j, j, func(judgement) *Violation {
			v := &Violation{Property: Starvation, Key: s.rules.name(k), At: end, From: start, To: end, A: first.ref(),
				B: last.ref(), Ops: []int64{id, first.id, last.id}}
			v.Text = fmt.Sprintf("client %d, which nothing disturbed, waited for %s from %s to %s, and meanwhile the key was granted to others %d times.", client, v.Key,
				seconds(start), seconds(end), passed)
			return v
		})
	})
}
