package checker

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// # Effects that never come
//
// Of a scheduler that claims exactly-once, the effect of a tick that began must come. Two things
// show that it never does (effect-lost), where the whole ledger has no effect of the tick:
//
//   - An instance told its application that it had lost the tick, so that this wrote nothing. It
//     marked the tick as done all the same.
//   - The latest instance that executed the tick died at its work, or was stopped in order there.
//     Another one waited, for longer than the claimed time (Handover, StopHandover) and a lease, and
//     the next tick was not due by then. Nobody executed the tick again.
//
// "A tick that began and had no effect was lost" would accuse a scheduler whose instance dies when
// the next tick is nearly due: one execution may then make up for both. It would also accuse one
// whose application could not write, and said that it was done. So a tick is left open where any of
// its executions was marked, or may have been, and that application had not been told of a loss.
//
// Here the TTL is 500, the claimed time 700 and the period 2000. A marked the tick when it claimed
// it. Nobody executes it again:
//
//	A.acquire [0,1] tick 1000, A dies at 12, B.acquire [-50,2001] tick 3000
func (s *Sweep) judgeLost(p *Property) {
	if s.book.cut || s.ledgerShort() != "" {
		return // the effect may be in what is lacking
	}
	waiting := s.jobs.waiting()
	for _, key := range s.jobs.keys {
		byTick := map[history.Token][]*execution{}
		var ticks []history.Token
		for _, x := range s.jobs.byKey[key] {
			if !x.token.Given() {
				continue
			}
			if byTick[x.token] == nil {
				ticks = append(ticks, x.token)
			}
			byTick[x.token] = append(byTick[x.token], x)
		}
		for _, tick := range ticks {
			if all := byTick[tick]; !slices.ContainsFunc(all, (*execution).effective) {
				s.judgeWithoutEffect(p, all, waiting[key])
			}
		}
	}
}

// judgeWithoutEffect judges the executions of a tick of which the store took no effect.
func (s *Sweep) judgeWithoutEffect(p *Property, all []*execution, waiting intervals[idle]) {
	s.jobs.ineffective++
	if n := slices.IndexFunc(all, (*execution).markedThoughLost); n >= 0 && !slices.ContainsFunc(all, tried) {
		x := all[n]
		s.tellNoEffect(p, x, x.told, x.done, fmt.Sprintf("client %d had told its application at %s that it had lost it, "+
			"and marked it as done at %s", x.client, seconds(x.told), seconds(x.done)))
		return
	}
	if slices.ContainsFunc(all, func(x *execution) bool { return x.marks || x.releasing != 0 }) {
		return
	}
	n := slices.IndexFunc(s.jobs.deaths, func(d death) bool { return d.of == all[len(all)-1] })
	if n < 0 {
		return
	}
	d := s.jobs.deaths[n]
	did, claimed := "died", s.rules.Claims.Handover
	if d.orderly {
		did, claimed = "was stopped in order", s.rules.Claims.StopHandover
	}
	until := s.jobs.latestUntil(d.of)
	if claimed == 0 || !s.jobs.leftAlone(d, until) {
		return
	}
	if w := s.jobs.waiter(d, claimed+s.rules.TTL, until, waiting); w != nil {
		s.tellNoEffect(p, d.of, d.at, min(w.to, until), fmt.Sprintf("client %d %s at %s while it executed it, and nobody did again, "+
			"though client %d waited until %s", d.of.client, did, seconds(d.at), w.client, seconds(min(w.to, until))))
	}
}

// tellNoEffect tells of a tick whose effect never came, by its latest execution.
func (s *Sweep) tellNoEffect(p *Property, x *execution, from, at int64, how string) {
	j := judgement{violated: true, kind: KindEffectLost}
	s.findings.record(p, s.book.keyOf(x.grant), j, j, func(j judgement) *Violation {
		v := s.tellExecutions(p, j, x, x, at)
		v.From, v.Text = from, fmt.Sprintf("the effect of tick %d of %s never came: %s.", x.token, v.Key, how)
		return v
	})
}

// markedThoughLost reports whether an execution was marked as done when its application knew that
// it was lost.
func (x *execution) markedThoughLost() bool {
	return x.done != 0 && x.told != 0 && x.told < x.doneFrom
}

// tried reports whether the application of an execution wrote, or could not do its work, for a
// reason that need not be the scheduler's.
func tried(x *execution) bool { return x.lastWrite != 0 || x.hindered }

// latestUntil is until when the tick of an execution is the latest, so that instances execute it
// and no later one. What they claim when the workload winds down they tell nobody.
func (js *jobs) latestUntil(x *execution) int64 {
	return earlier(js.silent, js.dueAt(x)+js.rules.Every)
}

// leftAlone reports whether after such an end of an instance nothing but that can have kept the
// others from its tick until then: no wrong clock, no execution of another tick, no fault since the
// instance claimed it, nor what one before had held back. No other instance died, and none came
// back and was struck: it may have claimed the tick and told nobody.
func (js *jobs) leftAlone(d death, until int64) bool {
	if fs := js.faults; fs.skewedSince != 0 && fs.skewedSince <= until || stirred(fs.service, d.of.from, until) {
		return false
	}
	for client := range js.faults.byClient {
		spans := js.faults.byClient[client].spans
		if int32(client) == d.of.client {
			spans = slices.DeleteFunc(slices.Clone(spans), func(sp span) bool { return sp.from <= d.at })
		}
		if stirred(spans, d.of.from, until) {
			return false
		}
	}
	own := 0
	for _, e := range js.exits {
		if e.at < d.of.from || e.at > until {
			continue
		}
		if own++; e.client != d.of.client || own > 1 {
			return false
		}
	}
	return !slices.ContainsFunc(js.byKey[d.of.key], func(x *execution) bool {
		_, to := js.occupied(x)
		return x.token != d.of.token && x.begun < until && to >= d.at
	})
}

// stirred reports whether an injected fault, or what it held back, came between two instants.
func stirred(spans []span, from, to int64) bool {
	return slices.ContainsFunc(spans, func(sp span) bool { return sp.injected && sp.from <= to && sp.calmAt() >= from })
}
