package checker

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// Handover names the property handover: after the death of an instance that executed a job,
// another instance executes a tick within the claimed time and a period. It is judged where
// another instance waited all that time, and no fault but the death disturbed anybody. A client
// that comes back and executes the job before that leaves the death open.
const Handover = "handover"

// handover reads, beside rules and findings: book.
var handover = Property{
	Name:   Handover,
	About:  "After the death of an instance another one goes on within the claimed time.",
	needs:  []string{history.FactHolds, history.FactService, history.FactClients},
	ofJobs: true,
	blame:  Defect,
	exempt: func(h *history.Header) string {
		if h.Claims.Handover > 0 {
			return ""
		}
		return "This scheduler does not declare how soon another instance goes on after a death."
	},
	unmet: func(s *Sweep) string {
		return noneOf(s.jobs.ends(false), "No instance died while it executed the job.")
	},
	short: func(s *Sweep) string {
		return noneOf(int64(s.jobs.handovers), "After no death was another instance left to itself for as long as the claim says.")
	},
	finish: func(s *Sweep, p *Property) {
		s.jobs.handovers = s.judgeHandovers(p, false, s.rules.Claims.Handover, "died")
	},
	Words: Words{
		Violation: "late hand-over",
		Demands:   "When an instance dies, another one goes on soon.",
		Once:      "Nobody went on after an instance had died",
		More:      "Nobody went on after instances had died",
		Lead:      "Let the lock of a dead instance end.",
		Advice: "A lock without an expiry, or with one of many periods, keeps every other instance from the job when " +
			"its owner dies. Give it the time that one execution may take, and renew it while it runs.",
		Weight: 6,
	},
}

// judgeHandovers judges what came after each death, or after each orderly stop, and returns how
// many were in time. claimed is within which time another instance goes on, did what the one did.
func (s *Sweep) judgeHandovers(p *Property, orderly bool, claimed int64, did string) (inTime int) {
	waiting, bound := s.jobs.waiting(), claimed+s.rules.Every
	for _, d := range s.jobs.deaths {
		if d.orderly != orderly {
			continue
		}
		after := since(d.at, s.jobs.byKey[d.of.key])
		n := slices.IndexFunc(after, func(x *execution) bool { return x.client != d.of.client })
		if n >= 0 && after[n].begun <= d.at+bound {
			inTime++
			continue
		}
		until := int64(forever)
		if len(after) > 0 {
			until = after[0].from
		}
		w := s.jobs.waiter(d, bound, until, waiting[d.of.key])
		if w == nil {
			continue
		}
		j := judgement{violated: true}
		s.findings.record(p, s.book.keyOf(d.of.grant), j, j, func(j judgement) *Violation {
			v := s.tellExecutions(p, j, d.of, d.of, d.at+bound)
			v.From = d.at
			does, done := s.jobs.verbs()
			v.Text = fmt.Sprintf("client %d %s at %s while it %s %s, and by %s no other instance had %s it, though client %d waited for it.",
				d.of.client, did, seconds(d.at), does, v.Key, seconds(d.at+bound), done, w.client)
			return v
		})
	}
	return inTime
}

// verbs say what an instance does to a key: it executes a job, or holds a lock.
func (js *jobs) verbs() (past, participle string) {
	if js.on {
		return "executed", "executed"
	}
	return "held", "been granted"
}

// ends counts the deaths, or the orderly stops.
func (js *jobs) ends(orderly bool) (n int64) {
	for _, d := range js.deaths {
		if d.orderly == orderly {
			n++
		}
	}
	return n
}

// since are the executions that began after an instant.
func since(at int64, executions []*execution) []*execution {
	n, _ := slices.BinarySearchFunc(executions, at, func(x *execution, at int64) int {
		if x.begun <= at {
			return -1
		}
		return 1
	})
	return executions[n:]
}

// waiter is an instance that waited in vain from such an end on, until at the latest, for longer
// than the bound. No fault but the one that ended the instance touched anybody meanwhile. Where
// the machine let the waiter or the service stand still, that time does not count, and the rest
// must be twice the bound: stalls are not measured to the millisecond. nil: there was none.
func (js *jobs) waiter(d death, bound, until int64, waiting intervals[idle]) (found *idle) {
	waiting.meeting(d.at, d.at, func(w idle) bool {
		to := min(w.to, until)
		from, by := d.of.from, min(to, d.at+2*bound)
		if w.client == d.of.client || to-d.at <= bound || js.disturbed(from, by, d.of.client, injectedOnly) ||
			js.heldBack(from, by) {
			return false
		}
		stood := timeIn(js.faults.clientSpans(w.client), d.at, to, uninjectedOnly, 0) +
			timeIn(js.faults.service, d.at, to, uninjectedOnly, 0)
		if left := to - d.at - stood; stood != 0 && left <= 2*bound {
			return false
		}
		found = &w
		return true
	})
	return found
}
