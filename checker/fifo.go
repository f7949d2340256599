// # fifo
//
// Judged if the lock declares to be fair. Violated if an undisturbed waiter, enqueued before
// another's acquire began, was granted later, in the order of grants. "Invoked before" would accuse
// a fair lock: A.acquire is invoked at 0 and lies in a pipe until 6, B's is invoked at 1 and
// arrives at 2.
package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// FIFO names the property fifo: a fair lock grants in the order in which waiters were enqueued.
const FIFO = "fifo"

// fifo reads, beside rules and findings: book, faults, figures.
var fifo = Property{
	Name:  FIFO,
	About: "Waiters are granted the key in the order in which they were enqueued.",
	exempt: func(h *history.Header) string {
		if !h.Claims.Fair {
			return "This lock does not declare to be fair."
		}
		return ""
	},
	short: func(s *Sweep) string {
		return noneOf(s.figures.judged.enqueued,
			"No grant told when its waiter was enqueued, although the lock declares to be fair.")
	},
	Words: Words{
		Demands: "Waiters get the key in the order in which they joined its queue.",
		Once:    "A waiter was overtaken in a queue that is declared fair",
		More:    "Waiters were overtaken in a queue that is declared fair",
		Lead:    "The queue is not one.",
		Advice: "This lock declares to grant in the order of its queue, and did not. Look at what decides who " +
			"is next once the holder has gone: the queue, or whoever asks first.",
	},
}

// judgeQueue judges a new grant against those that it can have met in the
// queue. Each overtaking counts once.
func (s *Sweep) judgeQueue(k *keyState, g *grant) {
	if g.enqueued != 0 && !g.ofSet {
		s.figures.judged.enqueued++
	}
	for x := range k.open.all {
		if !inItsTurn(x, g) {
			s.judgeOvertaking(x, g)
		}
	}
	// Who began to ask before g was enqueued, was not certainly granted after
	// it, and has no greater token, was in its turn.
	met := func(entry *settledEntry) bool {
		return g.enqueued != 0 && entry.asked > g.enqueued || entry.earliest > g.end ||
			s.rules.tokens && (entry.top.above(g.token) || entry.reader.above(g.token))
	}
	for x := range k.settled.newest(met) {
		if !inItsTurn(x, g) {
			s.judgeOvertaking(x, g)
		}
	}
}

// inItsTurn tells by a glance, and for nearly all pairs, that neither overtook the
// other: g was enqueued after x had begun to ask, and x is not the later grant.
func inItsTurn(x, g *grant) bool {
	return g.enqueued >= x.start && x.earliest <= g.end && x.token <= g.token
}

func (s *Sweep) judgeOvertaking(x, y *grant) {
	if x.client == y.client || readers(x, y) || x.nested {
		return
	}
	for _, pair := range [2][2]*grant{{x, y}, {y, x}} {
		first, waiter := pair[0], pair[1]
		if waiter.enqueued == 0 || waiter.ofSet || waiter.enqueued >= first.start ||
			!later(waiter, first, s.rules.tokens) {
			continue
		}
		s.findings.putOff(waiter.start, func() {
			if s.faults.disturbed(waiter.client, waiter.start, waiter.end, anyFault) {
				return
			}
			s.findings.record(&fifo, s.book.keyOf(waiter), judgement{violated: later(waiter, first, false)},
				judgement{violated: true}, func(judgement) *Violation {
					return s.tellOvertaken(first, waiter)
				})
		}, first, waiter)
	}
}

func (s *Sweep) tellOvertaken(first, waiter *grant) *Violation {
	v := &Violation{Property: FIFO, Key: s.book.nameOf(waiter), At: first.end, From: waiter.enqueued, To: waiter.end,
		A: first.ref(), B: waiter.ref()}
	var proof evidence
	proof.add(waiter.id, waiter.start)
	proof.add(first.id, first.start)
	v.Ops = proof.ops()
	v.Text = fmt.Sprintf("%s was in the queue of %s from %s on, yet client %d, which asked only at %s, was granted it first, at %s; client %d had it at %s.",
		clientName(waiter), v.Key, seconds(waiter.enqueued), first.client, seconds(first.start), seconds(first.end),
		waiter.client, seconds(waiter.end))
	return v
}
