package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// Overlap names the property job-overlap: no instant lies in two executions of a job. An execution
// lasts from the instant at which its instance told of it to the last act of its application.
const Overlap = "job-overlap"

// overlapping reads, beside rules and findings: book.
var overlapping = Property{
	Name:      Overlap,
	About:     "No two executions of a job run at a time.",
	Kinds:     []string{KindOverlapWhileOwned, KindOverlapAfterLoss},
	needs:     []string{history.FactHolds},
	ofJobs:    true,
	blame:     Defect,
	kindBlame: map[string]Blame{KindOverlapWhileOwned: Defect, KindOverlapAfterLoss: Inherent},
	byEarlier: true,
	exempt: func(h *history.Header) string {
		if h.Claims.Overlap {
			return "This scheduler declares that executions may overlap."
		}
		return ""
	},
	unmet: noExecutions,
	stalled: func(n int) string {
		return fmt.Sprintf("%s, which a stall of this machine alone explains, not an injected fault.",
			count(n, "execution ran on beside another", "executions ran on beside others"))
	},
	finish: (*Sweep).judgeOverlaps,
	Words: Words{
		Violation: "overlapping execution",
		Demands:   "At most one execution of the job runs at a time.",
		Once:      "Two executions of a job ran at a time",
		More:      "Executions of a job ran at a time",
		Lead:      "Hold the job for as long as it runs.",
		Advice: "Renew the lock while the job runs, or bound the job by the time that the lock is held for. A job that " +
			"may stand still for longer needs a store that refuses the older execution (a fence).",
		Weight: 8,
	},
}

// judgeOverlaps compares each execution with those before it that had not ended when it began.
func (s *Sweep) judgeOverlaps(p *Property) {
	for _, key := range s.jobs.keys {
		var running []*execution
		for _, x := range s.jobs.byKey[key] {
			kept := running[:0]
			for _, a := range running {
				if a.last > x.begun {
					kept = append(kept, a)
					s.judgeBeside(p, a, x)
				}
			}
			running = append(kept, x)
		}
	}
}

// judgeBeside judges an execution that began when an earlier one had still to act.
func (s *Sweep) judgeBeside(p *Property, a, b *execution) {
	if b.last == 0 {
		return // its application did nothing
	}
	j := judgement{violated: true, kind: KindOverlapAfterLoss}
	if b.begun < s.jobs.owned(a) && !s.jobs.late(a, b) && (a.told == 0 || b.begun < a.told) {
		j.kind = KindOverlapWhileOwned
	} else {
		j.stallOnly = s.jobs.lostByStall(a, b)
	}
	if a.lastWrite > b.begun {
		j.severity = Corrupting
	}
	s.findings.record(p, s.book.keyOf(b.grant), j, j, func(j judgement) *Violation {
		v := s.tellExecutions(p, j, a, b, a.last)
		v.From, v.To = b.begun, a.last
		v.Text = fmt.Sprintf("two executions of %s ran at a time: client %d still acted at %s, and client %d had begun at %s.",
			v.Key, a.client, seconds(a.last), b.client, seconds(b.begun))
		return v
	})
}
