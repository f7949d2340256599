package reports

import (
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// Scenario is one scenario of a run with all that is to be said of it. Name, Lock,
// Fault and Store place it in the matrix; one of Verdict, Skipped and Failed speaks.
// Failed and a Verdict come together when what was recorded before the failure
// certainly shows a violation: the result is still failed, and the page tells both.
type Scenario struct {
	// Name is lock/fault/store by custom, and unique in its suite.
	Name string `json:"name"`
	Lock string `json:"lock"`
	// Service is the lock service with its number of nodes: "etcd ×3".
	Service string `json:"service,omitempty"`
	// Fault is the planned fault in a word, "none" for none; it is the column of the matrix.
	Fault string `json:"fault"`
	// Strike is what the planned fault does, where a run's closing paragraph has words for that.
	Strike Strike `json:"-"`
	// Undisturbed: the plan has no fault, whatever the column is called.
	Undisturbed bool `json:"undisturbed,omitempty"`
	// Unhindered: no planned fault holds a client up, so who came too late did so for another
	// reason.
	Unhindered bool `json:"-"`
	// Store is "fenced" or "unfenced".
	Store string `json:"store"`
	// About says in a sentence what the scenario is to show; Why, why its
	// expectation is what theory says.
	About string `json:"about,omitempty"`
	Why   string `json:"why,omitempty"`
	// File and Line are where the scenario was written, or where a policy asks for it, as
	// a path from the root of the repository; empty for one that comes with lockchaos,
	// whose place in lockchaos's own sources is Builtin ("scenarios/quick.yaml:32").
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Builtin string `json:"builtin,omitempty"`
	// Dir is the scenario's folder inside the run's directory.
	Dir  string `json:"dir"`
	Seed uint64 `json:"seed"`

	// Control: the lock or the fence is broken on purpose, to see that it is
	// caught. It says nothing about any lock that is for use.
	Control bool `json:"control,omitempty"`
	// Length is when the last event of the history was (ns since its origin).
	Length int64 `json:"length_ns,omitempty"`

	Verdict checker.Verdict `json:"verdict"`
	// History is what the verdict was found in. Only WriteScenario needs it;
	// nil where there is none.
	History *history.History `json:"-"`

	// Attached are files that the page is to carry beside history and verdict: the plan, say.
	Attached []Attachment `json:"-"`

	// Witnesses are the small parts of the history that lie beside it, one for
	// each property that is violated.
	Witnesses []Witness `json:"witnesses,omitempty"`

	// Expect compares what was expected with what was found. It is empty when
	// the run judged by properties alone.
	Expect []Expectation `json:"expect,omitempty"`
	// Met reports whether the scenario came out as expected.
	Met bool `json:"met"`
	// Relied are properties that the planned faults break through what the lock
	// relies on: a clock, its service's memory.
	Relied []string `json:"relied,omitempty"`
	// Demanded: a policy asks for the scenario, so that it is open where it was skipped.
	Demanded bool `json:"demanded,omitempty"`
	// Lenient: what the scenario leaves open (inconclusive, skipped) is said,
	// and does not make the run fail.
	Lenient bool `json:"lenient,omitempty"`
	// Skipped is why the scenario was not run; Failed what went wrong in the
	// harness or a service, in as many lines as it takes.
	Skipped string `json:"skipped,omitempty"`
	Failed  string `json:"failed,omitempty"`

	// Spoilt are the tries before this one, each as "try 1 was inconclusive
	// (…)". What they left lies beside Dir: Dir.try1 and so on.
	Spoilt []string `json:"spoilt,omitempty"`

	// Rerun and Recheck are the commands that run the scenario, or judge its history, again.
	Rerun   string        `json:"rerun,omitempty"`
	Recheck string        `json:"recheck,omitempty"`
	Elapsed time.Duration `json:"elapsed_ns"`
	// StandIns says in full sentences what was not the real thing.
	StandIns []string `json:"stand_ins,omitempty"`

	// HistoryFile is what the file of the history beside the page is called; "": history.jsonl.
	HistoryFile string `json:"-"`
	// Alone: it is no scenario of a run but a history that was judged by
	// itself, and no plan and no logs lie beside it.
	Alone bool `json:"-"`
	// Lines says on which lines of the log that the history was read from an op
	// stands; nil where it is no log.
	Lines func(op int64) (first, last int) `json:"-"`
	// Notes say in full sentences what a history of another tool was taken for.
	Notes []string `json:"notes,omitempty"`
	// Program is how to call lockchaos, for commands that can be pasted.
	Program string `json:"-"`

	// Run names the run that the scenario belongs to ("quick, 2026-11-20 21:30"), Runtime where
	// it ran, Version the lockchaos that ran it. With a Run, the page links to ../index.html.
	Run     string `json:"run,omitempty"`
	Runtime string `json:"runtime,omitempty"`
	Version string `json:"version,omitempty"`
	// Twin is the same scenario on the other kind of store, where the run has one.
	Twin *Twin `json:"twin,omitempty"`

	figures *figures // what an index shows once the history is gone; see Twins
}

// Header is what was recorded of how the scenario ran; nil where nothing was.
func (s Scenario) Header() *history.Header {
	if s.History == nil {
		return nil
	}
	return &s.History.Header
}

// Expectation is one line of the comparison: a property, or "severity".
type Expectation struct {
	Property string `json:"property"`
	Want     string `json:"want"`
	Got      string `json:"got"`
	Met      bool   `json:"met"`
	// Known is why a violation of the property is met all the same: the reason
	// that a policy gives. Note adds to what was wanted, in a sentence.
	Known string `json:"known,omitempty"`
	Note  string `json:"note,omitempty"`
}

// Twin points from a scenario to its counterpart.
type Twin struct {
	Name   string `json:"name"`
	Dir    string `json:"dir"`
	Store  string `json:"store"`
	Result Result `json:"result"`
}

// Suite is a whole run.
type Suite struct {
	Name string
	// About says in a sentence what the suite is for.
	About string
	// Command runs it again.
	Command string
	// Runtime says where it ran: "private network, Linux 6.18".
	Runtime string
	Seed    uint64
	Started time.Time
	Elapsed time.Duration
	// Version is that of lockchaos; Versions those of every part.
	Version  string
	Versions []history.Part
	// StandIns says in full sentences what was not the real thing; empty when all was real.
	StandIns  []string
	Scenarios []Scenario
	// Exam is what was examined; nil: the run is no exam.
	Exam *Exam
	// Remarks are about the run as a whole, or about no scenario that ran: a
	// known violation that shows no more.
	Remarks []Remark
}

// Remark is a sentence about a run, with its place in a file where it has one.
type Remark struct {
	Level Level  `json:"level"`
	Rule  string `json:"rule"`
	Text  string `json:"text"`
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
}

// Title names the run for the pages of its scenarios.
func (s Suite) Title() string {
	if s.Started.IsZero() {
		return s.Name
	}
	return s.Name + ", " + s.Started.Format("2006-01-02 15:04")
}

// Twins relates the scenarios to each other: each that ran gets as its Twin the same
// lock under the same fault on the other kind of store. It also notes what an index says
// that only histories tell, so that each can be let go once its own page is written.
func (s Suite) Twins() {
	for i := range s.Scenarios {
		s.Scenarios[i].figures = s.Scenarios[i].Noted()
		for j := range s.Scenarios {
			a, b := &s.Scenarios[i], s.Scenarios[j]
			if a.Lock == b.Lock && a.Fault == b.Fault && a.Store != b.Store && b.Judged() && variant(*a) == variant(b) {
				a.Twin = &Twin{Name: b.Name, Dir: b.Dir, Store: b.Store, Result: b.Result()}
				break
			}
		}
	}
}
