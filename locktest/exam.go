//go:build !wasip1

package locktest

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Exam attacks the lock in every way that its claims invite, as `lockchaos
// exam` does. Each attack is a subtest of its name, several at once.
//
// A defect of the lock fails the test, and so does a violation of which it is not
// clear why it came. What no lease prevents is logged. An attack that comes to
// nothing is made again, up to three times in all; if it comes to nothing then, it
// fails. Attacks that make no sense against the lock are logged with the reason.
func Exam(t *testing.T, e Examination, open Open) {
	t.Helper()
	if err := checkService(e.Service); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	all, not, err := e.attacks(lockName(t.Name()), testing.Short())
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	for _, line := range reports.ExamOf("", not).Inapplicable() {
		t.Log(shown("%s", line))
	}
	if len(all) == 0 {
		t.Skip("locktest: none of these attacks makes sense against the lock")
	}
	attack := Run
	if e.Simulated {
		attack = Simulate
	}
	for _, s := range all {
		t.Run(s.Attack, func(t *testing.T) {
			t.Helper()
			t.Parallel() // an attack mostly waits
			attack(t, e.scenario(&s), open)
		})
	}
}

// attacks are those that can be made on the lock of that name, and the others with the reason.
func (e Examination) attacks(lock string, short bool) ([]scenarios.Scenario, []scenarios.Inapplicable, error) {
	table, err := scenarios.Attacks()
	if err == nil {
		table, err = table.Only(e.Short || short, e.Attacks)
	}
	if err != nil {
		return nil, nil, err
	}
	s := e.scenario(nil)
	ttl := scenarios.Duration(s.ttl())
	if e.Claims.Job != "" {
		ttl, _ = possible.JobTimes(s.Service, scenarios.Duration(e.TTL), scenarios.Duration(e.Every))
	}
	base := scenarios.Scenario{Lock: lock, TTL: ttl, Store: scenarios.Store{Kind: "unfenced"}}
	kind := s.lock(lock).Kind()
	examinee := possible.Examinee(kind, base)
	if err := possible.CheckExam(examinee); err != nil {
		return nil, nil, err
	}
	examinee.Every = scenarios.Duration(e.Every)
	if e.KeepsAlive {
		examinee.Abilities = append(examinee.Abilities, scenarios.KeepsAlive, scenarios.RenewsItself)
	}
	if e.Simulated {
		examinee.Runs = simulated.Check(kind.Service)
	}
	all, not := table.Of(examinee)
	return all, not, nil
}

// tellFate tells what an attack came to.
func (r *run) tellFate(sc reports.Scenario) {
	t := r.t
	t.Helper()
	switch fate := sc.Fate(); {
	case fate.Fails():
		t.Error(shown("%s\n%s", sc.CameTo(), harmless.Block(r.fell(sc), "")))
	case fate == reports.NothingFollows:
		t.Error(shown("%s", sc.CameTo()))
	default:
		t.Log(shown("%s", sc.CameTo()))
	}
}

// fell tells what theory does not allow, by the smallest part of the history that shows it.
func (r *run) fell(sc reports.Scenario) string {
	for _, i := range inOrder(sc.Verdict.Properties, r.compared(sc)) {
		if p := sc.Verdict.Properties[i]; p.Outcome == checker.Violated {
			return r.smallest(p)
		}
	}
	return strings.Join(sc.Verdict.Reasons, " ")
}
