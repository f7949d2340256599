// Package policy says when a run is good enough to let a change through: the gate of a CI, as a
// file in the user's own repository.
//
// A policy names scenarios and the properties that must hold in them. It states three things that a
// team would otherwise forget:
//
//   - A violation that the team lives with is known. The policy names the scenario, the property, a
//     reason and the last day of the tolerance. From the day after, the violation fails the gate
//     with that reason. A known violation that no longer shows is reported too, so that the list
//     does not outlive its causes.
//   - An open result (inconclusive, skipped, not run for want of time) is never a pass. The policy
//     says whether it fails the gate or is a warning.
//   - A property that is demanded by name and was not judged, since the lock makes no such claim,
//     is open, not held.
//
// Judging is a pure function of a policy, what was observed, and the day.
package policy

import (
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/scenarios"
)

// DefaultFile is where a policy is looked for.
const DefaultFile = "lockchaos.yaml"

// MostRetries is how often a scenario may be run again at most.
const MostRetries = 10

// Reaction is what the gate does about something that is left open.
type Reaction string

// The reactions.
const (
	Fail Reaction = "fail"
	Warn Reaction = "warn"
)

// Policy is a policy that was read and found right. Use Load or Parse. As JSON
// it is saved with a run, so that the run can be judged again.
type Policy struct {
	// File is its path, for messages.
	File string `json:"file"`
	// Runs are the scenarios in the order of the file, each once.
	Runs []Run `json:"runs"`
	// Known are the violations that are tolerated.
	Known []Known `json:"known,omitempty"`
	// Inconclusive and Skipped are the reactions to scenarios that leave
	// something open, or were not run.
	Inconclusive Reaction `json:"inconclusive"`
	Skipped      Reaction `json:"skipped"`
	// Budget is the wall time for the whole gate; 0: no bound.
	Budget time.Duration `json:"time_budget_ns,omitempty"`
	// Seed is the first repetition's seed; nil: a new one each time.
	Seed *uint64 `json:"seed,omitempty"`
	// Retries is how often a scenario is run again that came to nothing; nil: as the command says.
	Retries *int `json:"retries,omitempty"`
	// Lock is a lock of the user's own, which takes the place of the scenarios'
	// locks; its Command is empty where there is none.
	Lock Lock `json:"-"`
}

// Lock is a program that is a lock (see docs/protocol.md).
type Lock struct {
	Command string             `yaml:"command"`
	Service string             `yaml:"service"`
	TTL     scenarios.Duration `yaml:"ttl"`
}

// ExamOwn, as the lock of an exam, is that of Policy.Lock.
const ExamOwn = "lock"

// Exam is an exam that a policy asks for.
type Exam struct {
	// Lock is one that comes with lockchaos, or ExamOwn.
	Lock string
	// Short: only the most telling attacks are made. Attacks, where there are
	// any, names those that are.
	Short   bool
	Attacks []string
}

// Run is one scenario with what is demanded of it.
type Run struct {
	Name string `json:"name"`
	// Scenario is what is run. It is saved with the run's plan, not with the policy.
	Scenario scenarios.Scenario `json:"-"`
	Demand   Demand             `json:"properties"`
	// Repetitions is how often it is run.
	Repetitions int `json:"repetitions"`
	// Exam: it is an attack of an exam, which passes nothing that is not clear.
	Exam bool `json:"exam,omitempty"`
	// Line is where the policy asks for it.
	Line int `json:"line"`
}

// Demand is which properties must hold: those that are named, all that are
// judged, or what the scenario expects of itself.
type Demand struct {
	All      bool     `json:"all,omitempty"`
	Expected bool     `json:"expected,omitempty"`
	Names    []string `json:"names,omitempty"`
}

// Known is a violation that is tolerated until a day.
type Known struct {
	// Scenario is a scenario's name, or the beginning of names up to a slash.
	Scenario string `json:"scenario"`
	Property string `json:"property"`
	// Kind, of mutual-exclusion, is the only kind of double-hold that is tolerated; empty: any.
	Kind   string `json:"kind,omitempty"`
	Reason string `json:"reason"`
	// Expires is the last day (UTC) of the tolerance.
	Expires time.Time `json:"expires"`
	Line    int       `json:"line"`
}

// covers reports whether the entry is about the scenario's property.
func (k Known) covers(scenario, property string) bool {
	return k.Property == property && k.names(scenario)
}

// names reports whether the entry is about the scenario.
func (k Known) names(scenario string) bool {
	return scenario == k.Scenario || strings.HasPrefix(scenario, strings.TrimSuffix(k.Scenario, "/")+"/")
}

// expired reports whether the last day is over.
func (k Known) expired(now time.Time) bool { return !now.Before(k.Expires.AddDate(0, 0, 1)) }

// day writes a date as a policy does.
func day(t time.Time) string { return t.Format(time.DateOnly) }

// Repetitions is the greatest number of repetitions of any scenario.
func (p *Policy) Repetitions() int {
	most := 0
	for _, r := range p.Runs {
		most = max(most, r.Repetitions)
	}
	return most
}

// Examines reports whether the scenario is an attack of an exam that the policy asks for.
func (p *Policy) Examines(name string) bool {
	run, _ := p.run(name)
	return run.Exam
}

// run finds a scenario of the policy.
func (p *Policy) run(name string) (Run, bool) {
	for _, r := range p.Runs {
		if r.Name == name {
			return r, true
		}
	}
	return Run{}, false
}
