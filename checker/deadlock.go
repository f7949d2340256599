// # deadlock
//
// Violated if undisturbed clients in a cycle waited for each other for the bound (Header.Bound,
// else half a TTL): each had a grant, neither released nor at the end of its promise, and an open
// acquire of the next one's key. "By holds" is wrong: asking for the second key is no act, so the
// first hold is over by then.
//
// Not judged where no client asked for a key while it had another. An injected fault ends a cycle:
// a disturbed client is no part of it. A cycle that only a stall makes too short is inconclusive,
// for the machine may have kept the clients from going on, or the session from being heard. So is a
// cycle in which an acquire never reported. Two clients that wait for ever are ended by the
// harness, and say nothing more:
//
//	A.acquire k0 [0,1], B.acquire k1 [0,1], A.acquire k1 [2, ], B.acquire k0 [3, ], both are gone at 900
//
// "An op that never reported proves nothing" would pass every lock that knows no deadline.
package checker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
)

// Deadlock names the property deadlock: no clients wait for each other's keys in a cycle.
const Deadlock = "deadlock"

// deadlock reads, beside rules and findings: book, cycles, faults.
var deadlock = Property{
	Name:  Deadlock,
	About: "No clients wait for each other's keys in a cycle.",
	needs: []string{history.FactClients},
	exempt: func(h *history.Header) string {
		if h.Claims.Validity == "" && !h.Claims.NoExpiry {
			return "This lock does not declare for how long a grant is good, so nobody knows whether two clients wait for each other."
		}
		return notExclusive(h)
	},
	unmet: func(s *Sweep) string {
		if s.cycles.crossing {
			return ""
		}
		return "No client asked for a key while it had another."
	},
	stalled: func(n int) string {
		return fmt.Sprintf("%s too short a time without a stall of this machine, or has a client that never said whether it had begun to wait.",
			count(n, "circle of waiting clients lasted for", "circles of waiting clients lasted for"))
	},
	Words: Words{
		Demands: "Clients that need several keys do not wait for each other in a circle.",
		Once:    "Clients waited for each other in a circle",
		More:    "Clients waited for each other in circles",
		Lead:    "Take several locks in one order.",
		Advice: "If every client takes the keys in the same order there is no circle. Where that cannot be, ask " +
			"for the second one with a short deadline, give everything back when it passes, and try again " +
			"after a random pause.",
		Weight: 5,
	},
}

// cycles finds the circles of clients that wait for each other.
type cycles struct {
	rules    *rules
	faults   *faults
	book     *book
	findings *findings

	crossing bool   // a client asked for a key while it had another
	waits    []wait // that may yet be part of a cycle
}

// wait is an acquire that lasted for the bound or longer, and what its client
// had meanwhile. Of one that never reported it is not certain that its client
// had begun it, nor for how long its process lived.
type wait struct {
	op         int64
	client     int32
	mode       history.Mode
	key        *keyState
	start, end int64
	held       []heldGrant
	unreported bool
	// told and open: of a reentrant lock, a cycle that it closes was found for
	// certain, or perhaps, whichever of a key's nested grants it is made of.
	told, open bool
}

// heldGrant is a grant that a waiting client had. A process that never answered may
// have lived until it was found gone. Its end takes its promises back as of its
// last sign of life, which leaves open what it had; so until is how long the
// grant stood by what was known before. 0: what is known at last counts.
type heldGrant struct {
	*grant
	until int64
}

// edge is one client of a cycle: what it had, and what it waited for.
type edge struct {
	w *wait
	g heldGrant
}

// bound is how long a cycle must have lasted (ns).
func (r *rules) bound() int64 {
	if r.Bound != 0 {
		return r.Bound
	}
	return r.TTL / 2
}

// judgeCycle looks for a cycle that a wait which has just ended closes. Of the
// waits of a cycle, the last one to end finds it.
func (cy *cycles) judgeCycle(k *keyState, o *op, end int64) {
	w := &wait{op: o.id, client: o.client, mode: o.mode, key: k, start: o.start, end: end}
	if w.unreported = o.start == 0; w.unreported {
		w.start = o.inv
	}
	if w.end-w.start < cy.rules.bound() {
		return
	}
	for _, other := range cy.book.clients[o.client].keysOf() {
		cy.book.eachOpenOf(other, o.client, func(g *grant) {
			if g.end >= end || other == k {
				return
			}
			pin(g)
			w.held = append(w.held, heldGrant{grant: g})
			if w.unreported {
				w.held[len(w.held)-1].until = cy.rules.standsUntil(g)
			}
		})
	}
	if len(w.held) == 0 {
		return
	}
	cy.forgetWaits(w.start)
	cy.follow([]edge{{w: w}}, w.start, w.end)
	cy.waits = append(cy.waits, *w)
}

// forgetWaits drops the waits that no wait which is still open can overlap.
func (cy *cycles) forgetWaits(oldest int64) {
	for _, k := range cy.book.keys {
		if k.waitHead != nil {
			oldest = min(oldest, k.waitHead.inv)
		}
	}
	kept := cy.waits[:0]
	for _, w := range cy.waits {
		if w.end > oldest {
			kept = append(kept, w)
		}
	}
	clear(cy.waits[len(kept):])
	cy.waits = kept
}

// follow extends a path of waiting clients, all of whom waited from from to to,
// until it comes back to where it began.
func (cy *cycles) follow(path []edge, from, to int64) {
	wanted := path[len(path)-1].w.key.id
	for _, g := range path[0].w.held {
		if len(path) > 1 && g.key == wanted && blocks(g.grant, path[len(path)-1].w) {
			cycle := append([]edge(nil), path...)
			cycle[0].g = g
			cy.cycle(cycle, from, to)
		}
	}
	for i := range cy.waits {
		w := &cy.waits[i]
		f, t := max(from, w.start), min(to, w.end)
		if t-f < cy.rules.bound() || onPath(path, w.client) {
			continue
		}
		for _, g := range w.held {
			if g.key == wanted && blocks(g.grant, path[len(path)-1].w) {
				copied := *w // the list moves
				cy.follow(append(path[:len(path):len(path)], edge{w: &copied, g: g}), f, t)
			}
		}
	}
}

// blocks reports whether a grant keeps a waiter for its key waiting: a reader keeps no reader.
func blocks(g *grant, w *wait) bool { return g.mode != history.ModeRead || w.mode != history.ModeRead }

func onPath(path []edge, client int32) bool {
	return slices.ContainsFunc(path, func(e edge) bool { return e.w.client == client })
}

// unfinished looks for the cycles that acquires close which end without a
// completion, by t: those of one process of a client, or (0, 0) all.
func (cy *cycles) unfinished(client, process int32, t int64) {
	if !cy.crossing {
		return
	}
	var asking []*op
	if client != 0 {
		asking = slices.Clone(cy.book.clients[client].asking)
		slices.SortStableFunc(asking, func(a, b *op) int { return int(a.key) - int(b.key) })
	} else {
		for _, k := range cy.book.keys {
			for o := k.waitHead; o != nil; o = o.next {
				asking = append(asking, o)
			}
		}
	}
	for _, o := range asking {
		if process == 0 || o.process <= process {
			cy.judgeCycle(cy.book.keys[o.key], o, t)
		}
	}
}

// cycle has a cycle decided, once the faults around it and the fate of its promises are known.
func (cy *cycles) cycle(path []edge, from, to int64) {
	cy.findings.putOff(from, func() {
		f, t := from, to
		for _, e := range path {
			f, t = max(f, e.g.end), min(t, stamp(e.g.until, cy.rules.standsUntil(e.g.grant)))
		}
		longest, calm := cy.faults.calmUntil(path, f, t, injectedOnly), cy.faults.calmUntil(path, f, t, anyFault)
		j := judgement{violated: longest-f >= cy.rules.bound(), stallOnly: calm-f < cy.rules.bound() || unreported(path)}
		if t = calm; j.stallOnly {
			t = longest
		}
		w := path[0].w
		if !j.violated || cy.book.cut && cy.book.now < t+cy.rules.delay || w.told || w.open && j.stallOnly {
			return
		}
		w.told, w.open = cy.rules.reentrant && !j.stallOnly, cy.rules.reentrant
		cy.findings.record(&deadlock, w.key, j, j, func(judgement) *Violation { return cy.tellCycle(path, f, t) })
	})
}

// calmUntil is until when no fault of a sort has touched a cycle. What its
// clients did until the first one is enough, if it is long enough.
func (fs *faults) calmUntil(path []edge, from, to int64, which faultFilter) int64 {
	for _, e := range path {
		since := max(from-fs.rules.TTL, fs.rules.restsSince(e.g.grant))
		to = min(to, firstTouch(fs.clientSpans(e.w.client), since, which), firstTouch(fs.service, since, which))
	}
	return to
}

// unreported reports whether one of a cycle's clients never said that it had begun to wait.
func unreported(path []edge) bool {
	return slices.ContainsFunc(path, func(e edge) bool { return e.w.unreported })
}

// standsUntil is until when a grant certainly stood.
func (r *rules) standsUntil(g *grant) int64 {
	if r.Claims.NoExpiry && g.promise == 0 {
		end := g.withdrawn
		if g.releasing != 0 {
			end = min(end, g.releasing)
		}
		return end
	}
	return g.limit()
}

func (cy *cycles) tellCycle(path []edge, from, to int64) *Violation {
	v := &Violation{Property: Deadlock, Key: cy.rules.name(path[0].w.key), At: from + cy.rules.bound(), From: from,
		To: to, A: path[0].g.ref(), B: path[1].g.ref()}
	var proof evidence
	var parts []string
	for _, e := range path {
		proof.add(e.g.id, e.g.start)
		proof.add(e.w.op, e.w.start)
		parts = append(parts, fmt.Sprintf("client %d had %s and waited for %s", e.w.client, cy.book.nameOf(e.g.grant),
			cy.rules.name(e.w.key)))
	}
	v.Ops = proof.ops()
	v.Text = fmt.Sprintf("from %s to %s %s: none of them could go on.", seconds(from), seconds(to),
		strings.Join(firstFew(parts), ", "))
	return v
}
