package runs

import (
	"context"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// An exam measures how fast its lock hands over. It does so in the first of its
// attacks that disturb nothing, while that attack goes on. Attacks with faults begin
// when the pace is known, and their length and their needs go by it (scenarios.Pace).

// paceHandovers is how many hand-overs tell the pace.
const paceHandovers = 6

// pacer notes the hand-overs of the attack that is measured. nil measures nothing.
type pacer struct {
	plan  int           // the number of that attack
	known chan struct{} // closed when there are enough hand-overs, or the attack is over
	close func()

	mu   sync.Mutex
	idle time.Duration // of all hand-overs
	pace scenarios.Pace
}

func newPacer(plan int) *pacer {
	p := &pacer{plan: plan, known: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.known) })
	return p
}

// pacerOf measures the first attack of the order in which several clients
// always want one key, and nothing disturbs them; nil: there is none.
func pacerOf(plans []scenarios.Plan, order []int) *pacer {
	for _, i := range order {
		if plans[i].Scenario.Contended() {
			return newPacer(i)
		}
	}
	return nil
}

// watch returns what takes the events of one try of the attack.
func (p *pacer) watch() func(*history.Event) {
	freed, holder := int64(0), int32(0) // when the key was given back, and by whom; 0: it was not
	asked := map[int32]int64{}
	over := false
	return func(e *history.Event) {
		switch {
		case e.Type == history.Mark:
			over = e.Text != history.PhaseRun // what follows is a probe's
		case over:
		case e.Type == history.Invoke && e.Kind == history.Acquire:
			asked[e.Client] = e.Time
		case e.Type == history.Invoke && e.Kind == history.Release:
			freed, holder = e.Time, e.Client
		case e.Type == history.OK && e.Kind == history.Acquire:
			if freed > 0 && e.Client != holder {
				p.add(time.Duration(e.Time-freed), asked[e.Client] < freed)
			}
			freed = 0
		}
	}
}

// add notes a hand-over, and whether its client had asked before the release.
func (p *pacer) add(idle time.Duration, waited bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle += idle
	p.pace.Measured++
	if waited {
		p.pace.Waited++
	}
	p.pace.Handover = scenarios.Duration(p.idle / time.Duration(p.pace.Measured))
	if p.pace.Measured == paceHandovers {
		p.close()
	}
}

// await returns when the pace is known.
func (p *pacer) await(ctx context.Context) {
	if p == nil {
		return
	}
	select {
	case <-p.known:
	case <-ctx.Done():
	}
}

// of returns the pace as far as it is known.
func (p *pacer) of() (pace scenarios.Pace) {
	if p == nil {
		return pace
	}
	select {
	case <-p.known:
	default:
		return pace
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pace
}

// overdue says why an attack is not begun any more: it does not fit into what
// is left of the exam's budget; "": it does.
func (s *Run) overdue(p scenarios.Plan) string {
	takes := s.Screen.Lengths.Of(p)
	if time.Since(s.began)+takes <= s.Exam.Budget {
		return ""
	}
	return reports.LeftByBudget(scenarios.Estimate(takes))
}

// left is how long the attacks take that have not ended, as far as those that have begun tell: how
// long each takes, and how many run at once, which are fewer on a busy machine.
func (s *Run) left(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all, longest, spent time.Duration
	for i, p := range s.Plans {
		switch r := &s.record.Scenarios[i]; r.State {
		case StateEnded:
			spent += r.Elapsed
			continue
		case StateRunning:
			spent += now.Sub(r.Began)
		}
		takes := s.Screen.Lengths.Of(p)
		all, longest = all+takes, max(longest, takes)
	}
	atOnce := spent.Seconds() / max(now.Sub(s.began).Seconds(), 1)
	return max(longest, time.Duration(float64(all)/max(1, min(atOnce, float64(s.Settings.Parallel)))))
}

// prepared is the plan of a try: for a lock of the pace that is measured, and
// longer than that of the try before.
func (s *Run) prepared(p scenarios.Plan, try int) scenarios.Plan {
	p.Scenario = p.Scenario.Paced(s.pacer.of())
	if s.Settings.Longer || s.examines(p) { // on a busy machine less happens
		p.Scenario.Duration <<= try - 1
	}
	return p
}

// hasTime reports whether there is time for a try of the plan of a number.
// Otherwise the try before it stands.
func (s *Run) hasTime(i, try int) bool {
	return s.late == nil || s.late(s.prepared(s.Plans[i], try)) == ""
}

// pointless reports whether nothing would follow from another try of an attack
// either: its clients did all that they had to, and its fault met none of them.
func pointless(needs scenarios.Needs, sc reports.Scenario) bool {
	stats := sc.Verdict.Stats
	return sc.Fate() == reports.NothingFollows && needs.Bites > 0 && stats.Bites == 0 &&
		stats.Grants >= int64(needs.Grants)
}
