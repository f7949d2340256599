package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// StopDeadline names the property stop-deadline: after an execution is lost, its application has
// no effect later than it claims to. The loss is when the scheduler told of it, or when the lease
// was over that the execution began with, whichever came first. It judges the application.
const StopDeadline = "stop-deadline"

// stopDeadline reads, beside rules and findings: book, faults, figures.
var stopDeadline = Property{
	Name:      StopDeadline,
	About:     "An application has no effect later after the loss of its execution than it claims.",
	Kinds:     []string{KindRanOn, KindWokeLate},
	needs:     []string{history.FactWrites, history.FactClients},
	ofJobs:    true,
	blame:     Defect,
	kindBlame: map[string]Blame{KindRanOn: Defect, KindWokeLate: Inherent},
	exempt: func(h *history.Header) string {
		if h.Claims.Stops > 0 {
			return ""
		}
		return "This scheduler does not declare when its application stops after a loss."
	},
	unmet: noExecutions,
	shown: func(s *Sweep) string {
		return fmt.Sprintf("Of %s that ended after a loss, the last effect came %s after it at the latest; %s is claimed.",
			count(int(s.figures.times[timeStop].n), "execution", "executions"), seconds(s.figures.times[timeStop].max),
			seconds(s.rules.Claims.Stops))
	},
	stalled: func(n int) string {
		return fmt.Sprintf("%s too late, which a stall of this machine alone explains, not an injected fault.",
			count(n, "effect came", "effects came"))
	},
	finish: (*Sweep).judgeStops,
	Words: Words{
		Violation: "late effect",
		Demands:   "Work ends soon after its execution is lost.",
		Once:      "Work went on after its execution was lost",
		More:      "Work went on after its executions were lost",
		Lead:      "Stop the work when it is no longer yours.",
		Advice: "Give the work a context that ends with its lease, and look at it before each effect. Work that stood " +
			"still can't look in time, so let the store refuse what carries an older tick (a fence).",
		Weight: 6,
	},
}

// judgeStops judges the last effect of each execution that was lost.
func (s *Sweep) judgeStops(p *Property) {
	for _, x := range s.jobs.executions {
		lost := s.jobs.lostAt(x)
		late := x.lastWrite - lost
		if late <= s.rules.Claims.Stops {
			continue
		}
		j := judgement{violated: true, kind: KindRanOn}
		if s.faults.disturbed(x.client, x.from, x.lastWrite, anyFault) || s.aside(x) {
			j.kind, j.stallOnly = KindWokeLate, s.jobs.onlyStalled(x, x.lastWrite) && !s.aside(x)
		}
		s.findings.record(p, s.book.keyOf(x.grant), j, j, func(j judgement) *Violation {
			v := s.tellExecutions(p, j, x, x, x.lastWrite)
			v.From = lost
			v.Text = fmt.Sprintf("client %d wrote %s at %s, %s after it had lost the execution of %s; it claims to stop within %s.",
				x.client, v.Key, seconds(x.lastWrite), seconds(late), v.Key, seconds(s.rules.Claims.Stops))
			return v
		})
	}
}

// lostAt is when an instance lost an execution, at the latest: when its scheduler told of that, or
// when the lease was over that it began with.
func (js *jobs) lostAt(x *execution) int64 { return earlier(x.told, x.begun+js.rules.TTL) }

// stopped measures how long after the loss of its execution each application had its last effect,
// whatever is claimed. Those that had it before are not counted.
func (fg *figures) stopped(js *jobs) {
	for _, x := range js.executions {
		if late := x.lastWrite - js.lostAt(x); js.on && late > 0 {
			fg.times[timeStop].add(late)
		}
	}
}

// aside reports whether a fault held up the application of an execution, or its way to the store.
func (s *Sweep) aside(x *execution) bool {
	return touched(s.faults.metBy(x.client).aside, x.from, x.lastWrite, anyFault)
}
