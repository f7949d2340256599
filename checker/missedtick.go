package checker

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// MissedTick names the property missed-tick: a tick that was due while an undisturbed instance
// waited for it was executed. A tick that could not be executed in time is owed an execution
// only by the rule for misfires "all" (see judgeOwed). By "once" one execution makes up for all
// such ticks, and the next tick's does.
//
// An instance has a period to begin an execution in, and one to start its schedule in: a tick that
// was due within a period after its process first waited is not one that it waited for. Nor is a
// tick judged if anything disturbed an instance or the service within a lease and a period before
// it or a period after, if a clock was wrong before it, if an instance ended, or if another
// execution was going on, or was not marked as done and had its lease. Nor is it if what a cut link
// had held back may have come within a lease before it.
const MissedTick = "missed-tick"

// missedTick reads, beside rules and findings: book, faults.
var missedTick = Property{
	Name:   MissedTick,
	About:  "A tick that is due while an undisturbed instance waits is executed.",
	needs:  []string{history.FactHolds, history.FactAnswers, history.FactService, history.FactClients},
	ofJobs: true,
	blame:  Defect,
	exempt: func(h *history.Header) string {
		if h.Claims.Misfire != "" {
			return ""
		}
		return "This scheduler does not declare what becomes of a tick that can't be executed in time."
	},
	unmet: func(s *Sweep) string {
		if s.jobs.ticks == 0 && s.faults.skewedSince != 0 {
			return "A clock was wrong before each tick that an instance waited for."
		}
		return ""
	},
	short: func(s *Sweep) string {
		if s.jobs.unlisted {
			return fmt.Sprintf("The history has more than %d ticks: only so many were looked at.", mostTicks)
		}
		if n := s.jobs.owed; n > 0 {
			return fmt.Sprintf("%s due under a fault and executed by nobody, and it is not shown that an instance had the time for that later.",
				count(n, "A tick was", "ticks were"))
		}
		return noneOf(int64(s.jobs.ticks), "No tick was due while an undisturbed instance waited for it.")
	},
	shown: func(s *Sweep) string {
		return fmt.Sprintf("%s due while an undisturbed instance waited.", count(s.jobs.ticks, "A tick was", "ticks were"))
	},
	finish: (*Sweep).judgeMisses,
	Words: Words{
		Violation: "missed tick",
		Demands:   "Each tick is executed by some instance.",
		Once:      "A tick was executed by nobody",
		More:      "Ticks were executed by nobody",
		Lead:      "Look what keeps the next execution out.",
		Advice: "A lock that is held for longer than a period, or one that a dead instance left behind, swallows ticks. So " +
			"does a timer that starts anew after each run. Compute each tick from the schedule.",
		Weight: 6,
	},
}

// mostTicks bounds how many ticks are looked at: a header may claim a period of 1 ms.
const mostTicks = 1 << 20

// judgeMisses judges each tick that was due while some instance waited.
func (s *Sweep) judgeMisses(p *Property) {
	js := &s.jobs
	settled, going := map[history.KeyID]map[history.Token]bool{}, map[history.KeyID]intervals[*execution]{}
	for _, key := range js.keys {
		settled[key] = map[history.Token]bool{}
		for _, x := range js.byKey[key] {
			settled[key][x.token] = true // none where it is not told: no tick has that one
		}
		going[key] = newIntervals(js.byKey[key], js.occupied)
	}
	type keyed struct {
		key history.KeyID
		due int64
	}
	seen := map[keyed]bool{} // ticks that were judged
	for _, w := range js.idles {
		for due := js.firstDue(w.from); due+js.rules.Every <= w.to; due += js.rules.Every {
			if seen[keyed{w.key, due}] {
				continue
			}
			if len(seen) == mostTicks {
				js.unlisted = true
				return
			}
			tick := history.TokenOf(js.number(due))
			switch {
			case settled[w.key][tick] || executedUntold(going[w.key], due, due+js.rules.Every):
				js.ticks++
			case due < w.began+js.rules.Every:
				continue // an instance that was there before may have waited for it, too
			case s.judgeDue(p, w, due, going[w.key]) && settled[w.key] != nil:
				settled[w.key][tick] = true
			}
			seen[keyed{w.key, due}] = true
		}
	}
	s.judgeOwed(p, settled)
}

// executedUntold reports whether an execution whose tick is not told began in a time: a scheduler
// that tells no ticks has executed what it began in its time.
func executedUntold(executions intervals[*execution], from, to int64) bool {
	return executions.meeting(from, to, func(x *execution) bool {
		return !x.token.Given() && x.begun >= from && x.begun <= to
	})
}

// judgeDue judges one tick, which an instance waited for until it was due no more. It reports
// whether the tick was missed.
func (s *Sweep) judgeDue(p *Property, w idle, due int64, executions intervals[*execution]) (missed bool) {
	js := &s.jobs
	tick, until := js.number(due), due+js.rules.Every
	if js.silent != 0 && until > js.silent {
		return false
	}
	if executions.meeting(due, until, func(x *execution) bool { return x.from < until }) || js.unsettled(due, until) ||
		js.heldBack(due-js.rules.TTL, until) {
		return false
	}
	js.ticks++
	j := judgement{violated: true}
	k := s.book.keys[w.key]
	s.findings.record(p, k, j, j, func(judgement) *Violation {
		return &Violation{Property: p.Name, Key: s.rules.name(k), At: until, From: due, To: until,
			Text: fmt.Sprintf("tick %d of %s was due at %s and executed by nobody, though client %d waited for it until %s and nothing was disturbed.",
				tick, s.rules.name(k), seconds(due), w.client, seconds(until))}
	})
	return true
}

// unsettled reports whether anything was disturbed from a lease and a period before an instant on,
// or an instance ended from a lease before it on.
func (js *jobs) unsettled(from, to int64) bool {
	return js.disturbed(from-js.rules.TTL-js.rules.Every, to, 0, anyFault) || js.ended(from-js.rules.TTL, to)
}

// heldBack reports whether a packet that a cut link held back may have come in a time. A late claim
// takes a tick, or a job, that its instance no longer waits for.
func (js *jobs) heldBack(from, to int64) bool {
	return slices.ContainsFunc(js.faults.byClient, func(c clientFaults) bool {
		return heldBack(c.spans, from, to)
	})
}

// occupied is how long an execution may keep others from a tick that is due: while it goes on, or
// its lease may stand.
func (js *jobs) occupied(x *execution) (from, to int64) {
	if x.done != 0 {
		return x.from, x.done
	}
	return x.from, max(x.last, x.begun+js.rules.lifetime())
}

// ended reports whether an instance ended in a time: nobody knows what it did last.
func (js *jobs) ended(from, to int64) bool {
	return slices.ContainsFunc(js.deaths, func(d death) bool { return d.at >= from && d.at <= to })
}

// number is the number of the tick that is due at an instant of the history.
func (js *jobs) number(due int64) int64 { return (due + js.started()) / 1e6 }

// started is when the history began, in ns since 1970.
func (js *jobs) started() int64 { return js.rules.Started.UnixNano() }

// firstDue is the first instant from one on at which a tick is due.
func (js *jobs) firstDue(from int64) int64 {
	every := js.rules.Every
	since := (from + js.started()) % every
	if since == 0 {
		return from
	}
	return from + every - since
}
