package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// # Ticks that must be made up for
//
// By the rule for misfires "all" each tick is owed an execution, also one that came due while a
// fault kept every instance from it. It is missed if nobody ever executed it, and it was overtaken:
// a later tick was executed. After that an instance waited, while no execution went on, for a
// period in all. Nothing disturbed anybody from a lease and a period before that on.
//
// "The faults were over, and nobody executed it" would accuse a scheduler that works its ticks off
// in order, and is still behind when the run ends. It overtakes none. One that was overtaken, where
// no instance had such a time, is left open, and the property is not shown to hold. Where an
// execution does not tell its tick, nothing of this is judged.
//
// Of a scheduler of at most once the tick may have been claimed by an instance that was lost, if
// anything was disturbed when the tick was due. So that tick is left open.
//
// Here the TTL is 500 and the period 200, and C waits. The ticks from 1200 to 2600 are missed:
//
//	A.acquire [0,1] tick 1000, A.release [4,5], the service is away [150,1000],
//	A.acquire [1800,1801] tick 2800, A.release [1804,1805], C waits until 2300

// judgeOwed judges the ticks that were due while something was disturbed. settled are those that
// were executed or judged.
func (s *Sweep) judgeOwed(p *Property, settled map[history.KeyID]map[history.Token]bool) {
	js := &s.jobs
	if js.rules.Claims.Misfire != history.MisfireAll || s.book.cut {
		return
	}
	waiting, looked := js.waiting(), 0
	for _, key := range js.keys {
		if slices.ContainsFunc(js.byKey[key], func(x *execution) bool { return !x.token.Given() }) {
			continue
		}
		x, waiter := js.overtaking(key, waiting[key])
		last := newest(js.byKey[key])
		k := s.book.keys[key]
		for due := js.firstDue(max(js.firstTick(key), 0)); due < min(js.dueAt(last), last.begun); due += js.rules.Every {
			if looked++; looked > mostTicks {
				js.unlisted = true
				return
			}
			tick := js.number(due)
			if settled[key][history.TokenOf(tick)] || js.mayBeLost(due) {
				continue
			}
			if x == nil || due >= min(js.dueAt(x), x.begun) {
				js.owed++
				continue
			}
			js.ticks++
			j := judgement{violated: true}
			s.findings.record(p, k, j, j, func(judgement) *Violation {
				return &Violation{Property: p.Name, Key: s.rules.name(k), At: waiter.to, From: due, To: waiter.to, B: x.ref(),
					Text: fmt.Sprintf("tick %d of %s was due at %s and executed by nobody, though tick %d was executed at %s, "+
						"and client %d waited for a whole period after that, until %s, and nothing was disturbed.",
						tick, s.rules.name(k), seconds(due), x.token, seconds(x.begun), waiter.client, seconds(waiter.to))}
			})
		}
	}
}

// overtaking is the execution of a key's latest tick, of those after which an instance had the time
// for an older tick, and when that instance had it. nil: there is none.
func (js *jobs) overtaking(key history.KeyID, waiting intervals[idle]) (x *execution, waiter idle) {
	all := js.byKey[key]
	ends := make([]int64, len(all)) // until when any of those up to each may have kept others out
	latest := int64(-forever)
	for i, x := range all {
		_, to := js.occupied(x)
		latest = max(latest, to)
		ends[i] = latest
	}
	for i := len(all) - 1; i >= 0; i-- {
		x := all[i]
		w := js.spare(all[i:], ends[i:], waiting)
		if w.to == 0 || js.silent != 0 && w.to > js.silent || js.unsettled(x.from, w.to) || js.heldBack(x.from-js.rules.TTL, w.to) {
			continue
		}
		return newest(all[:i+1]), w
	}
	return nil, idle{}
}

// newest is the execution of the latest tick.
func newest(all []*execution) *execution {
	return slices.MaxFunc(all, func(a, b *execution) int { return cmp.Compare(a.token.Number(), b.token.Number()) })
}

// spare is an instance that waited for a period in all while no execution went on, from the first
// of these on, and when it had. In its process's first period it may still begin. ends are until
// when each, and those before it, kept others out.
func (js *jobs) spare(all []*execution, ends []int64, waiting intervals[idle]) (waiter idle) {
	waited := map[int32]int64{}
	for i := range all {
		from, to := ends[i], int64(forever)
		if i+1 < len(all) {
			to = all[i+1].from
		}
		if waiting.meeting(from, to, func(w idle) bool {
			begin, end := max(from, w.from, w.began+js.rules.Every), min(to, w.to)
			waited[w.client] += max(end-begin, 0)
			waiter = w
			waiter.to = end - (waited[w.client] - js.rules.Every)
			return waited[w.client] >= js.rules.Every
		}) {
			return waiter
		}
	}
	return idle{}
}

// firstTick is when the first of a key's executed ticks was due. A scheduler may know of none
// before it.
func (js *jobs) firstTick(key history.KeyID) int64 {
	first := int64(forever)
	for _, x := range js.byKey[key] {
		first = min(first, js.dueAt(x))
	}
	return first
}

// dueAt is when the tick of an execution was due.
func (js *jobs) dueAt(x *execution) int64 { return x.token.Number()*1e6 - js.started() }

// mayBeLost reports whether a tick may have been lost with an instance that claimed it, by a
// scheduler that claims each once.
func (js *jobs) mayBeLost(due int64) bool {
	return js.rules.Claims.Job == history.AtMostOnce && js.unsettled(due, due+js.rules.Every)
}
