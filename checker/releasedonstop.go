package checker

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// ReleasedOnStop names the property released-on-stop: after the orderly stop of an instance that
// executed a job, another one executes a tick within the claimed time and a period; after that of
// a component that held a lock, another one is granted it within the claimed time. So a stop that
// was announced does not cost a whole lease. An orderly stop is a close that the lock has
// answered. It is judged where another instance waited all that time, and no fault but the stop
// disturbed anybody.
const ReleasedOnStop = "released-on-stop"

// releasedOnStop reads nothing beside rules and findings.
var releasedOnStop = Property{
	Name:    ReleasedOnStop,
	About:   "After an orderly stop of its instance another one goes on within the claimed time.",
	needs:   []string{history.FactHolds, history.FactService, history.FactClients},
	ofStops: true,
	blame:   Defect,
	exempt: func(h *history.Header) string {
		if h.Claims.StopHandover > 0 {
			return ""
		}
		return "This scheduler does not declare how soon another instance goes on after an orderly stop."
	},
	unmet: func(s *Sweep) string {
		does, _ := s.jobs.verbs()
		return noneOf(s.jobs.ends(true), fmt.Sprintf("No instance was stopped in order while it %s a key.", does))
	},
	short: func(s *Sweep) string {
		return noneOf(int64(s.jobs.releases), "After no orderly stop was another instance left to itself for as long as the claim says.")
	},
	finish: func(s *Sweep, p *Property) {
		s.jobs.releases = s.judgeHandovers(p, true, s.rules.Claims.StopHandover, "was stopped in order")
	},
	Words: Words{
		Violation: "late release on stop",
		Demands:   "When an instance is stopped in order, another one goes on soon.",
		Once:      "Nobody went on after an instance had been stopped in order",
		More:      "Nobody went on after instances had been stopped in order",
		Lead:      "Give up the lock when the instance is stopped.",
		Advice: "Each rolling update stops every instance in order. One that ends without giving up its lock, or its " +
			"session, keeps all others out until its lease is over. Handle SIGTERM: end the work first, then release.",
		Weight: 6,
	},
}
