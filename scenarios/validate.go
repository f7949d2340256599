package scenarios

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
	"github.com/lockchaos/lockchaos/internal/spelling"
)

// longest bounds every duration of a scenario; it also keeps sums of them far from overflowing.
const longest = Duration(24 * time.Hour)

// nameForm is what a name may look like: a folder and a link are made of it.
var nameForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]*(/[A-Za-z0-9][A-Za-z0-9_-]*)*$`)

func (v *validator) suite(s *Suite, places []place) error {
	if s.Name == "" {
		v.fail("$", `a suite needs a name ("suite: my-suite")`)
	}
	if len(s.Scenarios) == 0 {
		v.fail("$", "the suite has no scenarios")
	}
	seen := map[string]bool{}
	included := s.Scenarios[:len(s.Scenarios)-len(places)] // checked where they stand
	for _, sc := range included {
		seen[sc.Name] = true
	}
	for i, p := range places {
		sc := &s.Scenarios[len(included)+i]
		if seen[sc.Name] {
			v.fail(p.nameAt, "a second scenario named %q", sc.Name)
		}
		seen[sc.Name] = true
		v.scenario(p.at, p.lockAt, sc)
	}
	return v.mistakes.Err()
}

// scenario checks one scenario; at and lockAt are the paths that its mistakes,
// and those of its lock, are told at.
func (v *validator) scenario(at, lockAt string, s *Scenario) {
	if s.Name == "" {
		v.fail(at, "a scenario needs a name")
	}
	if s.Name != "" && !nameForm().MatchString(s.Name) {
		v.fail(at+".name", "%q: a name is words of letters, digits, - and _, joined by slashes, as in redis-setnx/pause-holder/unfenced", s.Name)
	}
	if s.Own() {
		v.app(at, s)
	} else {
		v.parts(at, lockAt, s)
	}
	for _, p := range []struct {
		name string
		d    Duration
	}{{"ttl", s.TTL}, {"duration", s.Duration}} {
		v.within(at, p.name, p.d)
	}
	if s.Workload.Think.Max > longest || s.Workload.Rest.Max > longest || s.Workload.NextAfter.Max > longest {
		v.fail(at+".workload", "think, rest and next_after may last %v at most", longest)
	}
	if s.Needs.Grants < 0 || s.Needs.Handovers < 0 || s.Needs.Bites < 0 {
		v.fail(at+".needs", "needs can't be negative")
	}
	if s.Enough < 0 || s.Enough > 0 && s.Own() {
		v.fail(at+".enough", "enough is how many times a workload of lockchaos must show what it needs, to end before its duration: 2, or 0 for never")
	}
	v.faults(at, s)
	v.expect(at+".expect", s.Expect)
}

// parts checks the lock, the store, the workload and the clients, where they are lockchaos's.
func (v *validator) parts(at, lockAt string, s *Scenario) {
	v.lock(at, lockAt, s)
	v.store(at+".store", s)
	v.oneOf(at+".workload.kind", "workload", s.Workload.Kind, v.catalogue.Workloads)
	v.workload(at, s)
	v.oneOf(at+".workload.guard", "guard", s.Workload.Guard, []string{guardNone, guardCheck, guardTold})
	for _, p := range []struct {
		name string
		d    Duration
	}{{"workload.acquire_timeout", s.Workload.AcquireTimeout}, {"workload.op_timeout", s.Workload.OpTimeout}} {
		v.within(at, p.name, p.d)
	}
	if s.Clients < 1 || s.Clients > 200 {
		v.fail(at+".clients", "%d clients: there may be 1 to 200", s.Clients)
	}
	if s.Twins < 0 || s.Twins == 1 || s.Twins > s.Clients {
		v.fail(at+".twins", "twins is how many of the %d clients have one identity: 2 to %d, or 0 for none", s.Clients,
			s.Clients)
	}
	if s.Keys < 1 || s.Keys > 10_000 {
		v.fail(at+".keys", "%d keys: there may be 1 to 10000", s.Keys)
	}
}

// within checks a length of time that must be given.
func (v *validator) within(at, name string, d Duration) {
	if d <= 0 || d > longest {
		v.fail(at+"."+name, "%s must be given, longer than 0 and at most %v", name, longest)
	}
}

func (v *validator) expect(at string, e Expect) {
	for _, name := range slices.Sorted(maps.Keys(e.Properties)) {
		v.oneOf(at+".properties", "property", name, checker.Names())
		outcomes := []string{"pass", "violated", "not judged", anyOutcome}
		if slices.Contains(overrunProperties, name) {
			outcomes = append(outcomes, overrunOutcome)
		}
		if name == checker.MutualExclusion {
			outcomes = append(outcomes, lateOutcome)
		}
		v.oneOf(at+".properties."+name, "outcome", e.Properties[name], outcomes)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Kinds)) {
		v.kinds(at+".kinds", name, e)
	}
	if e.Severity != "" {
		v.oneOf(at+".severity", "severity", e.Severity, []string{"none", "untested", "contained", "corrupting"})
	}
}

// kinds checks the kinds that are expected of a property's violations.
func (v *validator) kinds(at, name string, e Expect) {
	if e.Properties[name] != "violated" {
		v.fail(at, "%s: kinds are of a property that properties expects to be violated", name)
		return
	}
	p := checker.Named(name)
	if p.KindNames() == nil {
		v.fail(at, "violations of %s are of no kinds", name)
		return
	}
	for _, kind := range e.Kinds[name] {
		v.oneOf(at+"."+name, "kind", kind, p.KindNames())
	}
}

func (v *validator) oneOf(at, what, got string, known []string) {
	if slices.Contains(known, got) {
		return
	}
	if got == "" {
		v.fail(at, "%s must be given: one of %s", what, strings.Join(known, ", "))
		return
	}
	v.fail(at, "unknown %s %q: one of %s%s", what, got, strings.Join(known, ", "), spelling.Suggest(got, known))
}
