// # dead-grant
//
// Violated if an acquire returned ok when nothing was left of its lease: by the library's own word,
// or a TTL after the attempt that succeeded. "Since the invocation" is wrong: a waiter's attempt
// comes late.
//
// A client that an injected fault stopped or skewed between the attempt and its return is not
// judged. A reply that is late on its way excuses nothing. The time of uninjected stalls is
// subtracted: a grant that is dead only with it is inconclusive. A grant that a stall too short to
// be recorded may explain is not counted.
//
// Of a session: the client was stopped (an injected pause, as measured) within the acquire for
// longer than a session can live that the service does not hear (the TTL and Header.Slack), and it
// had asked, or had its place, before:
//
//	A.acquire [0,1600] of an attempt at 0, A is stopped from 100 to 1500
//
// A session that was made before 100 is over. "A waited for longer than a session lives" would
// accuse every waiter. "A was stopped meanwhile" would accuse a lock that made a new session at
// 1501 and queued again. It says so by its attempt, or by its place (Event.Enqueued).
//
// These show nothing of a session:
//
//   - A stop right after the attempt's stamp (Header.Stall): the request may have left after the
//     stop.
//   - A cut link, since the history does not say which packets passed.
//   - A stop while an injected fault touched the service, which may then keep sessions for longer.
//
// Stalls of any client are subtracted: servers that stand still end no session. After a stall of
// the service its sessions have their whole time again, for it may have lost its leader. A grant
// that is dead only without that is inconclusive.
//
// Also of a session: a fault had the service end the very session that the grant came with, and the
// acquire returned more than a session's life after that (Event.Ended). For example, A.acquire
// [0,1600], and its session is ended by 500. Sooner is left to chance, since no service informs a
// client at once. A fault that stopped the client meanwhile, or kept it from the service, excuses
// it; stalls are subtracted.
package checker

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// DeadGrant names the property dead-grant: no acquire returns ok with a lease that is over.
const DeadGrant = "dead-grant"

// deadGrant reads, beside rules and findings: book, faults, figures.
var deadGrant = Property{
	Name:  DeadGrant,
	About: "No acquire succeeds with a lease that has already run out.",
	needs: []string{history.FactAttempts},
	exempt: func(h *history.Header) string {
		switch {
		case h.Claims.Validity != validitySession:
			return noLease(h)
		case h.Claims.NoExpiry:
			return "A session of this lock does not end by time."
		case h.Slack == 0:
			return "The history does not tell for how long a session may live that the service does not hear."
		}
		return ""
	},
	short: func(s *Sweep) string {
		return noneOf(s.figures.judged.leases, "No grant told when the attempt that succeeded began.")
	},
	stalled: func(n int) string {
		return fmt.Sprintf("%s only after the lease, which a stall of this machine alone explains, not an injected fault.",
			count(n, "acquire returned", "acquires returned"))
	},
	Words: Words{
		Violation: "dead grant",
		Demands:   "A successful acquire returns before its lease has run out.",
		Once:      "A lock was granted when its lease was already over",
		More:      "Locks were granted when their leases were already over",
		Lead:      "Measure the time that the acquire took.",
		Advice: "The lease runs from the moment that the request is sent. What is left when the answer arrives " +
			"is the TTL less that time, and if nothing is left, the acquire has failed.",
		Weight: 5,
	},
}

// noLease says that the lock does not declare for how long a grant is good; empty when it does.
func noLease(h *history.Header) string {
	if h.Claims.Validity != validityLibrary && h.Claims.Validity != validityInvocation {
		return "This lock does not declare for how long a grant is good."
	}
	return ""
}

// leaseAnswer is an answer ok to an acquire or a renewal: what it tells of the lease that it gave.
type leaseAnswer struct {
	op         int64
	since, end int64 // of the attempt that succeeded, else of the call
	attempt    int64 // 0: not told
	said       bool  // the library said validFor
	validFor   int64
	ended      int64 // by when the session of the grant was over; 0: it was not
}

func (r *rules) leaseAnswer(o *op, e *history.Event) leaseAnswer {
	return leaseAnswer{op: o.id, since: stamp(e.Attempt, o.start), end: stamp(e.End, e.Time), attempt: e.Attempt,
		said: r.Claims.Validity == validityLibrary && e.HasValidFor, validFor: e.ValidFor, ended: e.Ended}
}

// tellsLease reports whether an answer to the op says enough to judge what was left of its lease.
func (r *rules) tellsLease(a *leaseAnswer, o *op) bool {
	return a.attempt != 0 || a.said || a.end <= o.start+r.TTL
}

// judgeAlive judges a new grant.
func (s *Sweep) judgeAlive(g *grant, o *op, e *history.Event) {
	a := s.rules.leaseAnswer(o, e)
	if s.rules.tellsLease(&a, o) {
		s.figures.judged.leases++
	}
	switch {
	case s.rules.Claims.Validity != validitySession:
		s.judgeLease(&deadGrant, PatternLateReply, g, &a)
	case a.ended != 0 && a.end-a.ended > s.rules.sessionLife():
		s.judgeEnded(g, a)
	default:
		s.judgeSession(g, &a)
	}
}

// sessionLife is for how long a session lives that the service does not hear.
func (r *rules) sessionLife() int64 { return r.TTL + r.Slack }

// judgeEnded judges a grant with a session that a fault had ended more than a session's
// life before. Its client was connected and ran, but for stalls of the machine, which
// are taken off: a client that asks the service hears that the session is over.
func (s *Sweep) judgeEnded(g *grant, a leaseAnswer) {
	s.findings.putOff(a.ended, func() {
		hinders := func(sp span) bool {
			return sp.injected && sp.touch.Ends != history.EndsSession && sp.from <= a.end && sp.to >= a.ended
		}
		spans := s.faults.clientSpans(g.client)
		if slices.ContainsFunc(spans, hinders) || slices.ContainsFunc(s.faults.service, hinders) {
			return
		}
		stalled := s.rules.stalledFor(spans, a.ended, a.end) + s.rules.stalledFor(s.faults.service, a.ended, a.end)
		j := judgement{violated: true, pattern: PatternSessionUnseen,
			stallOnly: a.end-a.ended-stalled <= s.rules.sessionLife()}
		g.dead = j.stands()
		s.findings.record(&deadGrant, s.book.keyOf(g), j, j, func(judgement) *Violation {
			v := s.deadSession(g, a.ended)
			v.Text = fmt.Sprintf("%s was granted %s at %s with a session that the lock service had ended by %s, %s before. Nothing kept its client from hearing of that.",
				clientName(g), v.Key, seconds(g.end), seconds(a.ended), seconds(a.end-a.ended))
			return v
		})
	}, g)
}

// deadSession is a violation by a grant whose session was over from an instant on.
func (s *Sweep) deadSession(g *grant, from int64) *Violation {
	return &Violation{Property: DeadGrant, Key: s.book.nameOf(g), At: g.end, From: from, To: g.end, B: g.ref(),
		Ops: []int64{g.id}, Faults: s.faults.faultsOf(g.end, g)}
}

// judgeSession judges whether the session of a new grant had surely ended: its client was
// stopped for longer than a session can live, and had taken its place before that. A cut
// link does not count, since the history does not tell which packets still passed. The time
// for which the machine stalled a client is taken off, since a server that stood still as
// well ends no session. A stall of the service may have cost it its leader, and a new one
// gives every session its whole time again: the time counts from the end of such stalls.
func (s *Sweep) judgeSession(g *grant, answer *leaseAnswer) {
	life := s.rules.sessionLife()
	if answer.attempt == 0 || answer.end-answer.attempt <= life {
		return
	}
	a := *answer
	// A stall shorter than Header.Stall is not recorded: the request may have left that much
	// later, been carried out later, and its answer read and passed on later. Until all four
	// can have been, the lock may have looked at its session for the last time before the stop.
	placed := a.attempt + 4*s.rules.Stall
	if g.enqueued != 0 {
		placed = max(a.attempt, g.enqueued)
	}
	s.findings.putOff(a.attempt, func() {
		for _, sp := range s.faults.clientSpans(g.client) {
			if sp.touch.Stops != history.StopsProcesses || !sp.injected || !stops(sp) || sp.bit < placed ||
				sp.healed > a.end || sp.healed-sp.bit <= life ||
				touched(s.faults.service, sp.bit, a.end, injectedOnly) {
				continue
			}
			unheard := s.faults.unstalled(sp.bit, life)
			j := judgement{violated: true, pattern: PatternLateReply,
				stallOnly: sp.healed-unheard-s.faults.stalledIn(unheard, sp.healed) <= life}
			g.dead = j.stands()
			s.findings.record(&deadGrant, s.book.keyOf(g), j, j, func(judgement) *Violation {
				return s.tellEnded(g, sp, placed)
			})
			return
		}
	}, g)
}

// unstalled is the first instant, from t on, after which the service did not
// stall for the time given.
func (fs *faults) unstalled(t, life int64) int64 {
	for again := true; again; {
		again = false
		for _, sp := range fs.service {
			if !sp.injected && sp.from <= t+life && sp.to > t {
				t, again = sp.to, true
			}
		}
	}
	return t
}

func (s *Sweep) tellEnded(g *grant, sp span, placed int64) *Violation {
	v := s.deadSession(g, sp.bit)
	v.Text = fmt.Sprintf("%s was granted %s at %s by an attempt that was under way at %s. It was frozen for %s while it waited, and the service ends a session that it "+
		"does not hear for %s: the session of the grant was over.", clientName(g), v.Key, seconds(g.end), seconds(placed),
		seconds(sp.healed-sp.bit), seconds(s.rules.sessionLife()))
	return v
}

// judgeLease judges whether anything was left of the lease that an answer gave.
func (s *Sweep) judgeLease(p *Property, late string, g *grant, answer *leaseAnswer) {
	ttl, stall := s.rules.TTL, s.rules.Stall
	// so little time passed that none of it explains that nothing was left
	instant := answer.end-answer.since <= ttl/2
	spent := answer.said && answer.validFor <= 0 && (answer.validFor <= -stall || instant)
	if !spent && (answer.attempt == 0 || answer.end <= answer.attempt+ttl+stall) {
		return
	}
	a := *answer // it is kept of few only
	over := a.over(ttl, spent)
	s.findings.putOff(a.since, func() {
		spans := s.faults.clientSpans(g.client)
		if touched(spans, a.since, a.end, hindering) {
			return
		}
		j := judgement{violated: true, pattern: late}
		if instant && late != "" {
			j.pattern = PatternUnexplained // it was dead from the beginning, and nothing was late
		}
		j.stallOnly = !instant && touched(spans, a.since, a.end, uninjectedOnly) &&
			over-s.rules.stalledFor(spans, a.since, a.end) <= stall
		g.dead = g.dead || a.op == g.id && j.stands()
		s.findings.record(p, s.book.keyOf(g), j, j, func(judgement) *Violation { return s.tellDead(p, g, a, spent) })
	}, g)
}

// over is for how long the lease had been over; spent: so the library said.
func (a leaseAnswer) over(ttl int64, spent bool) (over int64) {
	if a.attempt != 0 {
		over = a.end - a.attempt - ttl
	}
	if spent {
		over = max(over, -a.validFor)
	}
	return over
}

func (s *Sweep) tellDead(p *Property, g *grant, a leaseAnswer, spent bool) *Violation {
	v := &Violation{Property: p.Name, Key: s.book.nameOf(g), At: a.end, From: a.since, To: a.end, B: g.ref(),
		Ops:    []int64{a.op},
		Faults: s.faults.faultsOf(a.end, g)}
	done, attempt := fmt.Sprintf("was granted %s", v.Key), "the attempt that took it"
	if a.op != g.id {
		done, attempt = fmt.Sprintf("was told that its grant of %s was renewed", v.Key), "the renewal"
	}
	if spent {
		v.Text = fmt.Sprintf("%s %s at %s, and the library itself said that the grant was good for %s.", clientName(g), done,
			seconds(a.end), seconds(a.validFor))
		return v
	}
	v.Text = fmt.Sprintf("%s %s at %s, %s after %s had begun: the lease of %s was over before the client, %s, knew of it.", clientName(g), done,
		seconds(a.end), seconds(a.end-a.since), attempt, seconds(s.rules.TTL), s.faults.disturbedLittle(g.client, a.since, a.end))
	return v
}

// disturbedLittle says how little the client of a dead lease was disturbed.
func (fs *faults) disturbedLittle(client int32, from, to int64) string {
	switch spans := fs.clientSpans(client); {
	case touched(spans, from, to, uninjectedOnly):
		return "whose stalls were too short to explain it"
	case touched(spans, from, to, injectedOnly):
		return "which was neither stopped nor skewed"
	}
	return "which nothing disturbed"
}
