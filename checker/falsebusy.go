// # false-busy
//
// Violated if an acquire was told busy, though all else was settled when it was invoked, and no
// other client asked for the key until its end. Busy is definite: another client holds the key, and
// nothing of this attempt is left. The recorder's order counts, so that no stamp is relied on:
//
//	A.acquire [0,1], A.release [2,3]; B.acquire [10,20] busy
//
// B's first request was granted, its reply was lost, and B met itself. So do libraries that send a
// request again: they take their own grant for another client's, and shut everybody out.
//
// Settled is a grant whose release was answered ok, and an acquire that was told no. "No hold at
// that instant" would accuse a lock whose holder idles. "No promise" would accuse one whose lease
// runs at the service for longer than its client may count on.
//
// A remainder counts for a TTL and Slack (or Header.Slack). A remainder is the grant of a client
// that is gone, one whose release came too late, and one that took more than one request, of which
// the first may arrive yet. It counts for ever without expiry, under a clock that was made wrong,
// and with sessions of a service that does not say how long it keeps them.
//
// An acquire of unknown fate that reported counts for as long as the lock says (Claims.Abandons),
// else for a TTL, and Slack. It counts until later if a fault on its client held it back. Releases
// of unknown fate, and acquires that never reported, count until their client is closed or gone:
//
//	A.acquire [0,1] of unknown fate; B.acquire [1002,1003] busy
//
// "Until A is closed" lets every lock go free whose replies get lost.
//
// Acquires that overlap excuse each other, though each was told busy. The answer busy says that
// nothing is left of an acquire when it ends. Until then it may have had a place in a queue, or
// some votes of a quorum: with A.acquire [0,11] busy and B.acquire [1,12] busy each may have met
// the other. A client that asks alone after that has met no other.
//
// The answer to a fresh client of the probe is judged as a stuck lock. An injected fault of the
// service excuses for as long, since a key that was given up may come back. A finding that only a
// stall of the service explains is inconclusive. All findings until the next grant have one cause,
// and count once.
package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// FalseBusy names the property false-busy: busy is answered only if another can have the key.
const FalseBusy = "false-busy"

// falseBusy reads, beside rules and findings: book, explanations, faults, figures.
var falseBusy = Property{
	Name:  FalseBusy,
	About: "An acquire is told that the key is taken only if another can have it.",
	needs: []string{history.FactAnswers, history.FactHolds, history.FactService},
	exempt: func(h *history.Header) string {
		if h.Translated {
			return "Nobody watched the clients of this history, so others may have had the key."
		}
		return noLock(h)
	},
	unmet: func(s *Sweep) string { return noneOf(s.figures.stats.Busy, "No client was told that a key is taken.") },
	stalled: func(n int) string {
		return fmt.Sprintf("%s that the key is taken, which a stall of this machine alone explains, not an injected fault.",
			count(n, "client was told", "clients were told"))
	},
	Words: Words{
		Violation: "false busy",
		Demands:   "A client is told that the key is taken only if another can have it.",
		Once:      "A client was told that the key is taken when no other could have it",
		More:      "Clients were told that the key is taken when no other could have it",
		Lead:      "Look for a request that was sent again.",
		Advice: "A library that repeats an acquire whose reply was lost must recognise its own first request. " +
			"Compare the owner in the answer, or say that the outcome is unknown. An acquire of several keys that gives up must free those that it has got.",
		Weight: 4,
	},
}

// ask notes an acquire when it is invoked: whether nobody else has the key, or
// asks for it. What acquires of unknown fate left behind is judged later.
func (k *keyState) ask(o *op) {
	k.soleAsk = 0
	if k.loose == k.unknown && k.waiters == 0 {
		k.soleAsk = o.id
	}
}

// leaveBehind notes that something may stand at the service until its lease is
// over, though the client is done with it at t.
func (k *keyState) leaveBehind(t int64) { k.leftAt = max(k.leftAt, t) }

// judgeBusy judges an acquire that was told busy. When it was invoked all was settled,
// or over, and nobody else asked until its end. Acquires that overlap excuse each other,
// even if each was told busy: each may have had a place for a moment, or some of the
// votes, and have given it up for the other's sake. What a fresh client of the probe is
// told is judged as a stuck lock. Acts under unknown grants show that the history lacks
// some. An answer to a set is explained if anybody may have any of its keys.
func (s *Sweep) judgeBusy(asked []*op, e *history.Event) {
	o := asked[0]
	if !s.explanations.soleAsks(asked) || s.rules.fresh(o.client) {
		return
	}
	keys, inv, start, end := s.book.keysOf(nil, asked...), o.inv, o.start, stamp(e.End, e.Time)
	k, id, client := keys[0], o.id, o.client
	granted, last := k.granted+1, k.lastGrant
	if last != nil {
		pin(last)
	}
	lost := s.book.lostAsks(asked)
	s.findings.putOff(inv, func() {
		if s.faults.mayStand(lost, inv) || k.accused == granted || s.book.garbled() || s.faults.serviceStruck(inv, end) {
			return
		}
		j := judgement{violated: true, stallOnly: touched(s.faults.service, inv-s.rules.lifetime(), end, uninjectedOnly)}
		if j.stands() {
			k.accused = granted // the cause is one, until the key is granted again
		}
		s.findings.record(&falseBusy, k, j, j, func(judgement) *Violation {
			return s.tellBusy(keys, last, id, client, start,
				end)
		})
	})
}

// soleAsks reports whether nobody else had the keys of a call, or asked for
// them, and nothing that was left behind can stand there.
func (ex *explanations) soleAsks(asked []*op) bool {
	for _, o := range asked {
		if k := ex.book.keys[o.key]; k.soleAsk != o.id || !ex.faults.nothingLeft(k, o.inv) {
			return false
		}
	}
	return true
}

// nothingLeft reports whether nothing that was left behind can still stand at t.
func (fs *faults) nothingLeft(k *keyState, t int64) bool {
	left := max(k.leftAt, k.vanishedAt)
	if left == 0 || fs.neverEnds() {
		return left == 0
	}
	return t-left-fs.stalledIn(left, t) > fs.rules.lifetime()
}

// unknownAcquire is a client's last acquire of unknown fate.
type unknownAcquire struct {
	client int32
	at     int64 // its end; forever: it never reported
}

// lostAsks are the acquires of unknown fate that may have left something behind
// where others are asked for.
func (bk *book) lostAsks(asked []*op) (all []unknownAcquire) {
	for _, o := range asked {
		for c := range bk.keys[o.key].by.eachLoose {
			switch {
			case c.missing > 0:
				all = append(all, unknownAcquire{c.client, forever})
			case c.unknown > 0:
				all = append(all, unknownAcquire{c.client, c.unknownAt})
			}
		}
	}
	return all
}

// mayStand reports whether what acquires of unknown fate left behind may still
// stand at t. It stands for a TTL and the slack, or for as long as the lock
// claims (Claims.Abandons) and the slack. A request that a fault held back is
// sent again later and later, so its fault counts for twice its time.
func (fs *faults) mayStand(lost []unknownAcquire, t int64) bool {
	for _, ask := range lost {
		left := ask.at
		for _, sp := range fs.clientSpans(ask.client) {
			if sp.injected && sp.from <= ask.at {
				left = max(left, sp.calmAt())
			}
		}
		if left == forever || fs.neverEnds() ||
			t-left-fs.stalledIn(left, t) <= fs.rules.lifetime()-fs.rules.TTL+fs.rules.abandons() {
			return true
		}
	}
	return false
}

// neverEnds reports whether nothing says when something ends that was left behind.
func (fs *faults) neverEnds() bool {
	claims := &fs.rules.Claims
	return claims.NoExpiry || fs.skewedSince != 0 || claims.Validity == validitySession && fs.rules.Slack == 0
}

// serviceStruck reports whether an injected fault of the service may have
// brought back what was given up, until some instant between two others.
func (fs *faults) serviceStruck(from, to int64) bool {
	if fs.rules.Claims.NoExpiry || fs.skewedSince != 0 {
		return fs.struck
	}
	return touched(fs.service, from-fs.rules.lifetime(), to, injectedOnly)
}

func (s *Sweep) tellBusy(keys []*keyState, last *grant, id int64, client int32, start, end int64) *Violation {
	k := keys[0]
	v := &Violation{Property: FalseBusy, Key: s.rules.name(k), At: end, From: start, To: end, Ops: []int64{id}}
	settled := "it had never been granted"
	if last != nil {
		v.A, v.Ops = last.ref(), []int64{last.id, id}
		settled = fmt.Sprintf("its last grant, to client %d, was settled", last.client)
	}
	for _, sp := range s.faults.clientSpans(client) {
		if sp.from <= end && sp.to >= start {
			v.Faults = append(v.Faults, sp.id)
		}
	}
	v.Text = fmt.Sprintf("client %d asked for %s from %s on and was told at %s that it is taken, but no other client could have it: %s, and nobody else asked.",
		client, s.rules.namesOf(keys), seconds(start), seconds(end), settled)
	return v
}
